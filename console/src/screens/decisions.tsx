// Decisions: a live tail. Filters are in the address, rows expand to the state of every rule.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get, url, type Query } from "../api/client";
import type { Decision, List } from "../api/types";
import { fromPairs, toPairs } from "../core/attributes";
import { count, duration, number, versionName, words } from "../core/format";
import { usePoll } from "../core/poll";
import { href, place, setQuery } from "../core/router";
import { Card, Clock, CopyText, Empty, Segments, Tag } from "../ui/basics";
import { AttributeInput } from "../ui/attribute_input";
import { Failed, Note } from "../ui/notes";
import { subjectHref } from "../ui/subject_name";

const mostRows = 500;
const redrawMs = 250;

type Outcome = "" | "denied" | "shadow" | "allowed";
const outcomes: [Outcome, string][] = [
  ["", "All"],
  ["denied", "Denied"],
  ["shadow", "Would be denied"],
  ["allowed", "Allowed"],
];

function filters(): Query {
  const { query } = place.value;
  const wanted: Query = { rule: query.get("rule"), reason: query.get("reason"), outcome: query.get("outcome") };
  for (const [name, value] of Object.entries(fromPairs(query.getAll("a")))) wanted[`attribute.${name}`] = value;
  return wanted;
}

export function Decisions(): JSX.Element {
  const wanted = filters();
  const key = JSON.stringify(wanted);
  const [paused, pause] = useState(false);
  const first = usePoll<List<Decision>>(`decisions ${key}`, (signal) => get("/decisions", { ...wanted, limit: 100 }, signal), 0);
  const live = useLive(key, url("/decisions/stream", wanted), paused);
  const seen = new Set(live.rows.map((each) => each.id));
  const rows = [...live.rows, ...(first.data?.items ?? []).filter((each) => !seen.has(each.id))].slice(0, mostRows);
  return (
    <>
      <div class="head">
        <h1>Decisions</h1>
        <div class="row">
          <span class="small" role="status">
            {paused ? `Paused, ${number(live.waiting)} new` : live.open ? "Live" : "Connecting"}
          </span>
          <button type="button" class="btn" aria-pressed={paused ? "true" : "false"} onClick={() => pause(!paused)}>
            {paused ? "Continue" : "Pause"}
          </button>
        </div>
      </div>
      <Filters />
      <Failed what="Decisions" error={first.error instanceof ApiError ? first.error : null} retry={first.refresh} />
      {live.dropped > 0 && (
        <Note kind="warn">
          {count(live.dropped, "decision")} came faster than this page could show and were left out. Filters make it fewer.
        </Note>
      )}
      <Card class="live">
        {first.data && rows.length === 0 ? (
          <Empty command={'curl http://127.0.0.1:8080/v1/check -d \'{"attributes":{"tenant":"acme","api_key":"demo"}}\''}>
            No recorded decision fits. Denials are always recorded, allowed requests as a sample. Ask for one:
          </Empty>
        ) : (
          <Table rows={rows} />
        )}
      </Card>
    </>
  );
}

function Filters(): JSX.Element {
  const { query } = place.value;
  const attributes = fromPairs(query.getAll("a"));
  return (
    <div class="filters">
      <AttributeInput
        label="Filter by attributes"
        value={attributes}
        set={(value) => setQuery({ a: toPairs(value) })}
        placeholder="filter by attributes: tenant=acme"
      />
      <input
        type="search"
        aria-label="Rule"
        placeholder="rule"
        value={query.get("rule") ?? ""}
        onChange={(event) => setQuery({ rule: event.currentTarget.value })}
      />
      <input
        type="search"
        aria-label="Reason"
        placeholder="reason"
        size={14}
        value={query.get("reason") ?? ""}
        onChange={(event) => setQuery({ reason: event.currentTarget.value })}
      />
      <Segments
        label="Outcome"
        options={outcomes}
        value={(query.get("outcome") ?? "") as Outcome}
        choose={(outcome) => setQuery({ outcome })}
      />
    </div>
  );
}

interface Live {
  rows: Decision[];
  waiting: number;
  dropped: number;
  open: boolean;
}

/** What the stream brings, newest first; drawn four times a second at most. While paused it waits. */
function useLive(key: string, address: string, paused: boolean): Live {
  const [live, setLive] = useState<Live>({ rows: [], waiting: 0, dropped: 0, open: false });
  const buffer = useRef<Decision[]>([]);
  const dropped = useRef(0);
  const open = useRef(false);
  const stopped = useRef(paused);
  stopped.current = paused;
  useEffect(() => {
    buffer.current = [];
    dropped.current = 0;
    setLive({ rows: [], waiting: 0, dropped: 0, open: false });
    let source: EventSource | null = null;
    let again = 0;
    const connect = (): void => {
      source = new EventSource(address);
      source.onopen = () => (open.current = true);
      source.onerror = () => {
        open.current = false;
        // The browser tries again by itself, unless the server refused.
        if (source?.readyState === EventSource.CLOSED) again = window.setTimeout(connect, 3000);
      };
      source.addEventListener("decision", (event) => {
        buffer.current.unshift(JSON.parse((event as MessageEvent<string>).data) as Decision);
        if (buffer.current.length > mostRows) buffer.current.length = mostRows;
      });
      source.addEventListener("dropped", (event) => {
        dropped.current += (JSON.parse((event as MessageEvent<string>).data) as { n: number }).n;
      });
    };
    connect();
    const timer = window.setInterval(() => {
      setLive((before) => {
        const waiting = stopped.current ? buffer.current.length : 0;
        const fresh = stopped.current ? [] : buffer.current;
        if (fresh.length === 0 && waiting === before.waiting && open.current === before.open && dropped.current === before.dropped)
          return before;
        if (!stopped.current) buffer.current = [];
        return {
          rows: fresh.length > 0 ? [...fresh, ...before.rows].slice(0, mostRows) : before.rows,
          waiting,
          dropped: dropped.current,
          open: open.current,
        };
      });
    }, redrawMs);
    return () => {
      clearInterval(timer);
      clearTimeout(again);
      source?.close();
      open.current = false;
    };
  }, [key]);
  return live;
}

