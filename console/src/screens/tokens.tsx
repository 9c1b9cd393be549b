// Tokens: who may use the admin API and this console.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { post, remove, segment, session } from "../api/client";
import { may } from "../api/session";
import type { Role, Token } from "../api/types";
import { Ago, Card, Empty, Tag } from "../ui/basics";
import { ActionForm, closeDialog, Effect, Field, Input, openDialog, Reason } from "../ui/dialog";
import { Rows, usePages } from "../ui/list";
import { Failed, Note, toast } from "../ui/notes";
import { Until } from "../ui/until";
import { showSecret } from "./keys";

const duties: Record<Role, string> = {
  reader: "sees everything, changes nothing",
  operator: "also overrides, blocks, resets, tenants, keys",
  admin: "also rules, tokens, quotas",
};

export function Tokens(): JSX.Element {
  const pages = usePages<Token>("/tokens", {}, 10_000);
  return (
    <>
      <div class="head">
        <h1>Tokens</h1>
        {may("admin") && (
          <button type="button" class="btn p" onClick={() => newToken(pages.refresh)}>
            New token…
          </button>
        )}
      </div>
      {session.value?.open && (
        <Note kind="warn">
          <b>Anyone who can reach this address may do everything.</b> It listens on loopback without a token. With the first token, everyone
          needs one: make one for an admin first.
        </Note>
      )}
      <Failed what="The tokens" error={pages.error} retry={pages.refresh} />
      <Card class="live">
        <Rows
          pages={pages}
          columns={[
            ["Name"],
            ["Role"],
            ["Made"],
            ["Last used"],
            ["Ends", "r"],
            ...(may("admin") ? ([["", "r"]] as [string, string][]) : []),
          ]}
          empty={
            <Empty command={`curl http://127.0.0.1:9090/admin/v1/tokens -d '{"name":"ops-anna","role":"admin"}'`}>
              No token has been made here.
            </Empty>
          }
        >
          {pages.items.map((each) => (
            <tr key={each.id}>
              <td class="rule">{each.name}</td>
              <td>
                <Tag tone="grey" title={duties[each.role]}>
                  {each.role}
                </Tag>
              </td>
              <td class="small">
                <Ago at={each.created_at} />
                {each.actor && `, by ${each.actor}`}
              </td>
              <td class="small">
                <Ago at={each.last_used_at} />
              </td>
              <td class="r small">
                <Ago at={each.expires_at} />
              </td>
              {may("admin") && (
                <td class="r">
                  {each.revoked_at ? (
                    <Tag tone="grey">revoked</Tag>
                  ) : (
                    <button type="button" class="btn s x" onClick={() => revokeToken(each, pages.refresh)}>
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

function newToken(then: () => void): void {
  openDialog(() => {
    const [name, setName] = useState("");
    const [role, setRole] = useState<Role>("reader");
    const [until, setUntil] = useState("30d");
    const run = async (): Promise<void> => {
      const made = await post<Token & { token: string }>("/tokens", { name, role, ...(until ? { expires_at: until } : {}) });
      closeDialog();
      then();
      showSecret(`The token of ${name}`, made.token);
    };
    return (
      <ActionForm title="New token" action="Make token" run={run} ready={name !== ""}>
        <Input label="Name" value={name} set={setName} required hint="Who uses it. It is what the audit log shows." />
        <Field label="Role" hint={`A ${role} ${duties[role]}.`}>
          <select value={role} onChange={(event) => setRole(event.currentTarget.value as Role)}>
            <option value="reader">reader</option>
            <option value="operator">operator</option>
            <option value="admin">admin</option>
          </select>
        </Field>
        <Until value={until} set={setUntil} never="does not end" />
      </ActionForm>
    );
  });
}

function revokeToken(token: Token, then: () => void): void {
  openDialog(() => {
    const [reason, setReason] = useState("");
    const run = async (): Promise<void> => {
      await remove(`/tokens/${segment(token.id)}`, reason, token.etag);
      closeDialog();
      toast("Token revoked");
      then();
    };
    return (
      <ActionForm title={`Revoke the token of ${token.name}`} action="Revoke" danger run={run}>
        <Effect>
          <p>
            Affects <b>1 token</b>, last used <Ago at={token.last_used_at} />. Its calls and its console sessions are refused at once.
          </p>
          <p>This cannot be undone; make a new token instead.</p>
        </Effect>
        <Reason value={reason} set={setReason} />
      </ActionForm>
    );
  });
}
