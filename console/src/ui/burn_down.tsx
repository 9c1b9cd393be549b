// What is left of a quota over its period, and when it is used up at the pace of now.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type uPlot from "uplot";
import type { Account, AccountDetail } from "../api/types";
import { now } from "../core/clock";
import { date, hourMinute, number } from "../core/format";
import { colour, usePlot, xAxis, yAxis } from "./chart";

/** Closer times are shown with the hour. */
const longDayMs = 20 * 3_600_000;

/** The same as a sentence. */
function Pace(props: { of: Account }): JSX.Element {
  const { forecast_at, ends_at } = props.of;
  if (!forecast_at || Date.parse(forecast_at) >= Date.parse(ends_at)) return <>At this pace it lasts to the end of the period</>;
  if (Date.parse(forecast_at) <= now.value) {
    return (
      <>
        It is <Forecast of={props.of} />
      </>
    );
  }
  return (
    <>
      At this pace it is used up {Date.parse(forecast_at) - now.value < longDayMs ? "at" : "on"} <Forecast of={props.of} />
    </>
  );
}

/** When an account is used up at this pace, if that is before its period ends. */
export function Forecast(props: { of: Account }): JSX.Element {
  const { forecast_at, ends_at } = props.of;
  if (!forecast_at) return <>not at this pace</>;
  const at = Date.parse(forecast_at);
  if (at >= Date.parse(ends_at)) return <>not in this period</>;
  return (
    <span class="warned" title={new Date(at).toString()}>
      {at <= now.value ? "used up" : at - now.value < longDayMs ? hourMinute(at) : date(at, now.value)}
    </span>
  );
}

/** What is left over the period: as it was, an even pace, and the pace of now to the end. */
export function BurnDown(props: { of: AccountDetail; height?: number; title?: JSX.Element | string }): JSX.Element {
  const height = props.height ?? 240;
  const { of } = props;
  const data = useMemo(() => burnDown(of), [of]);
  const isShort = Date.parse(of.ends_at) - Date.parse(of.begins_at) < 3 * longDayMs;
  const label = (at: number): string => (isShort ? hourMinute(at) : date(at, now.value));
  const make = (width: number): uPlot.Options => {
    return {
      width,
      height,
      padding: [8, 18, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false } },
      scales: { x: { time: true }, y: { range: (_, __, max) => [0, max * 1.05] } },
      axes: [{ ...xAxis(), space: 80, values: (_, splits) => splits.map((at) => label(at * 1000)) }, yAxis()],
      series: [
        {},
        { stroke: colour("accent"), width: 2.5, points: { show: false }, spanGaps: true },
        { stroke: colour("faint"), width: 1.5, dash: [5, 5], points: { show: false }, spanGaps: true },
        { stroke: colour("shed"), width: 2, dash: [2, 4], points: { show: false }, spanGaps: true },
      ],
    };
  };
  const place = usePlot(make, data, of.id);
  return (
    <>
      <div class="between">
        <h2>{props.title ?? "Left in this period"}</h2>
        <div class="legend" hidden={props.height !== undefined}>
          <span>
            <i class="allow" />
            left
          </span>
          <span>
            <i class="pace" />
            even pace
          </span>
          <span>
            <i class="shed" />
            at the pace of now
          </span>
        </div>
      </div>
      <div
        class="chart"
        ref={place}
        style={{ minHeight: `${height}px` }}
        role="img"
        aria-label={`${number(of.available)} left of ${number(of.limit + of.granted)}`}
      />
      <p class="small">
        {number(of.used)} used, {of.held > 0 && `${number(of.held)} held, `}
        {number(of.available)} left. <Pace of={of} />.
      </p>
    </>
  );
}

function burnDown(of: AccountDetail): uPlot.AlignedData {
  const begin = Date.parse(of.begins_at);
  const end = Date.parse(of.ends_at);
  const limit = of.limit + of.granted;
  const points = new Map<number, [number | null, number | null, number | null]>();
  const at = (time: number): [number | null, number | null, number | null] => {
    const key = Math.round(time / 1000);
    if (!points.has(key)) points.set(key, [null, null, null]);
    return points.get(key)!;
  };
  const start = Date.parse(of.series.start_at);
  of.series.used.forEach((used, i) => {
    const time = start + i * of.series.step_ms;
    if (used !== null && time <= now.value) at(time)[0] = limit - used;
  });
  const left = limit - of.used;
  const today = Math.min(now.value, end);
  at(today)[0] = left;
  at(begin)[1] = limit;
  at(end)[1] = 0;
  at(today)[2] = left;
  const out = of.forecast_at ? Date.parse(of.forecast_at) : NaN;
  if (!Number.isNaN(out) && out <= end) at(Math.max(out, today + 1000))[2] = 0;
  else if (!Number.isNaN(out)) at(end)[2] = left * (1 - (end - today) / Math.max(1, out - today));
  else at(end)[2] = left;
  const times = [...points.keys()].sort((a, b) => a - b);
  return [times, ...[0, 1, 2].map((i) => times.map((time) => points.get(time)![i]!))] as uPlot.AlignedData;
}