function Table(props: { rows: Decision[] }): JSX.Element {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const toggle = (id: string): void => {
    const next = new Set(opened);
    if (!next.delete(id)) next.add(id);
    setOpened(next);
  };
  return (
    <table class="keep">
      <thead>
        <tr>
          <th>Time</th>
          <th>Subject</th>
          <th>Request</th>
          <th>Rule</th>
          <th class="r">Retry after</th>
          <th>Outcome</th>
        </tr>
      </thead>
      <tbody>
        {props.rows.map((row) => (
          <>
            <tr key={row.id} class={opened.has(row.id) ? "open" : ""}>
              <td class="small">
                <button
                  type="button"
                  class="expand"
                  aria-expanded={opened.has(row.id) ? "true" : "false"}
                  aria-label={`Details of the decision at ${row.at}`}
                  onClick={() => toggle(row.id)}
                >
                  <Clock at={row.at} />
                </button>
                <div class="on-phone">
                  {whoText(row)} {row.rule}
                </div>
              </td>
              <td class="sub">{whoText(row)}</td>
              <td class="sub">{requestText(row)}</td>
              <td>
                {row.rule && (
                  <a class="nowrap" href={href("rules", row.rule)}>
                    {row.rule}
                  </a>
                )}
              </td>
              <td class="r small">
                {row.allowed || row.retry_after_ms === null || row.retry_after_ms < 0 ? "" : duration(row.retry_after_ms)}
              </td>
              <td>
                <OutcomeTag of={row} />
              </td>
            </tr>
            {opened.has(row.id) && (
              <tr class="more">
                <td colSpan={6}>
                  <Details of={row} />
                </td>
              </tr>
            )}
          </>
        ))}
      </tbody>
    </table>
  );
}

/** Who asked; the request is in a column of its own. */
function whoText(of: Decision): string {
  if (!of.attributes) return of.tenant ?? of.rules[0]?.subject?.slice(0, 12) ?? "";
  const { method: _, path: __, action: ___, ...who } = of.attributes;
  return toPairs(who).slice(0, 3).join(" ");
}

function requestText(of: Decision): string {
  const request = [of.method, of.path].filter(Boolean).join(" ") || of.action || "";
  return of.cost === 1 ? request : `${request} cost ${number(of.cost)}`.trim();
}

function OutcomeTag(props: { of: Decision }): JSX.Element {
  const { of } = props;
  const shadow = of.allowed && of.rules.some((each) => !each.allowed && each.mode === "shadow");
  return (
    <span class="row">
      {!of.allowed && <Tag tone="deny">{words(of.reason) || "denied"}</Tag>}
      {shadow && <Tag tone="shadow">would be denied</Tag>}
      {of.allowed && !shadow && <Tag tone="allow">allowed</Tag>}
      {of.degraded && <Tag tone="warn">fallback</Tag>}
    </span>
  );
}

/** The server has recorded a hash instead of the value. */
const isHash = (value: string): boolean => value.startsWith("#");

function Details(props: { of: Decision }): JSX.Element {
  const { of } = props;
  return (
    <div class="stack">
      <table>
        <thead>
          <tr>
            <th>Rule</th>
            <th>Outcome</th>
            <th class="r">Cost</th>
            <th class="r">Left</th>
            <th class="r">Retry after</th>
            <th class="r">Full again</th>
          </tr>
        </thead>
        <tbody>
          {of.rules.map((rule) => (
            <tr key={rule.rule + rule.subject}>
              <td>
                <a href={href("rules", rule.rule)}>{rule.rule}</a>
              </td>
              <td>
                {rule.allowed ? (
                  <Tag tone="allow">allowed</Tag>
                ) : rule.mode === "shadow" ? (
                  <Tag tone="shadow">would be denied</Tag>
                ) : (
                  <Tag tone="deny">denied</Tag>
                )}
              </td>
              <td class="r">{number(rule.cost)}</td>
              <td class="r">
                {number(rule.remaining)} <span class="unit">of {number(rule.limit)}</span>
              </td>
              <td class="r">{rule.retry_after_ms && rule.retry_after_ms > 0 ? duration(rule.retry_after_ms) : "–"}</td>
              <td class="r">{rule.reset_after_ms && rule.reset_after_ms > 0 ? duration(rule.reset_after_ms) : "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <dl class="facts">
        {Object.entries(of.attributes ?? {}).map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd class="sub">{value}</dd>
          </>
        ))}
        <dt>Node</dt>
        <dd>
          {of.node}, decided by {words(of.source)}
        </dd>
        <dt>Rules</dt>
        <dd title={`hash ${of.rules_hash}`}>{versionName({ version: of.rules_version, hash: of.rules_hash })}</dd>
        {of.trace_id && (
          <>
            <dt>Trace</dt>
            <dd class="sub">{of.trace_id}</dd>
          </>
        )}
      </dl>
      <div class="row">
        {of.attributes && !Object.values(of.attributes).some(isHash) && (
          <a class="btn s" href={subjectHref(of.attributes)}>
            Show the subject
          </a>
        )}
        <CopyText text={JSON.stringify(of, null, 2)} label="Copy as JSON" />
      </div>
    </div>
  );
}
