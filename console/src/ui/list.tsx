// Lists that the server gives page by page.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { get, type Query } from "../api/client";
import type { List } from "../api/types";
import { usePoll, type Polled } from "../core/poll";

export interface Pages<T> extends Polled<List<T>> {
  items: T[];
  more: (() => void) | null;
}

/** The first page is asked for again every `everyMs`; further pages are added when someone wants them. */
export function usePages<T>(path: string, query: Query, everyMs: number): Pages<T> {
  const key = path + JSON.stringify(query);
  const [further, setFurther] = useState<{ key: string; items: T[]; next: string | null | undefined }>({ key, items: [], next: undefined });
  const first = usePoll<List<T>>(key, (signal) => get(path, query, signal), everyMs);
  const own = further.key === key ? further : { key, items: [], next: undefined };
  const next = own.next === undefined ? first.data?.next : own.next;
  const load = async (): Promise<void> => {
    const page = await get<List<T>>(path, { ...query, cursor: next });
    setFurther({ key, items: [...own.items, ...page.items], next: page.next });
  };
  return { ...first, items: [...(first.data?.items ?? []), ...own.items], more: next ? () => void load() : null };
}

export function More(props: { pages: Pages<unknown> }): JSX.Element | null {
  if (!props.pages.more) return null;
  return (
    <p style={{ marginTop: "12px" }}>
      <button type="button" class="btn" onClick={props.pages.more}>
        Show more
      </button>
    </p>
  );
}

/** A table head, and rows or what to say without any. */
export function Rows(props: {
  columns: [string, string?][];
  pages: Pages<unknown>;
  empty: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  if (props.pages.data && props.pages.items.length === 0) return <>{props.empty}</>;
  return (
    <>
      <table class="keep">
        <thead>
          <tr>
            {props.columns.map(([title, kind]) => (
              <th key={title} class={kind}>
                {title || <span class="unseen">Actions</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{props.children}</tbody>
      </table>
      <More pages={props.pages} />
    </>
  );
}
