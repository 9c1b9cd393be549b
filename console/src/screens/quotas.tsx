// Quotas: what tenants have used of their periods, and what is held at the moment.
import type { JSX } from "preact";
import { has, may } from "../api/session";
import type { Account, Attributes, Lease, Reservation } from "../api/types";
import { fromPairs, toPairs } from "../core/attributes";
import { number } from "../core/format";
import { href, place, setQuery } from "../core/router";
import { Ago, Card, Empty, Gauge, Segments, Tag } from "../ui/basics";
import { AttributeInput } from "../ui/attribute_input";
import { Forecast } from "../ui/burn_down";
import { HoldParts, holdsOf, ReleaseHold, type HoldKind } from "../ui/holds";
import { Rows, usePages } from "../ui/list";
import { Failed } from "../ui/notes";

type Tab = "accounts" | "reservations" | "leases";
const tabs: [Tab, string][] = [
  ["accounts", "Accounts"],
  ["reservations", "Reservations"],
  ["leases", "Leases"],
];

export function Quotas(): JSX.Element {
  const shown = tabs.filter(([kind]) => has(`GET /${kind}`));
  const tab = (place.value.query.get("tab") ?? shown[0]?.[0] ?? "accounts") as Tab;
  return (
    <>
      <div class="head">
        <h1>Quotas</h1>
        <Segments label="What to show" options={shown} value={tab} choose={(value) => setQuery({ tab: value })} />
      </div>
      {tab === "accounts" ? <Accounts /> : <Holds key={tab} kind={tab} />}
    </>
  );
}

function Accounts(): JSX.Element {
  const { query } = place.value;
  const pages = usePages<Account>("/accounts", { tenant: query.get("tenant"), rule: query.get("rule") }, 5000);
  return (
    <>
      <div class="row gapped">
        <input
          type="search"
          aria-label="Tenant"
          placeholder="tenant"
          value={query.get("tenant") ?? ""}
          onChange={(event) => setQuery({ tenant: event.currentTarget.value })}
        />
        <input
          type="search"
          aria-label="Rule"
          placeholder="rule"
          value={query.get("rule") ?? ""}
          onChange={(event) => setQuery({ rule: event.currentTarget.value })}
        />
      </div>
      <Failed what="The accounts" error={pages.error} retry={pages.refresh} />
      <Card class="live">
        <Rows
          pages={pages}
          columns={[["Account"], ["Used", "w-bar"], ["Left", "r"], ["Used up", "r"], ["Period ends", "r"]]}
          empty={
            <Empty command={"rules:\n  - {id: exports-month, per: [tenant], algorithm: quota, limit: 1000, period: month}"}>
              No account has been used. A rule with a quota opens one per subject and period:
            </Empty>
          }
        >
          {pages.items.map((each) => {
            const limit = Math.max(1, each.limit + each.granted);
            return (
              <tr key={each.id}>
                <td>
                  <a class="rule" href={href("quotas", each.id)}>
                    {each.rule}
                  </a>
                  <div class="sub">{each.tenant ? `tenant=${each.tenant}` : each.subject}</div>
                  <div class="on-phone">
                    <Gauge share={each.used / limit} held={each.held / limit} />
                    <span class="small">
                      {number(each.used)} of {number(limit)}
                    </span>
                  </div>
                </td>
                <td>
                  <Gauge
                    share={each.used / limit}
                    held={each.held / limit}
                    label={`${number(each.used)} used and ${number(each.held)} held of ${number(limit)}`}
                  />
                  <div class="small">
                    {number(each.used)} of {number(limit)}
                    {each.held > 0 && `, ${number(each.held)} held`}
                    {each.overage > 0 && `, ${number(each.overage)} beyond`}
                  </div>
                </td>
                <td class="r">{each.available <= 0 ? <Tag tone="deny">0</Tag> : number(each.available)}</td>
                <td class="r small">
                  <Forecast of={each} />
                </td>
                <td class="r small">
                  <Ago at={each.ends_at} />
                </td>
              </tr>
            );
          })}
        </Rows>
      </Card>
    </>
  );
}

function Holds(props: { kind: HoldKind }): JSX.Element {
  const attributes = fromPairs(place.value.query.getAll("a"));
  const example =
    props.kind === "leases"
      ? `curl http://127.0.0.1:8080/v1/leases -d '{"attributes":{"tenant":"acme"}}'`
      : `curl http://127.0.0.1:8080/v1/reservations -d '{"attributes":{"tenant":"acme"},"amount":100}'`;
  return (
    <>
      <AttributeInput
        label="Whose"
        value={attributes}
        set={(value) => setQuery({ a: toPairs(value) })}
        placeholder={`whose ${props.kind}: tenant=acme`}
      />
      {Object.keys(attributes).length === 0 ? (
        <Card>
          <Empty command={example}>
            {props.kind === "leases" ? "Leases" : "Reservations"} are listed for one subject: name its attributes above. One is taken with:
          </Empty>
        </Card>
      ) : (
        <HoldList kind={props.kind} attributes={attributes} example={example} />
      )}
    </>
  );
}

function HoldList(props: { kind: HoldKind; attributes: Attributes; example: string }): JSX.Element {
  const filter = Object.fromEntries(Object.entries(props.attributes).map(([name, value]) => [`attribute.${name}`, value]));
  const pages = usePages<Lease | Reservation>(`/${props.kind}`, filter, 3000);
  const isLease = props.kind === "leases";
  const empty = (
    <Empty command={props.example}>{isLease ? "No lease is held. One is taken with:" : "No reservation is open. One is made with:"}</Empty>
  );
  const columns: [string, string?][] = [["Held of"], ...(isLease ? [] : ([["Made", "r small"]] as [string, string][])), ["Expires", "r small"]];
  return (
    <>
      <Failed what={isLease ? "The leases" : "The reservations"} error={pages.error} retry={pages.refresh} />
      <Card class="live">
        <Rows pages={pages} columns={may("operator") ? [...columns, ["", "r"]] : columns} empty={empty}>
          {holdsOf(pages.items).map((each) => (
            <tr key={each.key}>
              <td>
                <HoldParts of={each} />
                <div class="on-phone small">
                  expires <Ago at={each.expires_at} />
                </div>
              </td>
              {!isLease && (
                <td class="r small">
                  <Ago at={each.reserved_at} />
                </td>
              )}
              <td class="r small">
                <Ago at={each.expires_at} />
              </td>
              {may("operator") && (
                <td class="r">
                  <ReleaseHold of={each} kind={props.kind} then={pages.refresh} />
                </td>
              )}
            </tr>
          ))}
        </Rows>
      </Card>
      {!isLease && (
        <p class="small below">
          Reservations that hold only quota are listed with their <a href={href("quotas")}>account</a>.
        </p>
      )}
    </>
  );
}
