// Tenants: the plan and the settings of each. Their keys are on the same screen's second page.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { put, segment } from "../api/client";
import type { Tenant } from "../api/types";
import { readAttributes, toPairs } from "../core/attributes";
import { href } from "../core/router";
import { Ago, Empty, Tag } from "../ui/basics";
import { ActionForm, closeDialog, Effect, Field, Input, openDialog, Reason } from "../ui/dialog";
import { toast } from "../ui/notes";
import { RecordScreen, removeRecord, RowAction } from "../ui/records";
import { subjectHref } from "../ui/subject_name";

const example = `weir tenant set acme --plan pro --admin ${location.origin}`;

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
  return (
    <RecordScreen<Tenant>
      title="Tenants"
      what="The tenants"
      path="/tenants"
      tabs={<TenantTabs on="tenants" />}
      find={{ label: "Find a tenant", text: (each) => `${each.tenant} ${each.plan ?? ""}` }}
      make={{ label: "New tenant…", role: "operator", run: (refresh) => editTenant(null, refresh) }}
      keyOf={(each) => each.tenant}
      columns={[
        {
          title: "Tenant",
          show: (each) => (
            <a class="sub" href={subjectHref({ tenant: each.tenant })}>
              {each.tenant}
            </a>
          ),
        },
        { title: "Plan", show: (each) => (each.plan ? <Tag tone="grey">{each.plan}</Tag> : <span class="small">none</span>) },
        { title: "Time zone", class: "small", show: (each) => each.zone },
        { title: "Settings", class: "sub", show: (each) => toPairs(each.settings).join(" ") },
        { title: "Note", class: "small", show: (each) => each.note },
        { title: "Changed", class: "r small", show: (each) => <Ago at={each.updated_at} /> },
      ]}
      onPhone={(each) => (each.plan ? `plan ${each.plan}` : "no plan")}
      actions={(each, refresh) => (
        <>
          <RowAction label="Change…" run={() => editTenant(each, refresh)} />{" "}
          <RowAction label="Remove…" restricts run={() => removeTenant(each, refresh)} />
        </>
      )}
      empty={<Empty command={example}>No tenant is registered. A tenant's plan decides which limits its requests have:</Empty>}
    />
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
  removeRecord({
    title: `Remove ${tenant.tenant}`,
    action: "Remove",
    done: "Tenant removed",
    path: `/tenants/${segment(tenant.tenant)}`,
    etag: tenant.etag,
    effect: (
      <>
        <p>
          Affects <b>every subject of 1 tenant</b>: without plan{tenant.plan && ` ${tenant.plan}`} and settings, the limits without a plan
          apply from the next request on.
        </p>
        <p>To undo it, register the tenant again; the audit log keeps what it was.</p>
      </>
    ),
    then,
  });
}
