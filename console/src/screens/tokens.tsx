// Tokens: who may use the admin API and this console.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { post, segment, session } from "../api/client";
import type { Role, Token } from "../api/types";
import { Ago, Empty, Tag } from "../ui/basics";
import { ActionForm, closeDialog, Field, Input, openDialog } from "../ui/dialog";
import { Note } from "../ui/notes";
import { RecordScreen, removeRecord, RowAction, showSecret } from "../ui/records";
import { Until } from "../ui/until";

const duties: Record<Role, string> = {
  reader: "sees everything, changes nothing",
  operator: "also overrides, blocks, resets, tenants, keys",
  admin: "also rules, tokens, quotas",
};

export function Tokens(): JSX.Element {
  return (
    <RecordScreen<Token>
      title="Tokens"
      what="The tokens"
      path="/tokens"
      make={{ label: "New token…", role: "admin", run: newToken }}
      keyOf={(each) => each.id}
      note={
        session.value?.open && (
          <Note kind="warn">
            <b>Anyone who can reach this address may do everything.</b> It listens on loopback without a token. With the first token,
            everyone needs one: make one for an admin first.
          </Note>
        )
      }
      columns={[
        { title: "Name", show: (each) => <span class="rule">{each.name}</span> },
        {
          title: "Role",
          show: (each) => (
            <Tag tone="grey" title={duties[each.role]}>
              {each.role}
            </Tag>
          ),
        },
        {
          title: "Made",
          class: "small",
          show: (each) => (
            <>
              <Ago at={each.created_at} />
              {each.actor && `, by ${each.actor}`}
            </>
          ),
        },
        { title: "Last used", class: "small", show: (each) => <Ago at={each.last_used_at} /> },
        { title: "Ends", class: "r small", show: (each) => <Ago at={each.expires_at} /> },
      ]}
      onPhone={(each) => (
        <>
          {each.role}, used <Ago at={each.last_used_at} />
        </>
      )}
      actions={(each, refresh) =>
        each.revoked_at ? <Tag tone="grey">revoked</Tag> : <RowAction label="Revoke…" restricts run={() => revokeToken(each, refresh)} />
      }
      empty={
        <Empty command={`weir token create --name ops-anna --role admin --admin ${location.origin}`}>
          No token has been made here. With the first one everyone has to log in:
        </Empty>
      }
    />
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
  removeRecord({
    title: `Revoke the token of ${token.name}`,
    action: "Revoke",
    done: "Token revoked",
    path: `/tokens/${segment(token.id)}`,
    etag: token.etag,
    effect: (
      <>
        <p>
          Affects <b>1 token</b>, last used <Ago at={token.last_used_at} />. Its calls and its console sessions are refused at once.
        </p>
        <p>This cannot be undone; make a new token instead.</p>
      </>
    ),
    then,
  });
}
