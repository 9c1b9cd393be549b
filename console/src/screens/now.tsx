// Now: what is happening, and why. State, figures with a comparison, one chart, who and what, what ends soon.
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { get } from "../api/client";
import type { Overview, Range } from "../api/types";
import { now } from "../core/clock";
import { count, duration, limitWords, number, percent, relative, versionName } from "../core/format";
import { isSpike, overview } from "../core/overview";
import { usePoll } from "../core/poll";
import { href, place, setQuery } from "../core/router";
import { Ago, Card, Empty, Gauge, PassBar, Pill, Segments, Span, Tag, type Tone } from "../ui/basics";
import { DecisionChart, Spark } from "../ui/chart";
import { Failed, Note } from "../ui/notes";
import { SubjectName } from "../ui/subject_name";

// Of each table, so that everything is seen at once.
const mostRows = 5;

// A transaction that takes less is none of anyone's business; one that takes this long holds up quotas.
const shownLagMs = 100;
const slowDatabaseMs = 5000;

export const ranges: [Range, string][] = [
  ["5m", "5 min"],
  ["1h", "1 h"],
  ["24h", "24 h"],
];

export function chosenRange(): Range {
  const range = place.value.query.get("range");
  return range === "1h" || range === "24h" ? range : "5m";
}

export function RangeChoice(): JSX.Element {
  return (
    <Segments
      label="Time range"
      options={ranges}
      value={chosenRange()}
      choose={(range) => setQuery({ range: range === "5m" ? null : range })}
    />
  );
}

export const paceOf = (range: Range): number => ({ "5m": 1000, "1h": 5000, "24h": 30_000 })[range];

export function Now(): JSX.Element {
  const range = chosenRange();
  const polled = usePoll<Overview>(`overview ${range}`, (signal) => get("/overview", { range }, signal), paceOf(range));
  const { data } = polled;
  useEffect(() => {
    if (data) overview.value = data;
  }, [data]);
  return (
    <>
      <div class="head">
        <h1>Now</h1>
        <RangeChoice />
      </div>
      <Failed what="The overview" error={polled.error} retry={polled.refresh} />
      {data?.state.rules.error && (
        <Note kind="warn">
          <b>The rules were changed, but are invalid; the last good ones still apply.</b> {data.state.rules.error}
        </Note>
      )}
      <div class="live">
        <StateStrip of={data} />
        <Figures of={data} />
        <div class="card gapped">
          <DecisionChart series={data?.series ?? null} />
          {data && isQuiet(data) && (
            <Empty command={`curl http://127.0.0.1:8080/v1/check -d '{"attributes":{"tenant":"acme"}}'`}>
              No request has been decided in this time. Ask for one:
            </Empty>
          )}
        </div>
        <div class="grid k2">
          <DeniedRules of={data} />
          <DeniedSubjects of={data} />
          <NearLimit of={data} />
          <EndsSoon of={data} />
          <HotSubjects of={data} />
        </div>
      </div>
    </>
  );
}

function isQuiet(of: Overview): boolean {
  return [of.series.allowed, of.series.denied].every((points) => (points ?? []).every((each) => !each));
}

