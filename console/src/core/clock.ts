// The time, once a second, as the server sees it: relative times are right even if this machine's clock is wrong.
import { signal } from "@preact/signals";

let offset = 0;
export const now = signal(Date.now());

/** `date` is a response's Date field, which has whole seconds: smaller differences are not corrected. */
export function learnServerTime(date: string | null): void {
  const at = date ? Date.parse(date) : NaN;
  if (Number.isNaN(at)) return;
  const difference = at - Date.now();
  offset = Math.abs(difference) > 2500 ? difference : 0;
}

export function serverNow(): number {
  return Date.now() + offset;
}

setInterval(() => {
  if (!document.hidden) now.value = serverNow();
}, 1000);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) now.value = serverNow();
});
