// When something ends: a few usual durations, or one of your own.
import type { JSX } from "preact";
import { now } from "../core/clock";
import { absolute } from "../core/format";
import { Field } from "./dialog";

const usual: [string, string][] = [
  ["30m", "30 minutes"],
  ["2h", "2 hours"],
  ["24h", "24 hours"],
  ["7d", "7 days"],
  ["30d", "30 days"],
];
const unitMs: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The end that a duration from now means; null if it is not one. */
export function endOf(text: string): number | null {
  const found = /^(\d{1,6})([smhd])$/.exec(text.trim());
  if (found) return now.value + Number(found[1]) * unitMs[found[2]!]!;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : at;
}

export function Until(props: { value: string; set: (value: string) => void; never?: string }): JSX.Element {
  const known = props.value === "" ? props.never !== undefined : usual.some(([value]) => value === props.value);
  const end = endOf(props.value);
  return (
    <>
      <Field label="Until" hint={end === null ? undefined : `Ends by itself on ${absolute(end)}.`}>
        <select
          value={known ? props.value : "other"}
          onChange={(event) => props.set(event.currentTarget.value === "other" ? "1h" : event.currentTarget.value)}
        >
          {usual.map(([value, text]) => (
            <option key={value} value={value}>
              {text} from now
            </option>
          ))}
          {props.never !== undefined && <option value="">{props.never}</option>}
          <option value="other">other</option>
        </select>
      </Field>
      {!known && (
        <Field label="Duration or time" hint={end === null ? "Write 90m, 12h, 3d, or a time such as 2026-12-01T00:00:00Z." : undefined}>
          <input value={props.value} maxLength={40} onInput={(event) => props.set(event.currentTarget.value)} />
        </Field>
      )}
    </>
  );
}
