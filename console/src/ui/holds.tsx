// Leases and reservations: what is held at the moment, and how it is taken away from its holder.
import type { JSX } from "preact";
import { segment } from "../api/client";
import { may } from "../api/session";
import type { Lease, Reservation } from "../api/types";
import { count } from "../core/format";
import { href } from "../core/router";
import { Ago } from "./basics";
import { removeRecord, RowAction } from "./records";

export type HoldKind = "leases" | "reservations";

/** One thing that is held. A reservation has a part in each of its rules; a lease is listed for each rule by itself. */
export interface Hold {
  key: string;
  id: string | null;
  handle: string | null;
  parts: { rule: string; units: number }[];
  reserved_at: string | null;
  expires_at: string;
}

export function holdsOf(list: (Lease | Reservation)[]): Hold[] {
  const holds: Hold[] = [];
  list.forEach((each, i) => {
    const id = "id" in each ? each.id : null;
    const known = id === null ? undefined : holds.find((hold) => hold.id === id);
    const part = { rule: each.rule, units: each.units };
    if (known) known.parts.push(part);
    else {
      const reserved_at = "reserved_at" in each ? each.reserved_at : null;
      holds.push({ key: id ?? each.handle ?? String(i), id, handle: each.handle, parts: [part], reserved_at, expires_at: each.expires_at });
    }
  });
  return holds;
}

/** What it holds of each rule: "40 of search-tokens, 1 of calls". */
export function HoldParts(props: { of: Hold }): JSX.Element {
  return (
    <>
      {props.of.parts.map((part) => (
        <div key={part.rule}>
          <a class="rule" href={href("rules", part.rule)}>
            {part.rule}
          </a>{" "}
          <span class="small nowrap">{count(part.units, "unit")}</span>
        </div>
      ))}
      {props.of.id && (
        <div class="sub small" title={props.of.id}>
          {props.of.id.slice(0, 12)}
        </div>
      )}
    </>
  );
}

/** The button for those who may. */
export function ReleaseHold(props: { of: Hold; kind: HoldKind; then: () => void }): JSX.Element | null {
  if (!may("operator") || !props.of.handle) return null;
  return <RowAction label="Release…" restricts run={() => release(props.of, props.kind, props.then)} />;
}

function release(of: Hold, kind: HoldKind, then: () => void): void {
  const units = of.parts.map((part) => `${count(part.units, "unit")} of ${part.rule}`).join(", ");
  removeRecord({
    title: kind === "leases" ? "Release the lease" : "Release the reservation",
    action: "Release",
    done: "Released",
    path: `/${kind}/${segment(of.handle ?? "")}`,
    etag: null,
    effect: (
      <>
        <p>
          Affects <b>1 subject</b>: {units} can be taken by others at once, while the holder may still be working. It would have expired{" "}
          <Ago at={of.expires_at} />.
        </p>
        <p>
          This cannot be undone; the holder has to ask again
          {kind === "reservations" && ", and what its work has cost by then is not charged"}.
        </p>
      </>
    ),
    then,
  });
}
