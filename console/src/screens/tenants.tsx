// Tenants: the plan and the settings of each. Their keys are on the same screen's second page.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { put, remove, segment } from "../api/client";
import { may } from "../api/session";
import type { Tenant } from "../api/types";
import { readAttributes, toPairs } from "../core/attributes";
import { href, place, setQuery } from "../core/router";
import { Ago, Card, Empty, Tag } from "../ui/basics";
import { ActionForm, closeDialog, Effect, Field, Input, openDialog, Reason } from "../ui/dialog";
import { Rows, usePages } from "../ui/list";
import { Failed, toast } from "../ui/notes";
import { subjectHref } from "../ui/subject_name";

const example = `curl -X PUT http://127.0.0.1:9090/admin/v1/tenants/acme -d '{"plan":"pro"}'`;

export function TenantTabs(props: { on: "tenants" | "keys" }): JSX.Element {
  return (
    <nav class="seg" aria-label="Tenants and keys">
      <a href={href("tenants")} aria-current={props.on === "tenants" ? "page" : undefined}>
        Tenants
      </a>
      <a href={href("tenants", "keys")} aria-current={props.on === "keys" ? "page" : undefined}>
        Keys
      </a>
    </nav>
  );
}

export function Tenants(): JSX.Element {
  const pages = usePages<Tenant>("/tenants", {}, 10_000);
  const text = place.value.query.get("q") ?? "";
  const items = pages.items.filter((each) => `${each.tenant} ${each.plan ?? ""}`.toLowerCase().includes(text.toLowerCase()));
  return (
    <>
      <div class="head">
        <div class="row">
          <h1>Tenants</h1>
          <TenantTabs on="tenants" />
        </div>
        <div class="row">
          <input
            type="search"
            aria-label="Find a tenant"
            placeholder="Find a tenant"
            value={text}
            onInput={(event) => setQuery({ q: event.currentTarget.value })}
          />
          {may("operator") && (
            <button type="button" class="btn p" onClick={() => editTenant(null, pages.refresh)}>
              New tenant…
            </button>
          )}
        </div>
      </div>
      <Failed what="The tenants" error={pages.error} retry={pages.refresh} />
      <Card class="live">
        <Rows
          pages={pages}
          columns={[
            ["Tenant"],
            ["Plan"],
            ["Time zone"],
            ["Settings"],
            ["Note"],
            ["Changed", "r"],
            ...(may("operator") ? ([["", "r"]] as [string, string][]) : []),
          ]}
          empty={<Empty command={example}>No tenant is registered. A tenant's plan decides which limits its requests have:</Empty>}
        >
          {items.map((each) => (
            <tr key={each.tenant}>
              <td>
                <a class="sub" href={subjectHref({ tenant: each.tenant })}>
                  {each.tenant}
                </a>
              </td>
              <td>{each.plan ? <Tag tone="grey">{each.plan}</Tag> : <span class="small">none</span>}</td>
              <td class="small">{each.zone ?? ""}</td>
              <td class="sub">{toPairs(each.settings).join(" ")}</td>
              <td class="small">{each.note ?? ""}</td>
              <td class="r small">
                <Ago at={each.updated_at} />
              </td>
              {may("operator") && (
                <td class="r nowrap">
                  <button type="button" class="btn s" onClick={() => editTenant(each, pages.refresh)}>
                    Change…
                  </button>{" "}
                  <button type="button" class="btn s x" onClick={() => removeTenant(each, pages.refresh)}>
                    Remove…
                  </button>
                </td>
              )}
            </tr>
          ))}
        </Rows>
      </Card>
    </>
  );
}

function editTenant(old: Tenant | null, then: () => void): void {
  openDialog(() => {
    const [name, setName] = useState(old?.tenant ?? "");
    const [plan, setPlan] = useState(old?.plan ?? "");
    const [zone, setZone] = useState(old?.zone ?? "");
    const [note, setNote] = useState(old?.note ?? "");
    const [settings, setSettings] = useState(toPairs(old?.settings ?? {}).join("\n"));
    const [reason, setReason] = useState("");
    const run = async (): Promise<void> => {
      const body: Record<string, unknown> = { settings: readAttributes(settings) };
      for (const [member, text] of Object.entries({ plan, zone, note, reason })) if (text) body[member] = text;
      await put<Tenant>(`/tenants/${segment(name)}`, body, old?.etag ?? null);
      closeDialog();
      toast(old ? "Tenant changed" : "Tenant registered");
      then();
    };
    return (
      <ActionForm title={old ? `Change ${old.tenant}` : "New tenant"} action="Save" run={run} ready={name !== ""}>
        {!old && <Input label="Tenant" value={name} set={setName} required mono hint="As requests name it in the attribute tenant." />}
        <div class="grid k2">
          <Input label="Plan" value={plan} set={setPlan} placeholder="none" />
          <Input label="Time zone" value={zone} set={setZone} placeholder="as the rules" hint="For calendar periods: Europe/Berlin" />
        </div>
        <Field label="Settings" hint="One name=value per line.">
          <textarea class="mono" rows={3} value={settings} onInput={(event) => setSettings(event.currentTarget.value)} />
        </Field>
        <Input label="Note" value={note} set={setNote} />
        {old && (old.plan ?? "") !== plan && (
          <Effect>
            <p>
              Another plan changes the limits of every subject of <b>{old.tenant}</b> from the next request on. What they have used stays
              counted.
            </p>
          </Effect>
        )}
        <Reason value={reason} set={setReason} />
      </ActionForm>
    );
  });
}

function removeTenant(tenant: Tenant, then: () => void): void {
  openDialog(() => {
    const [reason, setReason] = useState("");
    const run = async (): Promise<void> => {
      await remove(`/tenants/${segment(tenant.tenant)}`, reason, tenant.etag);
      closeDialog();
      toast("Tenant removed");
      then();
    };
    return (
      <ActionForm title={`Remove ${tenant.tenant}`} action="Remove" danger run={run}>
        <Effect>
          <p>
            Affects <b>every subject of 1 tenant</b>: without plan{tenant.plan && ` ${tenant.plan}`} and settings, the limits without a plan
            apply from the next request on.
          </p>
          <p>To undo it, register the tenant again; the audit log keeps what it was.</p>
        </Effect>
        <Reason value={reason} set={setReason} />
      </ActionForm>
    );
  });
}
