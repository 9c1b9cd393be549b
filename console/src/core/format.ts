// Numbers and times as people read them: large numbers grouped, small ones with two significant digits, times relative.

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** 18,240; 742; 5.2; 0.31; 0. */
export function number(n: number | null | undefined): string {
  if (n === null || n === undefined || !Number.isFinite(n)) return "–";
  const size = Math.abs(n);
  if (size === 0) return "0";
  if (size >= 10 || Number.isInteger(n)) return grouped.format(n);
  if (size < 0.001) return n < 0 ? "> -0.001" : "< 0.001";
  return String(Number(n.toPrecision(2)));
}

/** For axes: 20 k, 1.5 M. */
export function compact(n: number): string {
  const size = Math.abs(n);
  if (size >= 1e9) return `${trim(n / 1e9)} G`;
  if (size >= 1e6) return `${trim(n / 1e6)} M`;
  if (size >= 1e3) return `${trim(n / 1e3)} k`;
  return String(Number(n.toPrecision(3)));
}

function trim(n: number): string {
  return String(Number(n.toPrecision(3)));
}

/** 0.039 becomes "3.9 %". */
export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return "–";
  const value = share * 100;
  if (value === 0) return "0 %";
  if (value > 99.95 && value < 100) return "> 99.9 %";
  if (value < 0.01) return "< 0.01 %";
  if (value < 10) return `${Number(value.toPrecision(2))} %`;
  return `${Number(value.toFixed(1))} %`;
}

const units: [string, number][] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
];

/** 7 ms; 0.3 s; 40 s; 1 min 40 s; 12 min; 2 h; 3 d. The second unit is shown only where it matters. */
export function duration(ms: number): string {
  if (ms < 0) ms = 0;
  if (ms === 0) return "0 s";
  if (ms < 95) return `${Number(ms.toPrecision(ms < 1 ? 2 : 1))} ms`;
  if (ms < 950) return `${Number((ms / 1000).toPrecision(1))} s`;
  let rest = Math.round(ms / 1000) * 1000;
  for (let i = 0; i < units.length; i++) {
    const [name, size] = units[i]!;
    if (rest < size) continue;
    const whole = Math.floor(rest / size);
    rest -= whole * size;
    const next = units[i + 1];
    const further = next && whole < 5 ? Math.floor(rest / next[1]) : 0;
    return next && further > 0 ? `${whole} ${name} ${further} ${next[0]}` : `${whole} ${name}`;
  }
  return "0 s";
}

/** One unit only: 4 min; 2 h. */
export function roughly(ms: number): string {
  return duration(ms).split(" ").slice(0, 2).join(" ");
}

const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const dayYear = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const short = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const full = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "long" });

export const clockTime = (at: number): string => clock.format(at);
export const hourMinute = (at: number): string => short.format(at);
export const absolute = (at: number): string => full.format(at);

/** 18 Nov, or 3 Mar 2025 in another year. */
export function date(at: number, now: number): string {
  const same = new Date(at).getFullYear() === new Date(now).getFullYear();
  return (same ? day : dayYear).format(at);
}

/** A calendar period: "18 Nov, 10:00 to 11:00", "18 Nov", "1 to 30 Nov". */
export function periodText(begins: string, ends: string, now: number): string {
  const from = Date.parse(begins);
  const to = Date.parse(ends);
  const length = to - from;
  if (length < 20 * 3_600_000) return `${date(from, now)}, ${hourMinute(from)} to ${hourMinute(to)}`;
  const last = to - 1;
  if (length < 30 * 3_600_000) return date(from, now);
  return `${date(from, now)} to ${date(last, now)}`;
}

/** "12 min ago", "in 41 min", "just now"; a date beyond two weeks. */
export function relative(at: number, now: number): string {
  const away = at - now;
  const size = Math.abs(away);
  if (size > 14 * 86_400_000) return date(at, now);
  if (size < 1500) return away > 0 ? "in 1 s" : "just now";
  return away > 0 ? `in ${roughly(size)}` : `${roughly(size)} ago`;
}

/** "v12"; before the server has recorded a version, the beginning of its hash. */
export function versionName(of: { version: number; hash: string }): string {
  return of.version > 0 ? `v${of.version}` : of.hash.slice(0, 8);
}

/** 1 rule, 2 rules. */
export function count(n: number, one: string, many = `${one}s`): string {
  return `${number(n)} ${n === 1 ? one : many}`;
}

/** "600/min" for a limit and a window. */
export function limitText(limit: number | null | undefined, windowMs: number | null | undefined): string {
  if (limit === null || limit === undefined) return "";
  if (!windowMs) return number(limit);
  const names: Record<number, string> = { 1000: "s", 60_000: "min", 3_600_000: "h", 86_400_000: "day" };
  return `${number(limit)}/${names[windowMs] ?? duration(windowMs)}`;
}

const perWords: [RegExp, string][] = [
  [/ per 1 s\b/, "/s"],
  [/ per (60 s|1 min)\b/, "/min"],
  [/ per (60 min|1 h)\b/, "/h"],
  [/ per (24 h|1 d|1 day)\b/, "/day"],
];

/** The server's "60000 per 60 s, per tenant" as "60,000/min, per tenant". */
export function limitWords(text: string): string {
  let shown = text.replace(/\d{4,}/g, (digits) => grouped.format(Number(digits)));
  for (const [long, short] of perWords) shown = shown.replace(long, short);
  return shown;
}

/** Milliseconds of "60s", "1500ms", "2h"; null for anything else. */
export function durationMs(text: string | null | undefined): number | null {
  const found = /^(\d+)(ms|s|m|h|d)$/.exec(text ?? "");
  if (!found) return null;
  return Number(found[1]) * { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }[found[2] as "ms" | "s" | "m" | "h" | "d"];
}

/** "limit_exceeded" becomes "limit exceeded". */
export function words(name: string | null | undefined): string {
  return (name ?? "").replaceAll("_", " ");
}
