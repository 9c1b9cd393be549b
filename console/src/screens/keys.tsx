// Keys: the API keys of tenants. A key is shown once, when it is made; the server keeps only its hash.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { post, segment } from "../api/client";
import type { ApiKey, Attributes } from "../api/types";
import { toPairs } from "../core/attributes";
import { href } from "../core/router";
import { Ago, Empty, Tag } from "../ui/basics";
import { AttributeInput } from "../ui/attribute_input";
import { ActionForm, closeDialog, Field, Input, openDialog } from "../ui/dialog";
import { Note } from "../ui/notes";
import { RecordScreen, removeRecord, RowAction, showSecret } from "../ui/records";
import { Until } from "../ui/until";
import { TenantTabs } from "./tenants";

const example = `weir key create production --tenant acme --admin ${location.origin}`;

export function Keys(props: { id: string }): JSX.Element {
  if (props.id !== "keys") {
    return (
      <Note kind="info">
        There is nothing at this address. <a href={href("tenants")}>Go to Tenants</a>
      </Note>
    );
  }
  return (
    <RecordScreen<ApiKey>
      title="Keys"
      what="The keys"
      path="/keys"
      tabs={<TenantTabs on="keys" />}
      find={{ label: "Find a key", text: (each) => `${each.name} ${each.tenant ?? ""} ${each.prefix}` }}
      make={{ label: "New key…", role: "operator", run: newKey }}
      keyOf={(each) => each.id}
      columns={[
        {
          title: "Key",
          show: (each) => (
            <>
              <span class="rule">{each.name}</span> <div class="sub small">{each.prefix}…</div>
            </>
          ),
        },
        { title: "Tenant", class: "sub", show: (each) => each.tenant },
        { title: "Plan", show: (each) => each.plan && <Tag tone="grey">{each.plan}</Tag> },
        { title: "Attributes", class: "sub", show: (each) => toPairs(each.attributes ?? {}).join(" ") },
        { title: "Last used", class: "small", show: (each) => <Ago at={each.last_used_at} /> },
        { title: "Ends", class: "r small", show: (each) => <Ago at={each.expires_at} /> },
      ]}
      onPhone={(each) => (
        <>
          {each.tenant}, used <Ago at={each.last_used_at} />
        </>
      )}
      actions={(each, refresh) =>
        each.revoked_at ? <Tag tone="grey">revoked</Tag> : <RowAction label="Revoke…" restricts run={() => revokeKey(each, refresh)} />
      }
      empty={<Empty command={example}>No key has been made. A key says which tenant a request is from:</Empty>}
    />
  );
}

function newKey(then: () => void): void {
  openDialog(() => {
    const [name, setName] = useState("");
    const [tenant, setTenant] = useState("");
    const [plan, setPlan] = useState("");
    const [attributes, setAttributes] = useState<Attributes>({});
    const [until, setUntil] = useState("");
    const run = async (): Promise<void> => {
      const body: Record<string, unknown> = { name, tenant, attributes };
      if (plan) body["plan"] = plan;
      if (until) body["expires_at"] = until;
      const made = await post<ApiKey & { key: string }>("/keys", body);
      closeDialog();
      then();
      showSecret(`The key ${name}`, made.key);
    };
    return (
      <ActionForm title="New key" action="Make key" run={run} ready={name !== "" && tenant !== ""}>
        <Input label="Name" value={name} set={setName} required hint="What it is for: production, CI." />
        <div class="grid k2">
          <Input label="Tenant" value={tenant} set={setTenant} required mono />
          <Input label="Plan" value={plan} set={setPlan} placeholder="that of the tenant" />
        </div>
        <Field label="Further attributes">
          <AttributeInput label="Further attributes" value={attributes} set={setAttributes} placeholder="team=search" />
        </Field>
        <Until value={until} set={setUntil} never="does not end" />
      </ActionForm>
    );
  });
}

function revokeKey(key: ApiKey, then: () => void): void {
  removeRecord({
    title: `Revoke ${key.name}`,
    action: "Revoke",
    done: "Key revoked",
    path: `/keys/${segment(key.id)}`,
    etag: key.etag,
    effect: (
      <>
        <p>
          Affects <b>1 key</b>
          {key.tenant && ` of ${key.tenant}`}, last used <Ago at={key.last_used_at} />: requests with it are unknown callers at once.
        </p>
        <p>This cannot be undone; the holder needs a new key.</p>
      </>
    ),
    then,
  });
}
