// What a new text of rules would change, rule by rule.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError, ask } from "../api/client";
import type { RuleChange } from "../api/types";
import { Card, Tag } from "../ui/basics";

export interface DifferenceState {
  changes: RuleChange[];
  count: number | null;
  error: string;
}

export function useDifferences(text: string, wanted: boolean): DifferenceState {
  const [state, setState] = useState<DifferenceState>({ changes: [], count: null, error: "" });
  useEffect(() => {
    if (!wanted) {
      setState({ changes: [], count: null, error: "" });
      return;
    }
    const stop = new AbortController();
    const timer = setTimeout(() => {
      ask<{ changes: RuleChange[] }>("/rules/diff", { text }, stop.signal)
        .then(({ changes }) => setState({ changes, count: changes.length, error: "" }))
        .catch((error: unknown) => {
          if (!stop.signal.aborted)
            setState({ changes: [], count: null, error: error instanceof ApiError ? error.message : String(error) });
        });
    }, 500);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text, wanted]);
  return state;
}

export function Differences(props: { of: DifferenceState; changed: boolean; title?: string }): JSX.Element {
  const { changes, error, count } = props.of;
  return (
    <Card title={props.title ?? "What would change"}>
      {!props.changed && <p class="small">Nothing: the text is the one that applies.</p>}
      {error && <p class="small">The texts could not be compared: {error}</p>}
      {props.changed && count === 0 && <p class="small">No rule changes; only comments or spacing differ.</p>}
      {changes.map((each) => (
        <OneChange key={each.rule} of={each} />
      ))}
    </Card>
  );
}

const tones = { added: "allow", removed: "deny", changed: "grey" } as const;

export function OneChange(props: { of: RuleChange }): JSX.Element {
  const { of } = props;
  return (
    <div style={{ marginBottom: "12px" }}>
      <div>
        <Tag tone={tones[of.change]}>{of.change}</Tag> <span class="rule">{of.rule}</span>
      </div>
      <dl class="facts" style={{ marginTop: "4px" }}>
        {of.fields.map((field) => (
          <>
            <dt>{field.field}</dt>
            <dd class="sub">
              {field.before !== null && field.before !== undefined && <span class="before">{show(field.before)}</span>}{" "}
              {field.after !== null && field.after !== undefined && <span class="after">{show(field.after)}</span>}
            </dd>
          </>
        ))}
      </dl>
      {of.change !== "removed" && (
        <div class="small">
          {of.state === "kept" ? "What subjects have used stays counted." : "Counting begins again for every subject."}
        </div>
      )}
    </div>
  );
}

function show(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
