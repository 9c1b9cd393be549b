// Change: edit the rules, see line by line what is wrong, what would change, and what it would have done to the recorded
// requests; then apply it.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError, ask, get, put } from "../api/client";
import { has, may } from "../api/session";
import type { List, RulesCheck, RulesDocument, RulesVersion, TextError } from "../api/types";
import { count, relative, versionName } from "../core/format";
import { now } from "../core/clock";
import { usePoll } from "../core/poll";
import { place } from "../core/router";
import { Card, Command, Pill } from "../ui/basics";
import { ActionForm, closeDialog, Effect, openDialog, Reason } from "../ui/dialog";
import { Editor } from "../ui/editor";
import { Failed, Note, toast } from "../ui/notes";
import { Differences, useDifferences } from "./change_diff";
import { SimulationCard } from "./change_simulate";
import { VersionList } from "./change_versions";

const checkAfterMs = 400;

export function Change(): JSX.Element {
  const current = usePoll<RulesDocument>("rules text", (signal) => get("/rules", {}, signal), 15_000);
  const versions = usePoll<List<RulesVersion>>("rule versions", (signal) => get("/rules/versions", { limit: 20 }, signal), 0);
  const [draft, setDraft] = useState<string | null>(null);
  const document = current.data;
  const text = draft ?? document?.text ?? "";
  const changed = draft !== null && document !== null && draft !== document.text;
  const check = useCheck(text, changed);
  const differences = useDifferences(text, changed && check.errors.length === 0);
  const [show, setShow] = useState<{ line: number; again: number }>({ line: 0, again: 0 });
  const goTo = (line: number): void => setShow({ line, again: show.again + 1 });
  useFindRule(document?.text, goTo);
  const fromFile = document !== null && document.source !== "database";
  return (
    <>
      <div class="head">
        <h1>Change</h1>
        <div class="row">
          {changed && (
            <button type="button" class="btn" onClick={() => setDraft(null)}>
              Discard draft
            </button>
          )}
          {may("admin") && has("PUT /rules") && (
            <button
              type="button"
              class="btn p"
              disabled={!changed || fromFile || check.errors.length > 0 || check.busy}
              onClick={() =>
                document &&
                apply(document, text, differences.count, () => {
                  setDraft(null);
                  current.refresh();
                  versions.refresh();
                })
              }
            >
              Apply…
            </button>
          )}
        </div>
      </div>
      <Failed what="The rules" error={current.error} retry={current.refresh} />
      {document && <Origin of={document} fromFile={fromFile} />}
      <div class="grid k31">
        <div class="grid">
          <Card title="Rules" aside={<CheckState errors={check.errors} changed={changed} busy={check.busy} rules={check.rules} />}>
            <Editor label="Text of the rules" text={text} set={setDraft} errors={check.errors} readOnly={document === null} show={show} />
          </Card>
        </div>
        <div class="grid">
          {check.errors.length > 0 && <Errors list={check.errors} goTo={goTo} />}
          {check.warnings.length > 0 && (
            <Card title="Warnings">
              <ul class="errors mild">
                {check.warnings.map((each, i) => (
                  <Finding key={i} of={each} goTo={goTo} />
                ))}
              </ul>
            </Card>
          )}
          <Differences of={differences} changed={changed} active={document?.text ?? ""} draft={text} edit={setDraft} />
          {has("POST /rules/simulate") && <SimulationCard text={text} ready={document !== null && check.errors.length === 0} />}
          <VersionList
            list={versions.data?.items ?? null}
            error={versions.error}
            current={document?.version ?? 0}
            edit={setDraft}
            restored={() => {
              setDraft(null);
              current.refresh();
              versions.refresh();
            }}
          />
        </div>
      </div>
    </>
  );
}

function Origin(props: { of: RulesDocument; fromFile: boolean }): JSX.Element {
  const { of } = props;
  const where =
    of.source === "file" ? (
      <>from the file {of.path && <code>{of.path}</code>}</>
    ) : of.source === "built-in" ? (
      "the built-in quickstart rules"
    ) : (
      "kept in the database"
    );
  return (
    <>
      <div class="strip">
        <Pill label="Rules" health={of.error ? "warn" : "good"}>
          {versionName(of)}, {relative(Date.parse(of.loaded_at), now.value)}
        </Pill>
        <span class="pill">{where}</span>
        {of.author && (
          <span class="pill">
            by <b>{of.author}</b> {of.reason && `“${of.reason}”`}
          </span>
        )}
      </div>
      {of.error && (
        <Note kind="warn">
          <b>The last change was invalid; the rules before it still apply.</b> {of.error}
        </Note>
      )}
      {props.fromFile && (
        <div class="note info">
          <div style={{ flex: 1 }}>
            These rules are {where}. Here they can be tried: checked, compared and simulated. To change them, edit the file; it is loaded
            when it is saved. To change them here, start the server with rules in the database:
            <Command text="weir serve --rules database" />
          </div>
        </div>
      )}
    </>
  );
}

