// Rules: a card for each, those that deny most first.
import type { JSX } from "preact";
import { get } from "../api/client";
import type { List, RuleCard } from "../api/types";
import { limitWords, number, percent, words } from "../core/format";
import { usePoll } from "../core/poll";
import { href, place, setQuery } from "../core/router";
import { Ago, Card, Empty, Gauge, PassBar, Segments, Tag } from "../ui/basics";
import { Failed } from "../ui/notes";
import { SubjectName } from "../ui/subject_name";

type Shown = "all" | "denying" | "shadow" | "candidate";
const kinds: [Shown, string][] = [
  ["all", "All"],
  ["denying", "Denying"],
  ["shadow", "Shadow"],
  ["candidate", "Candidates"],
];

export function Rules(): JSX.Element {
  const polled = usePoll<List<RuleCard>>("rules", (signal) => get("/rules/list", { limit: 1000 }, signal), 3000);
  const { query } = place.value;
  const text = query.get("q") ?? "";
  const kind = (query.get("show") ?? "all") as Shown;
  const all = polled.data?.items ?? [];
  const rules = all.filter((rule) => matches(rule, text, kind)).sort(byDenials);
  return (
    <>
      <div class="head">
        <h1>Rules</h1>
        <div class="row">
          <input
            type="search"
            aria-label="Find a rule"
            placeholder="Find a rule"
            value={text}
            onInput={(event) => setQuery({ q: event.currentTarget.value })}
          />
          <Segments label="Which rules" options={kinds} value={kind} choose={(show) => setQuery({ show: show === "all" ? null : show })} />
        </div>
      </div>
      <Failed what="The rules" error={polled.error} retry={polled.refresh} />
      <div class="grid cards live">
        {rules.map((rule) => (
          <OneRule key={rule.id} rule={rule} />
        ))}
        {polled.loading && [1, 2, 3].map((each) => <div key={each} class="card" style={{ minHeight: "172px" }} />)}
      </div>
      {polled.data && rules.length === 0 && (
        <Card>
          {all.length > 0 ? (
            <Empty>No rule fits this filter.</Empty>
          ) : (
            <Empty command={"weir serve --rules rules.yaml"}>There are no rules. Start the server with a file of rules:</Empty>
          )}
        </Card>
      )}
    </>
  );
}

function matches(rule: RuleCard, text: string, kind: Shown): boolean {
  if (kind === "denying" && rule.denied_per_second <= 0) return false;
  if (kind === "shadow" && rule.mode !== "shadow") return false;
  if (kind === "candidate" && !rule.candidate) return false;
  return text === "" || `${rule.id} ${rule.summary}`.toLowerCase().includes(text.toLowerCase());
}

function byDenials(a: RuleCard, b: RuleCard): number {
  const denials = (rule: RuleCard): number => Math.max(rule.denied_per_second, rule.shadow_denied_per_second);
  return denials(b) - denials(a) || a.id.localeCompare(b.id);
}

export function RuleTags(props: { rule: RuleCard }): JSX.Element {
  const { rule } = props;
  return (
    <>
      {rule.mode === "shadow" && <Tag tone="shadow">shadow</Tag>}
      {rule.mode === "off" && <Tag tone="grey">off</Tag>}
      {rule.candidate && <Tag tone="shadow">candidate</Tag>}
      {rule.fallback && (
        <Tag tone="warn" title={typeof rule.fallback === "string" ? rule.fallback : undefined}>
          fallback
        </Tag>
      )}
    </>
  );
}

function OneRule(props: { rule: RuleCard }): JSX.Element {
  const { rule } = props;
  const inShadow = rule.mode === "shadow";
  const denied = inShadow ? rule.shadow_denied_per_second : rule.denied_per_second;
  const passed = inShadow ? Math.max(0, rule.passed_per_second - denied) : rule.passed_per_second;
  return (
    <section class="card">
      <div class="between">
        <h2>
          <a class="rule" href={href("rules", rule.id)}>
            {rule.id}
          </a>
        </h2>
        <div class="row">
          <RuleTags rule={rule} />
        </div>
      </div>
      <p class="small two-lines">
        {limitWords(rule.summary) || words(rule.algorithm)}
      </p>
      <PassBar allowed={passed} denied={denied} shadow={inShadow} />
      <div class="between small" style={{ marginTop: "4px" }}>
        <span>
          <span class="strong">{number(passed)}</span>/s passed
        </span>
        <span>
          <span class="strong">{number(denied)}</span>/s {inShadow ? "would be denied" : "denied"}
        </span>
      </div>
      <div class="small" style={{ margin: "12px 0 4px" }}>
        {rule.fullest ? (
          <div class="between">
            <span>
              Fullest <SubjectName subject={rule.fullest.subject} text={rule.fullest.text} />
            </span>
            <span>{percent(rule.fullest.share)}</span>
          </div>
        ) : (
          "No subject has used much"
        )}
      </div>
      <Gauge share={rule.fullest?.share ?? 0} label={rule.fullest ? `fullest subject: ${percent(rule.fullest.share)} used` : "not used"} />
      <div class="small" style={{ marginTop: "8px" }}>
        {rule.last_seen_at ? (
          <>
            Last seen <Ago at={rule.last_seen_at} />
          </>
        ) : (
          "Not seen since the server started"
        )}
      </div>
    </section>
  );
}
