// The right column of Subject: quotas, overrides, penalties, leases and reservations.
import type { JSX } from "preact";
import { get, segment } from "../api/client";
import { may } from "../api/session";
import type { AccountDetail, Override, SubjectQuota, SubjectState } from "../api/types";
import { durationMs, limitText, number, percent } from "../core/format";
import { usePoll } from "../core/poll";
import { href } from "../core/router";
import { Ago, Card, Gauge, Tag } from "../ui/basics";
import { BurnDown } from "../ui/burn_down";
import { HoldParts, holdsOf, ReleaseHold, type Hold, type HoldKind } from "../ui/holds";
import { endOverride } from "./subject_actions";

export function QuotaCards(props: { of: SubjectState }): JSX.Element {
  return (
    <>
      {props.of.quotas.map((quota) => (
        <QuotaCard key={quota.rule} quota={quota} />
      ))}
    </>
  );
}

function QuotaCard(props: { quota: SubjectQuota }): JSX.Element {
  const { quota } = props;
  const account = usePoll<AccountDetail | null>(
    `account ${quota.account ?? ""}`,
    (signal) => (quota.account ? get(`/accounts/${segment(quota.account)}`, {}, signal) : Promise.resolve(null)),
    quota.account ? 30_000 : 0,
  );
  if (account.data) {
    return (
      <Card>
        <BurnDown of={account.data} height={150} title={<a href={href("quotas", account.data.id)}>{quota.rule}</a>} />
      </Card>
    );
  }
  const limit = Math.max(1, quota.limit);
  return (
    <Card title={quota.rule} aside={<span class="small">{percent(quota.used / limit)}</span>}>
      <Gauge
        share={quota.used / limit}
        held={quota.held / limit}
        label={`${number(quota.used)} used, ${number(quota.held)} held, of ${number(quota.limit)}`}
      />
      <p class="small" style={{ margin: "8px 0 0" }}>
        {number(quota.used)} used{quota.held > 0 && `, ${number(quota.held)} held`}, {number(quota.available)} left.
        {quota.resets_at && (
          <>
            {" "}
            New period <Ago at={quota.resets_at} />.
          </>
        )}
      </p>
    </Card>
  );
}

export function allowanceText(override: Override): string {
  if (override.unlimited) return "no limit";
  if (override.limit !== undefined) return limitText(override.limit, durationMs(override.window));
  return override.mode ?? "changed";
}

export function OverrideCard(props: { of: SubjectState; done: () => void }): JSX.Element {
  const { overrides } = props.of;
  return (
    <Card title="Overrides">
      {overrides.length === 0 && <p class="small">None. The limits of the rules and the plan apply.</p>}
      {overrides.map((each) => (
        <div key={each.id} style={{ marginBottom: "8px" }}>
          <div class="between">
            <span>
              <Tag tone="allow">{allowanceText(each)}</Tag>{" "}
              <span class="small">
                {each.rules.includes("*") ? "every rule" : each.rules.join(", ")}
                {each.until && (
                  <>
                    , ends <Ago at={each.until} />
                  </>
                )}
              </span>
            </span>
          </div>
          <div class="between small" style={{ marginTop: "4px" }}>
            <span>
              “{each.reason}”, {each.source === "file" ? "in the rules" : `by ${each.actor}, `}
              {each.created_at && <Ago at={each.created_at} />}
            </span>
            {may("operator") && each.source === "api" && (
              <button type="button" class="btn s x" onClick={() => endOverride(each, props.done)}>
                End…
              </button>
            )}
          </div>
        </div>
      ))}
    </Card>
  );
}

export function PenaltyCard(props: { of: SubjectState }): JSX.Element | null {
  const { penalties } = props.of;
  if (penalties.length === 0) return null;
  return (
    <Card title="Penalties">
      <table>
        <tbody>
          {penalties.map((each, i) => (
            <tr key={i}>
              <td>
                <Tag tone="warn">{each.challenge ? "challenge" : "refused"}</Tag>{" "}
                <a class="rule" href={href("rules", each.rule)}>
                  {each.rule}
                </a>
              </td>
              <td class="r small">
                {each.until && (
                  <>
                    ends <Ago at={each.until} />
                  </>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

export function HoldCards(props: { of: SubjectState; done: () => void }): JSX.Element {
  const { rules } = props.of;
  const leases = holdsOf(props.of.leases);
  // Of a rule that counts everyone together, others hold something too.
  const common = new Set(rules.filter((each) => Object.keys(each.per ?? {}).length === 0).map((each) => each.rule));
  const reservations = holdsOf(props.of.reservations).filter((each) => each.parts.some((part) => !common.has(part.rule)));
  return (
    <>
      {leases.length > 0 && <HoldCard title="Leases" kind="leases" holds={leases} done={props.done} />}
      {reservations.length > 0 && <HoldCard title="Reservations" kind="reservations" holds={reservations} done={props.done} />}
    </>
  );
}

function HoldCard(props: { title: string; kind: HoldKind; holds: Hold[]; done: () => void }): JSX.Element {
  return (
    <Card title={props.title}>
      <table>
        <tbody>
          {props.holds.map((each) => (
            <tr key={each.key}>
              <td>
                <HoldParts of={each} />
                <div class="small">
                  expires <Ago at={each.expires_at} />
                </div>
              </td>
              {may("operator") && (
                <td class="r">
                  <ReleaseHold of={each} kind={props.kind} then={props.done} />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}
