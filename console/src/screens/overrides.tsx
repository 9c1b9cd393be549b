// Overrides: other limits for some callers, for a time.
import type { JSX } from "preact";
import { get } from "../api/client";
import type { List, Override, RuleCard } from "../api/types";
import { whenText } from "../core/attributes";
import { usePoll } from "../core/poll";
import { href } from "../core/router";
import { Ago, Empty, Tag } from "../ui/basics";
import { RecordScreen, RowAction } from "../ui/records";
import { allowanceText } from "./subject_cards";
import { endOverride, raiseLimit } from "./subject_actions";

const example = `weir override set tenant=acme --rules '*' --limit 5000 --until 2h --reason 'launch day' --admin ${location.origin}`;

export function Overrides(): JSX.Element {
  const rules = usePoll<List<RuleCard>>("rule names", (signal) => get("/rules/list", { limit: 1000 }, signal), 0);
  const names = (rules.data?.items ?? []).map((each) => each.id);
  return (
    <RecordScreen<Override>
      title="Overrides"
      what="The overrides"
      path="/overrides"
      everyMs={5000}
      make={{ label: "New override…", role: "operator", run: (refresh) => raiseLimit({}, names, refresh) }}
      keyOf={(each) => each.id}
      columns={[
        {
          title: "For whom",
          class: "sub",
          show: (each) => (
            <>
              {whenText(each.when)} {each.emergency && <Tag tone="warn">emergency</Tag>}
            </>
          ),
        },
        { title: "Rules", show: (each) => <RuleLinks of={each} /> },
        { title: "Instead", show: (each) => <Tag tone={each.mode === "shadow" ? "shadow" : "allow"}>{allowanceText(each)}</Tag> },
        {
          title: "Reason",
          class: "small",
          show: (each) => (
            <>
              <span class="said">{each.reason}</span>
              <div>
                by {each.actor}
                {each.created_at && (
                  <>
                    , <Ago at={each.created_at} />
                  </>
                )}
              </div>
            </>
          ),
        },
        { title: "Last used", class: "small", show: (each) => <Ago at={each.last_used_at} /> },
        { title: "Ends", class: "r small", show: (each) => <Ago at={each.until} /> },
      ]}
      onPhone={(each) => (
        <>
          {allowanceText(each)}, {each.rules.includes("*") ? "every rule" : each.rules.join(", ")}, ends <Ago at={each.until} />
        </>
      )}
      actions={(each, refresh) =>
        each.source === "file" ? (
          <span class="small">from a file</span>
        ) : (
          <>
            <RowAction label="Change…" run={() => raiseLimit({}, names, refresh, each)} />{" "}
            <RowAction label="End…" restricts run={() => endOverride(each, refresh)} />
          </>
        )
      }
      empty={
        <Empty command={example}>
          No override. Every caller has the limits of the rules and its plan. An override gives some callers other limits for a time:
        </Empty>
      }
    />
  );
}

function RuleLinks(props: { of: Override }): JSX.Element {
  if (props.of.rules.includes("*")) return <>every rule</>;
  return (
    <>
      {props.of.rules.map((rule) => (
        <a key={rule} class="rule" href={href("rules", rule)}>
          {rule}{" "}
        </a>
      ))}
    </>
  );
}
