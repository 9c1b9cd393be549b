// Subject: everything about one caller. Which limits apply and how full they are, why requests were denied, and what can
// be done about it.
import type { JSX } from "preact";
import { ask } from "../api/client";
import { has, may } from "../api/session";
import type { Attributes, SubjectState } from "../api/types";
import { fromPairs, toPairs } from "../core/attributes";
import { duration, limitWords, number, percent, words } from "../core/format";
import { usePoll, type Polled } from "../core/poll";
import { href, hrefWith, place, setQuery } from "../core/router";
import { now } from "../core/clock";
import { Ago, Card, Clock, Empty, Gauge, Span, Tag } from "../ui/basics";
import { AttributeInput } from "../ui/attribute_input";
import { Failed, Note } from "../ui/notes";
import { blockSubject, raiseLimit, refundSubject, resetSubject, unblock } from "./subject_actions";
import { HoldCards, OverrideCard, PenaltyCard, QuotaCards } from "./subject_cards";

/** The rest is on the screen Decisions. */
const mostDenials = 8;

/** A server without a capability leaves its members out. */
async function lookUp(attributes: Attributes, signal: AbortSignal): Promise<SubjectState> {
  const none = {
    plan: null,
    tenant: null,
    blocked: null,
    not_matched: [],
    overrides: [],
    penalties: [],
    leases: [],
    reservations: [],
    quotas: [],
    decisions: [],
  };
  return { ...none, ...(await ask<SubjectState>("/subjects/lookup", { attributes }, signal)) };
}

export function SubjectPage(): JSX.Element {
  const attributes = fromPairs(place.value.query.getAll("a"));
  const key = JSON.stringify(attributes);
  const given = Object.keys(attributes).length > 0;
  const polled = usePoll<SubjectState | null>(
    `subject ${key}`,
    (signal) => (given ? lookUp(attributes, signal) : Promise.resolve(null)),
    given ? 2000 : 0,
  );
  return (
    <>
      <div class="head">
        <h1>Subject</h1>
        {given && <Actions polled={polled} />}
      </div>
      <AttributeInput label="Attributes of the subject" value={attributes} set={(value) => setQuery({ a: toPairs(value) }, false)} />
      {!given && (
        <Card title="Look a subject up">
          <Empty command={"tenant=acme api_key=9c41d2"}>
            Type the attributes of a request, as your gateway sends them, or paste a request. You see every rule that applies, how much of
            it is used, and why requests were denied.
          </Empty>
        </Card>
      )}
      <Failed what="The subject" error={polled.error} retry={polled.refresh} />
      {given && <State of={polled.data} refresh={polled.refresh} />}
    </>
  );
}

function Actions(props: { polled: Polled<SubjectState | null> }): JSX.Element | null {
  const of = props.polled.data;
  if (!may("operator")) return null;
  const ready = of !== null;
  const done = props.polled.refresh;
  return (
    <div class="row">
      <button type="button" class="btn" disabled={!ready} onClick={() => of && resetSubject(of, done)}>
        Reset…
      </button>
      {has("POST /refund") && (
        <button type="button" class="btn" disabled={!ready} onClick={() => of && refundSubject(of, done)}>
          Refund…
        </button>
      )}
      {of?.blocked ? (
        <button type="button" class="btn" onClick={() => unblock(of.blocked!.id, done)}>
          Unblock…
        </button>
      ) : (
        <button type="button" class="btn x" disabled={!ready} onClick={() => of && blockSubject(of.attributes, done)}>
          Block…
        </button>
      )}
      <button
        type="button"
        class="btn p"
        disabled={!ready}
        onClick={() =>
          of &&
          raiseLimit(
            of.attributes,
            of.rules.map((each) => each.rule),
            done,
          )
        }
      >
        Raise limit…
      </button>
    </div>
  );
}

function State(props: { of: SubjectState | null; refresh: () => void }): JSX.Element {
  const { of } = props;
  return (
    <div class="live">
      {of?.blocked && (
        <Note kind="bad">
          <b>Blocked.</b> Every request is denied{" "}
          {of.blocked.until && (
            <>
              ; this ends <Ago at={of.blocked.until} />
            </>
          )}
          . Reason: {of.blocked.reason}
        </Note>
      )}
      <div class="grid k31">
        <div class="grid">
          <Limits of={of} />
          <Denials of={of} />
          <NotMatched of={of} />
        </div>
        <div class="grid">
          {of && (
            <>
              <QuotaCards of={of} />
              <OverrideCard of={of} done={props.refresh} />
              <PenaltyCard of={of} />
              <HoldCards of={of} done={props.refresh} />
            </>
          )}
        </div>
      </div>
    </div>
  );
}

