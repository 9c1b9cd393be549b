// What went wrong, what was done, and that the server is away.
import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { lostSince, type ApiError } from "../api/client";
import { now } from "../core/clock";
import { absolute, clockTime, duration } from "../core/format";

const toastText = signal("");
let toastTimer = 0;

/** Says for a few seconds that something was done. */
export function toast(text: string): void {
  toastText.value = text;
  clearTimeout(toastTimer);
  toastTimer = window.setTimeout(() => (toastText.value = ""), 4000);
}

export function Toast(): JSX.Element {
  return (
    <div role="status" aria-live="polite">
      {toastText.value && <div class="toast">{toastText.value}</div>}
    </div>
  );
}

export function Note(props: {
  kind: "bad" | "warn" | "info" | "good";
  children: ComponentChildren;
  action?: ComponentChildren;
}): JSX.Element {
  return (
    <div class={`note ${props.kind}`} role={props.kind === "bad" ? "alert" : "note"}>
      <div>{props.children}</div>
      {props.action}
    </div>
  );
}

/** What failed, and a way to try again. A server that does not answer at all is reported by LostServer. */
export function Failed(props: { what: string; error: ApiError | null; retry?: () => void }): JSX.Element | null {
  const { error } = props;
  if (!error || error.status === 0 || error.status === 401) return null;
  const again = props.retry && (
    <button type="button" class="btn s" onClick={props.retry}>
      Try again
    </button>
  );
  return (
    <Note kind="bad" action={again}>
      <b>{props.what} could not be loaded.</b> {error.status === 404 ? "This server does not have it." : error.message}
    </Note>
  );
}

export function LostServer(): JSX.Element | null {
  const since = lostSince.value;
  if (since === null) return null;
  return (
    <Note kind="bad">
      <b>No answer from the server</b> since <time title={absolute(since)}>{clockTime(since)}</time> (
      {duration(Math.max(1000, now.value - since))}). The figures below are from before. Trying again.
    </Note>
  );
}
