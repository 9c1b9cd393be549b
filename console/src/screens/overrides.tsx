// Overrides: other limits for some callers, for a time.
import type { JSX } from "preact";
import { get } from "../api/client";
import { may } from "../api/session";
import type { List, Override, RuleCard } from "../api/types";
import { whenText } from "../core/attributes";
import { usePoll } from "../core/poll";
import { href, place } from "../core/router";
import { Ago, Card, Empty, Tag } from "../ui/basics";
import { Rows, usePages } from "../ui/list";
import { Failed } from "../ui/notes";
import { allowanceText } from "./subject_cards";
import { endOverride, raiseLimit } from "./subject_actions";

const example = `curl http://127.0.0.1:9090/admin/v1/overrides -d '{"rules":["*"],"when":{"tenant":"acme"},"limit":5000,"until":"2h","reason":"launch day"}'`;

export function Overrides(): JSX.Element {
  const pages = usePages<Override>("/overrides", {}, 5000);
  const rules = usePoll<List<RuleCard>>("rule names", (signal) => get("/rules/list", { limit: 1000 }, signal), 0);
  const names = (rules.data?.items ?? []).map((each) => each.id);
  const wanted = place.value.query.get("id");
  return (
    <>
      <div class="head">
        <h1>Overrides</h1>
        {may("operator") && (
          <button type="button" class="btn p" onClick={() => raiseLimit({}, names, pages.refresh)}>
            New override…
          </button>
        )}
      </div>
      <Failed what="The overrides" error={pages.error} retry={pages.refresh} />
      <Card class="live">
        <Rows
          pages={pages}
          columns={[
            ["For whom"],
            ["Rules"],
            ["Instead"],
            ["Reason"],
            ["Last used"],
            ["Ends", "r"],
            ...(may("operator") ? ([["", "r"]] as [string, string][]) : []),
          ]}
          empty={
            <Empty command={example}>
              No override. Every caller has the limits of the rules and its plan. An override gives some callers other limits for a time:
            </Empty>
          }
        >
          {pages.items.map((each) => (
            <tr key={each.id} aria-selected={each.id === wanted ? "true" : undefined}>
              <td class="sub">
                {whenText(each.when)} {each.emergency && <Tag tone="warn">emergency</Tag>}
              </td>
              <td>
                {each.rules.includes("*")
                  ? "every rule"
                  : each.rules.map((rule) => (
                      <a key={rule} class="rule" href={href("rules", rule)}>
                        {rule}{" "}
                      </a>
                    ))}
              </td>
              <td>
                <Tag tone={each.mode === "shadow" ? "shadow" : "allow"}>{allowanceText(each)}</Tag>
              </td>
              <td class="small">
                {each.reason}
                <div>
                  by {each.actor}, <Ago at={each.created_at} />
                </div>
              </td>
              <td class="small">
                <Ago at={each.last_used_at} />
              </td>
              <td class="r small">
                <Ago at={each.until} />
              </td>
              {may("operator") && (
                <td class="r nowrap">
                  {each.source === "file" ? (
                    <span class="small">from a file</span>
                  ) : (
                    <>
                      <button type="button" class="btn s" onClick={() => raiseLimit({}, names, pages.refresh, each)}>
                        Change…
                      </button>{" "}
                      <button type="button" class="btn s x" onClick={() => endOverride(each, pages.refresh)}>
                        End…
                      </button>
                    </>
                  )}
                </td>
              )}
            </tr>
          ))}
        </Rows>
      </Card>
    </>
  );
}
