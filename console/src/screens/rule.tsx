// One rule: its decisions over time, what it says in words, who meets it, its candidate, and the versions of the rules.
import type { JSX } from "preact";
import { ApiError, get, segment } from "../api/client";
import { has, may } from "../api/session";
import type { List, RuleDetail, RulesVersion } from "../api/types";
import { limitWords, number, percent, words } from "../core/format";
import { usePoll } from "../core/poll";
import { href, hrefWith } from "../core/router";
import { Ago, Card, Empty, Gauge } from "../ui/basics";
import { DecisionChart } from "../ui/chart";
import { Failed, Note } from "../ui/notes";
import { SubjectName } from "../ui/subject_name";
import { RolloutReport } from "./rule_rollout";
import { chosenRange, paceOf, RangeChoice } from "./now";
import { RuleTags } from "./rules";

export function RulePage(props: { id: string }): JSX.Element {
  const { id } = props;
  const range = chosenRange();
  const polled = usePoll<RuleDetail>(
    `rule ${id} ${range}`,
    (signal) => get(`/rules/${segment(id)}`, { range }, signal),
    Math.max(2000, paceOf(range)),
  );
  const keepsVersions = has("GET /rules/versions");
  const versions = usePoll<List<RulesVersion>>(
    "versions",
    (signal) => (keepsVersions ? get("/rules/versions", { limit: 5 }, signal) : Promise.resolve({ items: [], next: null })),
    0,
  );
  const rule = polled.data;
  return (
    <>
      <div class="head">
        <div class="row">
          <a href={href("rules")} class="crumb">
            Rules /
          </a>
          <h1>{id}</h1>
          {rule && <RuleTags rule={rule} />}
        </div>
        <div class="row">
          <RangeChoice />
          <a class="btn" href={hrefWith(["decisions"], { rule: id })}>
            Decisions
          </a>
          <a class="btn" href={hrefWith(["change"], { rule: id })}>
            {may("admin") ? "Change" : "Show text"}
          </a>
        </div>
      </div>
      {polled.error?.status === 404 ? (
        <Note kind="info">
          There is no rule <b>{id}</b>. It may have been removed. <a href={href("rules")}>All rules</a>
        </Note>
      ) : (
        <Failed what="The rule" error={polled.error} retry={polled.refresh} />
      )}
      <div class="live stack">
        <div class="card">
          <DecisionChart series={rule?.series ?? null} />
        </div>
        <div class="grid k31">
          <div class="grid">
            <Explanation rule={rule} />
            <Subjects rule={rule} />
          </div>
          <div class="grid">
            {rule && (rule.candidate || rule.mode === "shadow") && <RolloutReport rule={rule} done={polled.refresh} />}
            <Fullest rule={rule} />
            {keepsVersions && <Versions list={versions.data?.items ?? null} error={versions.error} />}
          </div>
        </div>
      </div>
    </>
  );
}

function Explanation(props: { rule: RuleDetail | null }): JSX.Element {
  const { rule } = props;
  return (
    <Card title="What it does" aside={rule && <span class="small">{words(rule.algorithm)}</span>}>
      {(rule?.explanation ?? []).map((line) => (
        <p key={line}>{limitWords(line)}</p>
      ))}
      {rule && rule.explanation.length === 0 && <p>{limitWords(rule.summary)}</p>}
    </Card>
  );
}

function Subjects(props: { rule: RuleDetail | null }): JSX.Element {
  const rows = props.rule?.top_subjects ?? [];
  return (
    <Card title="Who is denied">
      {rows.length === 0 ? (
        <Empty>{props.rule ? "No one has been denied by this rule in this time." : ""}</Empty>
      ) : (
        <table>
          <thead>
            <tr>
              <th>Subject</th>
              <th class="r">Denied/s</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.subject}>
                <td>
                  <SubjectName subject={row.subject} text={row.text} />
                </td>
                <td class="r">{number(row.denied_per_second)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}

function Fullest(props: { rule: RuleDetail | null }): JSX.Element {
  const { rule } = props;
  return (
    <Card title="Fullest subject">
      {rule?.fullest ? (
        <>
          <div class="between gapped">
            <SubjectName subject={rule.fullest.subject} text={rule.fullest.text} />
            <span class="small">{percent(rule.fullest.share)} used</span>
          </div>
          <Gauge share={rule.fullest.share} />
        </>
      ) : (
        <p class="small">No subject has used much.</p>
      )}
      <p class="small" style={{ marginTop: "10px" }}>
        Last seen <Ago at={rule?.last_seen_at} />
      </p>
    </Card>
  );
}

function Versions(props: { list: RulesVersion[] | null; error: ApiError | null }): JSX.Element {
  return (
    <Card
      title="Versions of the rules"
      aside={
        <a class="small" href={href("change")}>
          All
        </a>
      }
    >
      {props.error && <p class="small">{props.error.status === 0 ? "Loading" : "This server keeps no versions."}</p>}
      {props.list?.length === 0 && <p class="small">The rules have not been changed through the console or the API.</p>}
      <table>
        <tbody>
          {(props.list ?? []).map((each) => (
            <tr key={each.version}>
              <td class="nowrap">v{each.version}</td>
              <td class="small">{each.reason ?? ""}</td>
              <td class="r small">
                <Ago at={each.at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}
