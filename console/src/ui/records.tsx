// What the screens of kept things share: Overrides, Blocks, Tenants, Keys, Tokens. A head with what can be made, a table
// with a column of actions for those who may, a dialog that removes one, and one that shows a secret once.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { remove } from "../api/client";
import { may } from "../api/session";
import type { Role } from "../api/types";
import { place, setQuery } from "../core/router";
import { Card, Command } from "./basics";
import { ActionForm, closeDialog, Effect, openDialog, Reason } from "./dialog";
import { Rows, usePages } from "./list";
import { Failed, toast } from "./notes";

export interface Column<T> {
  title: string;
  class?: string;
  show: (of: T) => ComponentChildren;
}

export interface RecordScreenProps<T> {
  title: string;
  /** "The keys", for what could not be loaded. */
  what: string;
  path: string;
  everyMs?: number;
  tabs?: ComponentChildren;
  /** Filters what is shown by the text that this makes of one; in the address as `q`. */
  find?: { label: string; text: (of: T) => string };
  /** What can be made here, by whom. */
  make: { label: string; role: Role; restricts?: boolean; run: (refresh: () => void) => void };
  note?: ComponentChildren;
  columns: Column<T>[];
  /** The last column; on a phone the first and the last are shown. */
  actions: (of: T, refresh: () => void) => ComponentChildren;
  /** Said in the first column on a phone, where the columns between are not shown. */
  onPhone?: (of: T) => ComponentChildren;
  keyOf: (of: T) => string;
  empty: ComponentChildren;
}

export function RecordScreen<T>(props: RecordScreenProps<T>): JSX.Element {
  const pages = usePages<T>(props.path, {}, props.everyMs ?? 10_000);
  const text = props.find ? (place.value.query.get("q") ?? "").toLowerCase() : "";
  const items = text && props.find ? pages.items.filter((each) => props.find!.text(each).toLowerCase().includes(text)) : pages.items;
  const acting = may(props.make.role);
  const columns = props.columns.map((each) => [each.title, each.class] as [string, string?]);
  return (
    <>
      <div class="head">
        <div class="row">
          <h1>{props.title}</h1>
          {props.tabs}
        </div>
        <div class="row">
          {props.find && <FindField label={props.find.label} />}
          {acting && (
            <button type="button" class={`btn ${props.make.restricts ? "x" : "p"}`} onClick={() => props.make.run(pages.refresh)}>
              {props.make.label}
            </button>
          )}
        </div>
      </div>
      {props.note}
      <Failed what={props.what} error={pages.error} retry={pages.refresh} />
      <Card class="live">
        <Rows pages={pages} columns={acting ? [...columns, ["", "r"]] : columns} empty={props.empty}>
          {items.map((each) => (
            <tr key={props.keyOf(each)}>
              {props.columns.map((column, i) => (
                <td key={column.title} class={column.class}>
                  {column.show(each)}
                  {i === 0 && props.onPhone && <div class="on-phone small">{props.onPhone(each)}</div>}
                </td>
              ))}
              {acting && <td class="r nowrap">{props.actions(each, pages.refresh)}</td>}
            </tr>
          ))}
        </Rows>
      </Card>
    </>
  );
}

function FindField(props: { label: string }): JSX.Element {
  return (
    <input
      type="search"
      aria-label={props.label}
      placeholder={props.label}
      value={place.value.query.get("q") ?? ""}
      onInput={(event) => setQuery({ q: event.currentTarget.value })}
    />
  );
}

/** A small button in the last column of a row. */
export function RowAction(props: { label: string; restricts?: boolean; run: () => void }): JSX.Element {
  return (
    <button type="button" class={`btn s ${props.restricts ? "x" : ""}`} onClick={props.run}>
      {props.label}
    </button>
  );
}

/** Asks for a reason, removes what is at `path`, and says so. `children` is what it affects. */
export function removeRecord(of: {
  title: string;
  action: string;
  done: string;
  path: string;
  /** A text, or a question to the server for those who do not know it. */
  etag: string | null | (() => Promise<string | null>);
  harmless?: boolean;
  effect: ComponentChildren;
  then: () => void;
}): void {
  openDialog(() => {
    const [reason, setReason] = useState("");
    const run = async (): Promise<void> => {
      await remove(of.path, reason, typeof of.etag === "function" ? await of.etag() : of.etag);
      closeDialog();
      toast(of.done);
      of.then();
    };
    return (
      <ActionForm title={of.title} action={of.action} danger={!of.harmless} run={run}>
        <Effect>{of.effect}</Effect>
        <Reason value={reason} set={setReason} />
      </ActionForm>
    );
  });
}

/** Shows a secret, once. */
export function showSecret(title: string, secret: string): void {
  openDialog(() => (
    <>
      <h2 id="dialog-title">{title}</h2>
      <p>Copy it now. It is not shown again, and the server keeps only a hash of it.</p>
      <Command text={secret} />
      <div class="end">
        <button type="button" class="btn p" onClick={closeDialog}>
          Done
        </button>
      </div>
    </>
  ));
}
