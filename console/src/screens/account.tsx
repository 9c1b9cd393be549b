// One account: burn-down and forecast to the end of its period, its entries, grants and adjustments.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, post, segment } from "../api/client";
import { may } from "../api/session";
import type { AccountDetail } from "../api/types";
import { now } from "../core/clock";
import { number, percent, periodText, words } from "../core/format";
import { usePoll } from "../core/poll";
import { href } from "../core/router";
import { Ago, Card, Empty, Gauge, Tag } from "../ui/basics";
import { BurnDown, Forecast } from "../ui/burn_down";
import { ActionForm, closeDialog, Effect, Input, openDialog, Reason } from "../ui/dialog";
import { Failed, toast } from "../ui/notes";
import { RowAction } from "../ui/records";
import { Until } from "../ui/until";

export function AccountPage(props: { id: string }): JSX.Element {
  const polled = usePoll<AccountDetail>(`account ${props.id}`, (signal) => get(`/accounts/${segment(props.id)}`, {}, signal), 5000);
  const account = polled.data;
  return (
    <>
      <div class="head">
        <div class="row">
          <a href={href("quotas")} class="crumb">
            Quotas /
          </a>
          <h1>{account?.rule ?? "Account"}</h1>
        </div>
        {account && (
          <div class="row">
            {may("admin") && (
              <button type="button" class="btn" onClick={() => changeAccount(account, "adjust", polled.refresh)}>
                Adjust…
              </button>
            )}
            {may("operator") && (
              <button type="button" class="btn p" onClick={() => changeAccount(account, "grant", polled.refresh)}>
                Grant…
              </button>
            )}
          </div>
        )}
      </div>
      <Failed what="The account" error={polled.error} retry={polled.refresh} />
      {account && (
        <div class="live grid k31">
          <div class="grid">
            <Card>
              <BurnDown of={account} />
            </Card>
            <Entries of={account} />
          </div>
          <div class="grid">
            <Balance of={account} />
            <Reservations of={account} done={polled.refresh} />
            <Grants of={account} />
          </div>
        </div>
      )}
    </>
  );
}

function Balance(props: { of: AccountDetail }): JSX.Element {
  const { of } = props;
  const limit = Math.max(1, of.limit + of.granted);
  const facts: [string, number][] = [
    ["Limit", of.limit],
    ["Granted", of.granted],
    ["Used", of.used],
    ["Held by reservations", of.held],
    ["Left", of.available],
    ["Grace", of.grace],
    ["Beyond the limit", of.overage],
    ["Expired", of.expired],
  ];
  return (
    <Card title={of.tenant ? `tenant=${of.tenant}` : of.subject} aside={<span class="small">{percent(of.used / limit)} used</span>}>
      <Gauge share={of.used / limit} held={of.held / limit} />
      <dl class="facts" style={{ marginTop: "12px" }}>
        {facts
          .filter(([name, value]) => value !== 0 || ["Limit", "Used", "Left"].includes(name))
          .map(([name, value]) => (
            <>
              <dt>{name}</dt>
              <dd>{number(value)}</dd>
            </>
          ))}
        <dt>Period</dt>
        <dd>
          {periodText(of.begins_at, of.ends_at, now.value)}, ends <Ago at={of.ends_at} />
        </dd>
        <dt>Used up</dt>
        <dd>
          <Forecast of={of} />
        </dd>
      </dl>
    </Card>
  );
}

