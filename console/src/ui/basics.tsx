// The small parts that screens are made of.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { now } from "../core/clock";
import { absolute, clockTime, duration, number, percent, relative, roughly } from "../core/format";

type Children = { children?: ComponentChildren };
export type Tone = "deny" | "allow" | "warn" | "shadow" | "grey";

export function Card(props: Children & { title?: ComponentChildren; aside?: ComponentChildren; class?: string }): JSX.Element {
  const head = props.title ? <h2>{props.title}</h2> : null;
  return (
    <section class={`card ${props.class ?? ""}`}>
      {props.aside ? (
        <div class="between">
          {head}
          {props.aside}
        </div>
      ) : (
        head
      )}
      {props.children}
    </section>
  );
}

export function Tag(props: Children & { tone: Tone; title?: string }): JSX.Element {
  return (
    <span class={`tag t-${props.tone}`} title={props.title}>
      {props.children}
    </span>
  );
}

export type Health = "good" | "warn" | "bad" | "off";

export function Pill(props: Children & { label: string; health?: Health; title?: string }): JSX.Element {
  const health = props.health ?? "good";
  const word = { good: "", warn: "needs attention", bad: "failed", off: "off" }[health];
  return (
    <span class="pill" title={props.title}>
      <i class={`dot ${health}`} role={word ? "img" : undefined} aria-label={word || undefined} />
      {props.label} <b>{props.children}</b>
    </span>
  );
}

/** A relative time, with the absolute one on hover. */
export function Ago(props: { at: string | number | null | undefined; none?: string }): JSX.Element {
  const at = typeof props.at === "string" ? Date.parse(props.at) : props.at;
  if (at === null || at === undefined || Number.isNaN(at)) return <span class="small">{props.none ?? "never"}</span>;
  return (
    <time class="nowrap" dateTime={new Date(at).toISOString()} title={absolute(at)}>
      {relative(at, now.value)}
    </time>
  );
}

/** How long something has lasted, or will: "4 min". */
export function Span(props: { from?: string | null; to?: string | null }): JSX.Element {
  const text = props.from ?? props.to;
  const at = text ? Date.parse(text) : NaN;
  if (Number.isNaN(at)) return <span class="small">–</span>;
  const ms = props.from ? now.value - at : at - now.value;
  return (
    <time class="nowrap" dateTime={new Date(at).toISOString()} title={absolute(at)}>
      {props.from ? roughly(Math.max(0, ms)) : duration(Math.max(0, ms))}
    </time>
  );
}

export function Clock(props: { at: string }): JSX.Element {
  const at = Date.parse(props.at);
  return (
    <time class="nowrap" dateTime={props.at} title={absolute(at)}>
      {clockTime(at)}
    </time>
  );
}

/** Passed and denied as one bar; the numbers are in its label. */
export function PassBar(props: { allowed: number; denied: number; shadow?: boolean }): JSX.Element {
  const sum = props.allowed + props.denied;
  const share = sum > 0 ? props.denied / sum : 0;
  const word = props.shadow ? "would be denied" : "denied";
  const label = sum > 0 ? `${percent(share)} ${word}` : "no requests";
  return (
    <div class={`bar ${sum > 0 ? "" : "none"} ${props.shadow ? "shadow" : ""}`} role="img" aria-label={label} title={label}>
      <i style={{ width: `${share > 0 ? Math.max(1, share * 100) : 0}%` }} />
    </div>
  );
}

export function Gauge(props: { share: number | null; held?: number; label?: string }): JSX.Element {
  const share = Math.max(0, Math.min(1, props.share ?? 0));
  const held = Math.max(0, Math.min(1 - share, props.held ?? 0));
  const kind = share + held >= 1 ? "full" : share + held >= 0.85 ? "hi" : "";
  const label = props.label ?? `${percent(props.share)} used`;
  return (
    <div class="gauge" role="img" aria-label={label} title={label}>
      <i class={kind} style={{ width: `${share * 100}%` }} />
      {held > 0 && <i class="held" style={{ width: `${held * 100}%` }} />}
    </div>
  );
}

export function Rate(props: { of: number | null | undefined }): JSX.Element {
  return <>{number(props.of)}</>;
}

export function Segments<T extends string>(props: {
  label: string;
  options: [T, string][];
  value: T;
  choose: (value: T) => void;
}): JSX.Element {
  return (
    <div class="seg" role="group" aria-label={props.label}>
      {props.options.map(([value, text]) => (
        <button type="button" aria-pressed={value === props.value ? "true" : "false"} onClick={() => props.choose(value)}>
          {text}
        </button>
      ))}
    </div>
  );
}

export function CopyText(props: { text: string; label?: string }): JSX.Element {
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(props.text);
    } catch {
      copyOldWay(props.text);
    }
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <button type="button" class="btn s" onClick={() => void copy()} aria-live="polite">
      {copied ? "Copied" : (props.label ?? "Copy")}
    </button>
  );
}

// Pages without TLS that are not on loopback have no clipboard API.
function copyOldWay(text: string): void {
  const area = document.createElement("textarea");
  area.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** A command, ready to be copied. */
export function Command(props: { text: string }): JSX.Element {
  return (
    <div class="copy">
      <pre>{props.text}</pre>
      <CopyText text={props.text} />
    </div>
  );
}

export function Empty(props: Children & { command?: string }): JSX.Element {
  return (
    <div class="empty">
      {props.children}
      {props.command && <Command text={props.command} />}
    </div>
  );
}
