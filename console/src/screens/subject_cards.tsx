// The right column of Subject: quotas, overrides, penalties, leases and reservations.
import type { JSX } from "preact";
import { get, segment } from "../api/client";
import { may } from "../api/session";
import type { AccountDetail, Lease, Override, Reservation, SubjectQuota, SubjectState } from "../api/types";
import { count, durationMs, limitText, number, percent } from "../core/format";
import { usePoll } from "../core/poll";
import { href } from "../core/router";
import { Ago, Card, Gauge, Tag } from "../ui/basics";
import { BurnDown } from "../ui/burn_down";
import { removeRecord } from "../ui/records";
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
  const { leases, reservations } = props.of;
  return (
    <>
      {leases.length > 0 && (
        <Card title="Leases">
          <table>
            <tbody>
              {leases.map((each) => (
                <HoldRow key={holdName(each)} hold={each} kind="leases" done={props.done} />
              ))}
            </tbody>
          </table>
        </Card>
      )}
      {reservations.length > 0 && (
        <Card title="Reservations">
          <table>
            <tbody>
              {reservations.map((each) => (
                <HoldRow key={holdName(each)} hold={each} kind="reservations" done={props.done} />
              ))}
            </tbody>
          </table>
        </Card>
      )}
    </>
  );
}

function HoldRow(props: { hold: Lease | Reservation; kind: "leases" | "reservations"; done: () => void }): JSX.Element {
  const { hold } = props;
  const name = holdName(hold);
  return (
    <tr>
      <td class="sub nowrap" title={name}>
        {name.length > 12 ? `${name.slice(0, 11)}…` : name}
        {hold.units !== 1 && <span class="small"> {count(hold.units, "unit")}</span>}
      </td>
      <td class="r small">
        expires <Ago at={hold.expires_at} />
      </td>
      {may("operator") && hold.handle && (
        <td class="r">
          <button type="button" class="btn s x" onClick={() => releaseHold(hold, props.kind, props.done)}>
            Release…
          </button>
        </td>
      )}
    </tr>
  );
}

export const holdName = (hold: Lease | Reservation): string => hold.handle ?? ("id" in hold ? hold.id : undefined) ?? "";

/** Takes a lease or a reservation away from its holder. */
export function releaseHold(hold: Lease | Reservation, kind: "leases" | "reservations", then: () => void): void {
  removeRecord({
    title: kind === "leases" ? "Release the lease" : "Release the reservation",
    action: "Release",
    done: "Released",
    path: `/${kind}/${segment(holdName(hold))}`,
    etag: null,
    effect: (
      <>
        <p>
          Affects <b>1 subject</b>: {count(hold.units, "unit")} can be taken by others at once, while the holder may still be working. It
          would have expired <Ago at={hold.expires_at} />.
        </p>
        <p>This cannot be undone; the holder has to ask again.</p>
      </>
    ),
    then,
  });
}
