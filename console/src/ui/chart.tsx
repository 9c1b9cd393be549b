// Charts. Allowed is a quiet area with denied on top of it, so that a change in denials is what moves. Gaps stay gaps.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { Points, Series } from "../api/types";
import { clockTime, compact, hourMinute, number } from "../core/format";
import { themeChanges } from "../core/theme";

export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Times in seconds, and each layer added to those below it. A point is missing where the first layer's is. */
function stack(start: number, stepMs: number, layers: Points[]): [number[], ...Points[]] {
  const length = Math.max(0, ...layers.map((layer) => layer.length));
  const times = Array.from({ length }, (_, i) => (start + i * stepMs) / 1000);
  const sums: Points[] = layers.map(() => []);
  for (let i = 0; i < length; i++) {
    const known = (layers[0]![i] ?? null) !== null;
    let sum = 0;
    layers.forEach((layer, at) => {
      sum += layer[i] ?? 0;
      sums[at]!.push(known ? sum : null);
    });
  }
  return [times, ...sums];
}

export function xAxis(): uPlot.Axis {
  return {
    stroke: colour("muted"),
    font: "12px system-ui, sans-serif",
    grid: { show: false },
    ticks: { show: false },
    size: 26,
    gap: 8,
    space: 70,
    incrs: [5, 15, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800, 432_000, 864_000],
    values: (_, splits, __, ___, increment) => splits.map((at) => (increment < 60 ? clockTime(at * 1000) : hourMinute(at * 1000))),
  };
}

export function yAxis(): uPlot.Axis {
  return {
    stroke: colour("muted"),
    font: "12px system-ui, sans-serif",
    grid: { stroke: colour("line"), width: 1 },
    ticks: { show: false },
    size: 48,
    gap: 8,
    space: 36,
    values: (_, splits) => splits.map(compact),
  };
}

/** A uPlot that follows its data, the width of its place, and the theme. */
export function usePlot(
  make: (width: number) => uPlot.Options,
  data: uPlot.AlignedData,
  shape: string,
): { current: HTMLDivElement | null } {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const theme = themeChanges.value;
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const made = new uPlot(make(element.clientWidth), data, element);
    plot.current = made;
    const watch = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: made.height }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape, theme]);
  useEffect(() => plot.current?.setData(data), [data]);
  return place;
}

interface Reading {
  at: number;
  index: number;
}

export function DecisionChart(props: { series: Series | null; height?: number; title?: string }): JSX.Element {
  const { series } = props;
  const [reading, setReading] = useState<Reading | null>(null);
  const sum = (points?: Points): number => (points ?? []).reduce<number>((all, each) => all + (each ?? 0), 0);
  const hasShed = sum(series?.shed) > 0;
  const hasShadow = sum(series?.shadow_denied) > 0;
  const hasDegraded = sum(series?.degraded) > 0;

  const data = useRef<{ of: Series | null; data: uPlot.AlignedData }>({ of: null, data: [[]] });
  if (data.current.of !== series || data.current.data.length === 1) {
    const layers = [series?.allowed ?? [], series?.denied ?? [], series?.shed ?? []];
    const stacked = stack(Date.parse(series?.start_at ?? "") || 0, series?.step_ms ?? 1000, layers);
    data.current = { of: series, data: [...stacked, series?.shadow_denied ?? [], series?.degraded ?? []] as uPlot.AlignedData };
  }
  const make = (width: number): uPlot.Options => ({
    width,
    height: props.height ?? 216,
    padding: [8, 18, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: { x: { time: true }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] } },
    axes: [xAxis(), yAxis()],
    series: [
      {},
      { fill: colour("allow-area"), width: 0, points: { show: false } },
      { width: 0, points: { show: false } },
      { width: 0, points: { show: false }, show: hasShed },
      { stroke: colour("shadow"), width: 1.5, dash: [6, 4], points: { show: false }, show: hasShadow },
      { stroke: colour("warn-text"), width: 1.5, dash: [2, 3], points: { show: false }, show: hasDegraded },
    ],
    bands: [
      { series: [2, 1], fill: colour("deny") },
      ...(hasShed ? [{ series: [3, 2] as uPlot.Band["series"], fill: colour("shed") }] : []),
    ],
    hooks: {
      setCursor: [
        (chart) => {
          const index = chart.cursor.idx;
          const at = index === null || index === undefined ? undefined : chart.data[0][index];
          setReading(at === undefined ? null : { at: at * 1000, index: index! });
        },
      ],
    },
  });
  const place = usePlot(make, data.current.data, `${hasShed} ${hasShadow} ${hasDegraded} ${props.height}`);
  const value = (points?: Points): JSX.Element | null => (reading ? <b> {number(points?.[reading.index] ?? null)}</b> : null);
  return (
    <>
      <div class="between">
        <h2>{props.title ?? "Decisions per second"}</h2>
        <div class="legend">
          {reading && <span>{clockTime(reading.at)}</span>}
          <Key kind="allow" text="allowed" value={value(series?.allowed)} />
          <Key kind="deny" text="denied" value={value(series?.denied)} />
          {hasShed && <Key kind="shed" text="shed" value={value(series?.shed)} />}
          {hasShadow && <Key kind="shadow" text="would be denied" value={value(series?.shadow_denied)} />}
          {hasDegraded && <Key kind="degraded" text="fallback" value={value(series?.degraded)} />}
        </div>
      </div>
      <div class="chart" ref={place} style={{ minHeight: `${props.height ?? 216}px` }} role="img" aria-label={summary(series)} />
    </>
  );
}

function Key(props: { kind: string; text: string; value: JSX.Element | null }): JSX.Element {
  return (
    <span>
      <i class={props.kind} />
      {props.text}
      {props.value}
    </span>
  );
}

function summary(series: Series | null): string {
  const last = (points?: Points): number => [...(points ?? [])].reverse().find((each) => each !== null) ?? 0;
  return `Decisions per second over time; now ${number(last(series?.allowed))} allowed and ${number(last(series?.denied))} denied`;
}

/** A line without axes. `kind` is the class that colours it. */
export function Spark(props: { points: Points | undefined; kind: string }): JSX.Element {
  const points = props.points ?? [];
  const known = points.filter((each): each is number => each !== null);
  const high = Math.max(0, ...known);
  const low = Math.min(high, ...known);
  // A line that hardly changes is drawn as one that hardly changes.
  const span = Math.max(high - low, high * 0.4, 1e-9);
  const top = (high + low) / 2 + span / 2;
  let path = "";
  let pen = false;
  points.forEach((each, i) => {
    if (each === null) {
      pen = false;
      return;
    }
    const x = points.length > 1 ? (i * 1000) / (points.length - 1) : 0;
    path += `${pen ? "L" : "M"}${x.toFixed(1)} ${(3 + ((top - each) / span) * 28).toFixed(1)}`;
    pen = true;
  });
  return (
    <svg class={`spark ${props.kind}`} viewBox="0 0 1000 34" preserveAspectRatio="none" aria-hidden="true">
      <path d={path} fill="none" stroke="currentColor" stroke-width="1.6" vector-effect="non-scaling-stroke" />
    </svg>
  );
}
