// The versions of the rules: who changed them and why. An old one can be looked at, and restored.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError, ask, get, post } from "../api/client";
import { may } from "../api/session";
import type { RuleChange, RulesDocument, RulesVersion } from "../api/types";
import { Ago, Card } from "../ui/basics";
import { ActionForm, closeDialog, Effect, openDialog, Reason } from "../ui/dialog";
import { toast } from "../ui/notes";
import { OneChange } from "./change_diff";

export function VersionList(props: {
  list: RulesVersion[] | null;
  error: ApiError | null;
  current: number;
  edit: (text: string) => void;
  restored: () => void;
}): JSX.Element {
  const load = async (version: number): Promise<void> => {
    const found = await get<RulesVersion>(`/rules/versions/${version}`);
    props.edit(found.text ?? "");
  };
  return (
    <Card title="Versions">
      {props.error && props.error.status !== 0 && <p class="small">{props.error.message}</p>}
      {props.list?.length === 0 && <p class="small">The server keeps a version for each change made here or through the API.</p>}
      <ul class="lines">
        {(props.list ?? []).map((each) => (
          <li key={each.version}>
            <div class="between">
              <span title={`hash ${each.hash}`}>
                <b>v{each.version}</b> <span class="small">{each.version === props.current && "applies"}</span>
              </span>
              <span class="row">
                <button type="button" class="btn s" aria-label={`Open version ${each.version}`} onClick={() => void load(each.version)}>
                  Open
                </button>
                {may("admin") && each.version !== props.current && (
                  <button
                    type="button"
                    class="btn s"
                    aria-label={`Restore version ${each.version}…`}
                    onClick={() => restore(each, props.current, props.restored)}
                  >
                    Restore…
                  </button>
                )}
              </span>
            </div>
            <div class="small">
              {each.reason && `“${each.reason}”, `}
              {each.author && `by ${each.author}, `}
              <Ago at={each.at} />
            </div>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function restore(version: RulesVersion, current: number, done: () => void): void {
  openDialog(() => {
    const [reason, setReason] = useState("");
    const [changes, setChanges] = useState<RuleChange[] | null>(null);
    useEffect(() => {
      ask<{ changes: RuleChange[] }>("/rules/diff", { from: current, to: version.version })
        .then((answer) => setChanges(answer.changes))
        .catch(() => setChanges(null));
    }, []);
    const run = async (): Promise<void> => {
      const next = await post<RulesDocument>(`/rules/versions/${version.version}/restore`, { reason });
      closeDialog();
      toast(`Version ${version.version} applies again, as v${next.version}`);
      done();
    };
    return (
      <ActionForm title={`Restore version ${version.version}`} action="Restore" run={run}>
        <Effect>
          <p>
            Applies for <b>every subject</b> at once, on every node. The present version {current} is kept and can be restored in the same
            way.
          </p>
          {changes?.map((each) => (
            <OneChange key={each.rule} of={each} />
          ))}
        </Effect>
        <Reason value={reason} set={setReason} />
      </ActionForm>
    );
  });
}