function StateStrip(props: { of: Overview | null }): JSX.Element {
  if (!props.of) return <div class="strip" />;
  const { nodes, store, database, rules, fallbacks } = props.of.state;
  const missing = nodes.live < nodes.expected;
  const breaker = store.breaker && store.breaker !== "closed" ? `breaker ${store.breaker}` : "";
  const storeText = store.ok ? breaker || (store.p99_ms ? `p99 ${number(store.p99_ms)} ms` : "ok") : breaker || "no answer";
  const lag = database.lag_ms ?? 0;
  const slow = lag >= slowDatabaseMs;
  const databaseText = !database.ok ? database.detail || "no answer" : lag >= shownLagMs ? `lag ${duration(lag)}` : "ok";
  const longest = fallbacks.reduce((all, each) => Math.max(all, now.value - Date.parse(each.since)), 0);
  return (
    <div class="strip">
      <Pill label="Nodes" health={missing ? "warn" : "good"} title={`this answer is from ${props.of.node}`}>
        {nodes.expected > 1 ? `${nodes.live} of ${nodes.expected}` : number(nodes.live)}
      </Pill>
      <Pill label={storeName(store.name)} health={!store.ok ? "bad" : breaker ? "warn" : "good"}>
        {storeText}
      </Pill>
      {database.kind === "off" ? (
        <Pill label="Database" health="off">
          off
        </Pill>
      ) : (
        <Pill label={database.kind === "postgres" ? "PostgreSQL" : "SQLite"} health={!database.ok ? "bad" : slow ? "warn" : "good"} title={database.detail}>
          {databaseText}
        </Pill>
      )}
      <Pill label="Rules" health={rules.error ? "warn" : "good"} title={rules.error ?? `from ${rules.source}`}>
        {versionName(rules)}, {relative(Date.parse(rules.loaded_at), now.value)}
      </Pill>
      {fallbacks.length > 0 && (
        <Pill label="Fallback" health="warn" title={fallbacks.map((each) => `${each.rule}: ${each.policy}`).join(", ")}>
          {count(fallbacks.length, "rule")}, {duration(longest)}
        </Pill>
      )}
    </div>
  );
}

function storeName(name: string): string {
  return { memory: "Memory", redis: "Redis" }[name] ?? name;
}

function Figures(props: { of: Overview | null }): JSX.Element {
  const totals = props.of?.totals;
  const series = props.of?.series;
  const usual = totals?.usual_denied_share ?? null;
  const share = totals?.denied_share ?? 0;
  const spike = isSpike(share, usual);
  const shadow = totals
    ? [
        totals.rules_in_shadow > 0 && `${count(totals.rules_in_shadow, "rule")} in shadow`,
        totals.candidates > 0 && count(totals.candidates, "candidate"),
      ]
        .filter(Boolean)
        .join(", ") || "no rule in shadow"
    : "";
  const any = totals !== undefined && totals.allowed_per_second + totals.denied_per_second > 0;
  return (
    <div class="grid k4 gapped">
      <Figure
        title="Allowed"
        n={totals?.allowed_per_second}
        unit="/s"
        detail={totals ? (any ? `${percent(1 - share)} of requests` : "no requests") : ""}
        points={series?.allowed}
        kind="c-allow"
      />
      <Figure
        title="Denied"
        n={totals?.denied_per_second}
        unit="/s"
        detail={
          totals && (
            <>
              <span class={spike ? "warned" : ""}>{percent(share)}</span>
              {usual !== null && `, usually ${percent(usual)}`}
            </>
          )
        }
        points={series?.denied}
        kind="c-deny"
      />
      <Figure
        title="Would be denied"
        n={totals?.shadow_denied_per_second}
        unit="/s"
        detail={shadow}
        points={series?.shadow_denied}
        kind="c-shadow"
      />
      <Figure
        title="Decision time"
        n={totals?.p99_ms}
        unit="ms p99"
        detail={totals ? `median ${number(totals.p50_ms)} ms` : ""}
        points={series?.p99_ms}
        kind="c-muted"
      />
    </div>
  );
}

function Figure(props: {
  title: string;
  n: number | null | undefined;
  unit: string;
  detail: JSX.Element | string | undefined;
  points: (number | null)[] | undefined;
  kind: string;
}): JSX.Element {
  return (
    <div class="card kpi">
      <h2>{props.title}</h2>
      <span class="n">{number(props.n)}</span> <span class="u">{props.unit}</span>
      <div class="d">{props.detail}</div>
      <Spark points={props.points} kind={props.kind} />
    </div>
  );
}

