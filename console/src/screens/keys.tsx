// Keys: the API keys of tenants. A key is shown once, when it is made; the server keeps only its hash.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { post, remove, segment } from "../api/client";
import { may } from "../api/session";
import type { ApiKey, Attributes } from "../api/types";
import { toPairs } from "../core/attributes";
import { href, place, setQuery } from "../core/router";
import { Ago, Card, Command, Empty, Tag } from "../ui/basics";
import { AttributeInput } from "../ui/attribute_input";
import { ActionForm, closeDialog, Effect, Field, Input, openDialog, Reason } from "../ui/dialog";
import { Rows, usePages } from "../ui/list";
import { Failed, Note, toast } from "../ui/notes";
import { Until } from "../ui/until";
import { TenantTabs } from "./tenants";

const example = `curl http://127.0.0.1:9090/admin/v1/keys -d '{"name":"production","tenant":"acme"}'`;

export function Keys(props: { id: string }): JSX.Element {
  const pages = usePages<ApiKey>("/keys", {}, 10_000);
  const text = place.value.query.get("q") ?? "";
  const items = pages.items.filter((each) => `${each.name} ${each.tenant ?? ""} ${each.prefix}`.toLowerCase().includes(text.toLowerCase()));
  if (props.id !== "keys") {
    return (
      <Note kind="info">
        There is nothing at this address. <a href={href("tenants")}>Go to Tenants</a>
      </Note>
    );
  }
  return (
    <>
      <div class="head">
        <div class="row">
          <h1>Keys</h1>
          <TenantTabs on="keys" />
        </div>
        <div class="row">
          <input
            type="search"
            aria-label="Find a key"
            placeholder="Find a key"
            value={text}
            onInput={(event) => setQuery({ q: event.currentTarget.value })}
          />
          {may("operator") && (
            <button type="button" class="btn p" onClick={() => newKey(pages.refresh)}>
              New key…
            </button>
          )}
        </div>
      </div>
      <Failed what="The keys" error={pages.error} retry={pages.refresh} />
      <Card class="live">
        <Rows
          pages={pages}
          columns={[
            ["Key"],
            ["Tenant"],
            ["Plan"],
            ["Attributes"],
            ["Last used"],
            ["Ends", "r"],
            ...(may("operator") ? ([["", "r"]] as [string, string][]) : []),
          ]}
          empty={<Empty command={example}>No key has been made. A key says which tenant a request is from:</Empty>}
        >
          {items.map((each) => (
            <tr key={each.id}>
              <td>
                <span class="rule">{each.name}</span> <div class="sub small">{each.prefix}…</div>
              </td>
              <td class="sub">{each.tenant ?? ""}</td>
              <td>{each.plan && <Tag tone="grey">{each.plan}</Tag>}</td>
              <td class="sub">{toPairs(each.attributes ?? {}).join(" ")}</td>
              <td class="small">
                <Ago at={each.last_used_at} />
              </td>
              <td class="r small">
                <Ago at={each.expires_at} />
              </td>
              {may("operator") && (
                <td class="r">
                  {each.revoked_at ? (
                    <Tag tone="grey">revoked</Tag>
                  ) : (
                    <button type="button" class="btn s x" onClick={() => revokeKey(each, pages.refresh)}>
                      Revoke…
                    </button>
                  )}
                </td>
              )}
            </tr>
          ))}
        </Rows>
      </Card>
    </>
  );
}

/** Shows a secret, once. */
export function showSecret(title: string, secret: string): void {
  openDialog(() => (
    <>
      <h2 id="dialog-title">{title}</h2>
      <p>Copy it now. It is not shown again, and the server keeps only a hash of it.</p>
      <Command text={secret} />
      <div class="end">
        <button type="button" class="btn p" onClick={closeDialog}>
          Done
        </button>
      </div>
    </>
  ));
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
  openDialog(() => {
    const [reason, setReason] = useState("");
    const run = async (): Promise<void> => {
      await remove(`/keys/${segment(key.id)}`, reason, key.etag);
      closeDialog();
      toast("Key revoked");
      then();
    };
    return (
      <ActionForm title={`Revoke ${key.name}`} action="Revoke" danger run={run}>
        <Effect>
          <p>
            Affects <b>1 key</b>
            {key.tenant && ` of ${key.tenant}`}, last used <Ago at={key.last_used_at} />: requests with it are unknown callers at once.
          </p>
          <p>This cannot be undone; the holder needs a new key.</p>
        </Effect>
        <Reason value={reason} set={setReason} />
      </ActionForm>
    );
  });
}
