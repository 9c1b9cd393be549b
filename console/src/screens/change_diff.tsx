// What a new text of rules would change, rule by rule.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError, ask } from "../api/client";
import type { RuleChange } from "../api/types";
import { asCandidate, asShadow } from "../core/rule_text";
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

export function Differences(props: {
  of: DifferenceState;
  changed: boolean;
  /** The text that applies, the one that is edited, and how to edit it. */
  active: string;
  draft: string;
  edit: (text: string) => void;
}): JSX.Element {
  const { changes, error, count } = props.of;
  const alone = changes.length === 1;
  return (
    <Card title="What would change">
      {!props.changed && <p class="small">Nothing: the text is the active one.</p>}
      {error && <p class="small">The texts could not be compared: {error}</p>}
      {props.changed && count === 0 && <p class="small">No rule changes; only comments or spacing differ.</p>}
      {changes.map((each) => (
        <OneChange key={each.rule} of={each}>
          <Trial label="Try as candidate" text={alone ? asCandidate(props.active, each) : null} edit={props.edit}>
            The active numbers stay, and the new ones are evaluated beside them.
          </Trial>
          <Trial label="Try in shadow" text={asShadow(props.draft, each)} edit={props.edit}>
            The rule counts and denies nothing, and shows what it would have denied.
          </Trial>
        </OneChange>
      ))}
    </Card>
  );
}

/** Offers a text with which the change is tried first. */
function Trial(props: { label: string; text: string | null; edit: (text: string) => void; children: string }): JSX.Element | null {
  const { text } = props;
  if (text === null) return null;
  return (
    <div class="row" style={{ marginTop: "6px" }}>
      <button type="button" class="btn s" title={props.children} onClick={() => props.edit(text)}>
        {props.label}
      </button>
    </div>
  );
}

const tones = { added: "allow", removed: "deny", changed: "grey" } as const;

export function OneChange(props: { of: RuleChange; children?: ComponentChildren }): JSX.Element {
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
      {props.children}
    </div>
  );
}

function show(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