function DeniedRules(props: { of: Overview | null }): JSX.Element {
  const rows = (props.of?.top_rules ?? [])
    .map((each) => ({
      ...each,
      denied: each.mode === "shadow" ? (each.shadow_denied_per_second ?? each.denied_per_second) : each.denied_per_second,
    }))
    .filter((each) => each.denied > 0)
    .slice(0, mostRows);
  return (
    <Card title="Most denied rules">
      {props.of && rows.length === 0 ? (
        <Empty>Nothing is denied.</Empty>
      ) : (
        <table>
          <thead>
            <tr>
              <th>Rule</th>
              <th class="w-bar">Passed and denied</th>
              <th class="r">Denied/s</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.rule}>
                <td>
                  <a class="rule" href={href("rules", row.rule)}>
                    {row.rule}
                  </a>{" "}
                  {row.fallback && <Tag tone="warn">fallback</Tag>} {row.mode === "shadow" && <Tag tone="shadow">shadow</Tag>}
                </td>
                <td>
                  <PassBar allowed={row.allowed_per_second} denied={row.denied} shadow={row.mode === "shadow"} />
                </td>
                <td class="r">{number(row.denied)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}

function DeniedSubjects(props: { of: Overview | null }): JSX.Element {
  const rows = (props.of?.top_subjects ?? []).slice(0, mostRows);
  return (
    <Card title="Most denied subjects">
      {props.of && rows.length === 0 ? (
        <Empty>No one is denied.</Empty>
      ) : (
        <table class="keep">
          <thead>
            <tr>
              <th>Subject</th>
              <th>Rule</th>
              <th class="r">Since</th>
              <th class="r">Denied/s</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.subject + row.rule}>
                <td>
                  <SubjectName subject={row.subject} text={row.text} />
                </td>
                <td>
                  <a href={href("rules", row.rule)}>{row.rule}</a>
                </td>
                <td class="r small">
                  <Span from={row.since} />
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

function NearLimit(props: { of: Overview | null }): JSX.Element {
  // Those that are not denied yet come first: they can still be helped.
  const all = props.of?.near_limit ?? [];
  const rows = [...all.filter((each) => each.share < 1), ...all.filter((each) => each.share >= 1)].slice(0, mostRows);
  return (
    <Card title="Close to their limit">
      {props.of && rows.length === 0 ? (
        <Empty>No one is close to a limit.</Empty>
      ) : (
        <table>
          <tbody>
            {rows.map((row) => (
              <tr key={row.subject + row.rule}>
                <td>
                  <SubjectName subject={row.subject} text={row.text} />
                  <div class="small">{row.rule}</div>
                </td>
                <td class="w-gauge">
                  <Gauge share={row.share} label={`${percent(row.share)} of ${number(row.limit)}, rule ${row.rule}`} />
                </td>
                <td class="r small nowrap" title={row.rule}>
                  {percent(row.share)} of {number(row.limit)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}

function EndsSoon(props: { of: Overview | null }): JSX.Element {
  const rows = (props.of?.ends_soon ?? []).slice(0, mostRows);
  const tones: Record<string, Tone> = { override: "allow", block: "deny", candidate: "shadow" };
  const screens: Record<string, string> = { override: "overrides", block: "blocks", candidate: "rules" };
  return (
    <Card title="Ends soon">
      {props.of && rows.length === 0 ? (
        <Empty>No override, block or candidate ends soon.</Empty>
      ) : (
        <table>
          <tbody>
            {rows.map((row) => (
              <tr key={row.kind + row.id}>
                <td>
                  <Tag tone={tones[row.kind] ?? "grey"}>{row.kind}</Tag>
                </td>
                <td>
                  <a class={row.kind === "block" ? "sub" : ""} href={href(screens[row.kind] ?? "rules")} title={row.reason}>
                    {limitWords(row.text)}
                  </a>
                </td>
                <td class="r small">
                  <Ago at={row.until} none="" />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}

function HotSubjects(props: { of: Overview | null }): JSX.Element | null {
  const rows = (props.of?.hot_subjects ?? []).slice(0, mostRows);
  if (rows.length === 0) return null;
  return (
    <Card title="Hot subjects" class="wide">
      <table class="keep">
        <thead>
          <tr>
            <th>Subject</th>
            <th>Rule</th>
            <th class="r">Requests/s</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.subject + row.rule}>
              <td>
                <SubjectName subject={row.subject} text={row.text ?? null} />
              </td>
              <td>
                <a href={href("rules", row.rule)}>{row.rule}</a>
              </td>
              <td class="r">{number(row.per_second)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}