function Reservations(props: { of: AccountDetail; done: () => void }): JSX.Element | null {
  const { reservations } = props.of;
  if (reservations.length === 0) return null;
  return (
    <Card title="Open reservations">
      <table>
        <tbody>
          {reservations.map((each) => (
            <tr key={each.id}>
              <td>
                <b>{number(each.units)}</b> <span class="unit">held</span>
                <div class="sub small" title={each.id}>
                  {each.id.slice(0, 12)}
                </div>
              </td>
              <td class="r small">
                expires <Ago at={each.expires_at} />
              </td>
              {may("operator") && (
                <td class="r">
                  <RowAction label="Release…" restricts run={() => releaseReservation(props.of, each, props.done)} />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

function releaseReservation(of: AccountDetail, reservation: AccountDetail["reservations"][number], done: () => void): void {
  openDialog(() => {
    const [reason, setReason] = useState("");
    const run = async (): Promise<void> => {
      await post(`/accounts/${segment(of.id)}/release`, { reservation: reservation.id, reason });
      closeDialog();
      toast("Released");
      done();
    };
    return (
      <ActionForm title="Release the reservation" action="Release" danger run={run}>
        <Effect>
          <p>
            Affects <b>1 subject</b>, <span class="sub">{of.tenant ? `tenant=${of.tenant}` : of.subject}</span>: {number(reservation.units)}{" "}
            held units are available again at once, while the holder may still be working. It would have expired{" "}
            <Ago at={reservation.expires_at} />.
          </p>
          <p>This cannot be undone; what the holder’s work costs has to be reported as usage.</p>
        </Effect>
        <Reason value={reason} set={setReason} />
      </ActionForm>
    );
  });
}

function Grants(props: { of: AccountDetail }): JSX.Element | null {
  const grants = props.of.grants ?? [];
  if (grants.length === 0) return null;
  return (
    <Card title="Grants">
      <table>
        <tbody>
          {grants.map((each) => (
            <tr key={each.id}>
              <td>
                <b>{number(each.left)}</b> <span class="unit">left of {number(each.amount)}</span>
                <div class="small">
                  “{each.reason}”, by {each.actor}, <Ago at={each.created_at} />
                </div>
              </td>
              <td class="r small">{each.expires_at ? <Ago at={each.expires_at} /> : "with the period"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

function Entries(props: { of: AccountDetail }): JSX.Element {
  const { entries } = props.of;
  return (
    <Card title="Entries">
      {entries.length === 0 ? (
        <Empty>No entry in this period.</Empty>
      ) : (
        <table class="keep">
          <thead>
            <tr>
              <th>When</th>
              <th>What</th>
              <th>Reason</th>
              <th class="r">Amount</th>
            </tr>
          </thead>
          <tbody>
            {entries.map((each, i) => (
              <tr key={each.id ?? i}>
                <td class="small">
                  <Ago at={each.at} />
                  <div class="on-phone">{words(each.kind)}</div>
                </td>
                <td>
                  <Tag tone="grey">{words(each.kind)}</Tag>
                </td>
                <td class="small">
                  {each.reason ?? ""} {each.actor && `by ${each.actor}`}
                </td>
                <td class="r">{number(each.amount)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}

function changeAccount(of: AccountDetail, verb: "grant" | "adjust", done: () => void): void {
  openDialog(() => {
    const [amount, setAmount] = useState("");
    const [until, setUntil] = useState("");
    const [reason, setReason] = useState("");
    const run = async (): Promise<void> => {
      const body: Record<string, unknown> = { amount: Number(amount), reason };
      if (verb === "grant" && until) body["expires_at"] = until;
      await post(`/accounts/${segment(of.id)}/${verb}`, body);
      closeDialog();
      toast(verb === "grant" ? "Granted" : "Adjusted");
      done();
    };
    const whose = of.tenant ? `tenant=${of.tenant}` : of.subject;
    return (
      <ActionForm
        title={verb === "grant" ? "Grant more" : "Adjust what is used"}
        action={verb === "grant" ? "Grant" : "Adjust"}
        run={run}
        ready={amount !== "" && Number(amount) !== 0}
      >
        <Effect>
          <p>
            Affects <b>1 subject</b>, <span class="sub">{whose}</span>.{" "}
            {verb === "grant"
              ? "It may use this much more; what is left of it ends as below."
              : "A positive amount counts as used, a negative one gives back."}{" "}
            The entry stays in the account; to undo it, make one with the opposite amount.
          </p>
        </Effect>
        <Input label="Amount" type="number" value={amount} set={setAmount} required />
        {verb === "grant" && <Until value={until} set={setUntil} never="the end of the period" />}
        <Reason value={reason} set={setReason} />
      </ActionForm>
    );
  });
}