function CheckState(props: { errors: TextError[]; changed: boolean; busy: boolean; rules: number | null }): JSX.Element {
  if (!props.changed) return <span class="small">unchanged</span>;
  if (props.busy) return <span class="small">checking</span>;
  if (props.errors.length > 0) return <span class="small strong">{count(props.errors.length, "error")}</span>;
  return <span class="small">valid{props.rules !== null && `, ${count(props.rules, "rule")}`}</span>;
}

interface Check {
  errors: TextError[];
  warnings: TextError[];
  rules: number | null;
  busy: boolean;
}

/** What the server says about a text, a moment after the last key. */
function useCheck(text: string, changed: boolean): Check {
  const [check, setCheck] = useState<Check>({ errors: [], warnings: [], rules: null, busy: false });
  useEffect(() => {
    if (!changed) {
      setCheck({ errors: [], warnings: [], rules: null, busy: false });
      return;
    }
    const stop = new AbortController();
    setCheck((before) => ({ ...before, busy: true }));
    const timer = setTimeout(() => {
      ask<RulesCheck>("/rules/validate", { text }, stop.signal)
        .then((answer) => setCheck({ errors: answer.errors, warnings: answer.warnings.map(readWarning), rules: answer.rules, busy: false }))
        .catch((error: unknown) => {
          if (stop.signal.aborted) return;
          const known = error instanceof ApiError ? error : null;
          const errors = known?.errors.length
            ? known.errors
            : [{ line: 0, column: 0, message: `could not be checked: ${known?.message ?? String(error)}` }];
          setCheck({ errors, warnings: [], rules: null, busy: false });
        });
    }, checkAfterMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text, changed]);
  return check;
}

/** "rules:30:32: rules[6].per: is empty" names a line and a field. */
function readWarning(warning: string | TextError): TextError {
  if (typeof warning !== "string") return warning;
  const found = /^[^:]*:(\d+):(\d+): (?:rules\[\d+\]\.?)?([\w.[\]]*): (.*)$/s.exec(warning);
  if (!found) return { line: 0, column: 0, message: warning };
  return { line: Number(found[1]), column: Number(found[2]), field: found[3] ?? "", message: found[4] ?? "" };
}

function Errors(props: { list: TextError[]; goTo: (line: number) => void }): JSX.Element {
  return (
    <Card title={count(props.list.length, "error")}>
      <ul class="errors" role="alert">
        {props.list.map((each, i) => (
          <Finding key={i} of={each} goTo={props.goTo} />
        ))}
      </ul>
    </Card>
  );
}

function Finding(props: { of: TextError; goTo: (line: number) => void }): JSX.Element {
  const { of } = props;
  return (
    <li>
      {of.line > 0 && (
        <button type="button" onClick={() => props.goTo(of.line)}>
          Line {of.line}
        </button>
      )}{" "}
      {of.field && <code>{of.field}</code>} {of.message}
    </li>
  );
}

/** ?rule=ID goes to the rule's line, once. */
function useFindRule(text: string | undefined, goTo: (line: number) => void): void {
  const wanted = place.value.query.get("rule");
  useEffect(() => {
    if (!wanted || !text) return;
    const line = text.split("\n").findIndex((each) => /\bid:/.test(each) && each.includes(wanted));
    if (line >= 0) goTo(line + 1);
  }, [text === undefined, wanted]);
}

function apply(document: RulesDocument, text: string, changes: number | null, done: () => void): void {
  openDialog(() => {
    const [reason, setReason] = useState("");
    const run = async (): Promise<void> => {
      const next = await put<RulesDocument>("/rules", { text, reason }, document.etag);
      closeDialog();
      toast(`Rules v${next.version} apply`);
      done();
    };
    return (
      <ActionForm title="Apply the rules" action="Apply" run={run}>
        <Effect>
          <p>
            {changes === null ? "The new text" : count(changes, "rule")}{" "}
            {changes === null ? "applies" : changes === 1 ? "changes" : "change"} for <b>every subject</b> at once, on every node.
          </p>
          <p>Version {document.version} is kept; it can be restored under Versions.</p>
        </Effect>
        <Reason value={reason} set={setReason} />
      </ActionForm>
    );
  });
}