function Limits(props: { of: SubjectState | null }): JSX.Element {
  const { of } = props;
  const plan = of?.plan && (
    <span class="small">
      plan <b class="strong">{of.plan}</b>
      {of.tenant && (
        <>
          {" "}
          of tenant <a href={hrefWith(["tenants"], { q: of.tenant.tenant })}>{of.tenant.tenant}</a>
        </>
      )}
    </span>
  );
  return (
    <Card title="Limits that apply" aside={plan || undefined}>
      {of && of.rules.length === 0 ? (
        <Empty>No rule applies to these attributes. Below is why.</Empty>
      ) : (
        <table class="keep">
          <thead>
            <tr>
              <th>Rule</th>
              <th class="w-gauge">Used</th>
              <th class="r">Full again</th>
              <th class="r">Left</th>
            </tr>
          </thead>
          <tbody>
            {(of?.rules ?? []).map((rule) => {
              const share = rule.share ?? (rule.capacity ? (rule.used ?? 0) / rule.capacity : null);
              const leases = of!.leases.filter((each) => each.rule === rule.rule).length;
              return (
                <tr key={`${rule.rule} ${rule.subject}`}>
                  <td>
                    <a class="rule" href={href("rules", rule.rule)}>
                      {rule.rule}
                    </a>{" "}
                    {rule.mode === "shadow" && <Tag tone="shadow">shadow</Tag>}{" "}
                    {rule.allowance !== "default" && <Tag tone={rule.allowance === "plan" ? "grey" : "allow"}>{rule.allowance}</Tag>}
                    <div class="small" title={rule.explanation ?? undefined}>
                      {limitWords(rule.summary) || words(rule.algorithm)}
                    </div>
                    <div class="on-phone">
                      <Gauge share={share} />
                    </div>
                  </td>
                  <td>
                    <Gauge share={share} label={`${percent(share)} used: ${number(rule.used)} of ${number(rule.capacity ?? rule.limit)}`} />
                  </td>
                  <td class="r small">
                    {leases > 0 ? `${leases} ${leases === 1 ? "lease" : "leases"}` : <FullAgain at={rule.reset_at} />}
                  </td>
                  <td class="r">
                    {rule.remaining !== null && rule.remaining <= 0 ? (
                      <Tag tone={rule.mode === "shadow" ? "shadow" : "deny"}>0</Tag>
                    ) : (
                      number(rule.remaining)
                    )}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </Card>
  );
}

function FullAgain(props: { at: string | null }): JSX.Element {
  if (!props.at) return <span class="small">–</span>;
  const away = Date.parse(props.at) - now.value;
  if (away <= 0) return <>now</>;
  return away > 2 * 86_400_000 ? <Ago at={props.at} /> : <Span to={props.at} />;
}

function Denials(props: { of: SubjectState | null }): JSX.Element {
  const rows = (props.of?.decisions ?? []).slice(0, mostDenials);
  const link = props.of && (
    <a class="small" href={hrefWith(["decisions"], { a: toPairs(props.of.attributes) })}>
      All decisions
    </a>
  );
  return (
    <Card title="Why it was denied" aside={link || undefined}>
      {rows.length === 0 ? (
        <Empty>{props.of ? "No denial of this subject is recorded." : ""}</Empty>
      ) : (
        <table class="keep">
          <thead>
            <tr>
              <th>Time</th>
              <th>Request</th>
              <th>Reason</th>
              <th class="r">Retry after</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => {
              const own = row.rules.find((each) => each.rule === row.rule);
              return (
                <tr key={row.id}>
                  <td class="small">
                    <Clock at={row.at} />
                    <div class="on-phone">
                      <Tag tone={row.reason === "limit_exceeded" ? "deny" : "warn"}>{words(row.reason) || "denied"}</Tag> {row.rule}
                    </div>
                  </td>
                  <td class="sub">
                    {[row.method, row.path].filter(Boolean).join(" ") || "check"}
                    {row.cost !== 1 && ` cost ${number(row.cost)}`}
                  </td>
                  <td>
                    <Tag tone={row.reason === "limit_exceeded" ? "deny" : "warn"}>{words(row.reason) || "denied"}</Tag> {row.rule}
                    {own?.remaining !== null && own?.remaining !== undefined && ` had ${number(own.remaining)} left`}
                  </td>
                  <td class="r">{row.retry_after_ms === null || row.retry_after_ms < 0 ? "–" : duration(row.retry_after_ms)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </Card>
  );
}

function NotMatched(props: { of: SubjectState | null }): JSX.Element | null {
  const rows = props.of?.not_matched ?? [];
  if (rows.length === 0) return null;
  return (
    <Card>
      <details>
        <summary>
          <b>Rules that do not apply</b> <span class="small">{rows.length}</span>
        </summary>
        <table style={{ marginTop: "10px" }}>
          <tbody>
            {rows.map((row) => (
              <tr key={row.rule}>
                <td>
                  <a class="rule" href={href("rules", row.rule)}>
                    {row.rule}
                  </a>
                </td>
                <td class="small">{row.why}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </Card>
  );
}
