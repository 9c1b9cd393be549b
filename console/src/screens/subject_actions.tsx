// What can be done for or against a subject. Each is a dialog that says what it affects and how it ends.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, post, put, segment } from "../api/client";
import type { Attributes, Block, Override, SubjectState, When } from "../api/types";
import { whenText } from "../core/attributes";
import { absolute, count, relative } from "../core/format";
import { now } from "../core/clock";
import { Affected } from "../ui/affected";
import { AttributeInput } from "../ui/attribute_input";
import { ActionForm, closeDialog, Effect, Field, Input, openDialog, Reason } from "../ui/dialog";
import { toast } from "../ui/notes";
import { removeRecord } from "../ui/records";
import { endOf, Until } from "../ui/until";

function done(text: string, then: () => void): void {
  closeDialog();
  toast(text);
  then();
}

export function UndoneAt(props: { what: string; until: string }): JSX.Element {
  const end = endOf(props.until);
  if (end === null) return <p>{props.what} lasts until someone ends it.</p>;
  return (
    <p>
      {props.what} ends by itself {relative(end, now.value)}, on {absolute(end)}. Until then it can be ended at any time.
    </p>
  );
}

/** Which of a subject's rules; all of them by default. */
function RuleChoice(props: { rules: string[]; value: string; set: (value: string) => void; all: string }): JSX.Element {
  return (
    <Field label="Rule">
      <select value={props.value} onChange={(event) => props.set(event.currentTarget.value)}>
        <option value="*">{props.all}</option>
        {props.rules.map((rule) => (
          <option key={rule} value={rule}>
            {rule}
          </option>
        ))}
      </select>
    </Field>
  );
}

export function resetSubject(of: SubjectState, then: () => void): void {
  const rules = [...new Set(of.rules.map((each) => each.rule))];
  openDialog(() => {
    const [reason, setReason] = useState("");
    const [rule, setRule] = useState("*");
    const number = rule === "*" ? of.rules.length : of.rules.filter((each) => each.rule === rule).length;
    const run = async (): Promise<void> => {
      const body = { attributes: of.attributes, ...(rule === "*" ? {} : { rules: [rule] }), reason, expected_count: number };
      const answer = await post<{ reset: number }>("/reset", body);
      done(`${count(answer.reset, "limit")} reset`, then);
    };
    return (
      <ActionForm title="Reset what is used" action="Reset" danger run={run} ready={number > 0}>
        <Effect>
          <p>
            Affects <b>1 subject</b>, {count(number, "limit")}: what <span class="sub">{whenText(of.attributes)}</span> has used is
            forgotten, and the next requests find them unused.
          </p>
          <p>This cannot be undone.</p>
        </Effect>
        <RuleChoice rules={rules} value={rule} set={setRule} all={`All ${rules.length} that apply`} />
        <Reason value={reason} set={setReason} />
      </ActionForm>
    );
  });
}

export function refundSubject(of: SubjectState, then: () => void): void {
  const rules = [...new Set(of.rules.map((each) => each.rule))];
  openDialog(() => {
    const [reason, setReason] = useState("");
    const [rule, setRule] = useState("*");
    const [cost, setCost] = useState("1");
    const run = async (): Promise<void> => {
      const body = { attributes: of.attributes, cost: Number(cost), ...(rule === "*" ? {} : { rules: [rule] }), reason };
      const answer = await post<{ refunded: number }>("/refund", body);
      done(`${cost} given back to ${count(answer.refunded, "limit")}`, then);
    };
    return (
      <ActionForm title="Refund" action="Refund" run={run} ready={Number(cost) > 0}>
        <Effect>
          <p>
            Affects <b>1 subject</b>: <span class="sub">{whenText(of.attributes)}</span> gets back what it has used, and never more than its
            limit.
          </p>
        </Effect>
        <RuleChoice rules={rules} value={rule} set={setRule} all={`All ${rules.length} that apply`} />
        <Input label="Cost to give back" type="number" value={cost} set={setCost} required />
        <Reason value={reason} set={setReason} />
      </ActionForm>
    );
  });
}

export function blockSubject(start: Attributes, then: () => void): void {
  openDialog(() => {
    const [when, setWhen] = useState<Attributes>(start);
    const [all, setAll] = useState(false);
    const [reason, setReason] = useState("");
    const [until, setUntil] = useState("2h");
    const everyone = Object.keys(when).length === 0;
    const run = async (): Promise<void> => {
      await post<Block>("/blocks", { when, ...(everyone ? { all: true } : {}), until, reason });
      done("Blocked", then);
    };
    return (
      <ActionForm title="Block" action="Block" danger run={run} ready={(!everyone || all) && endOf(until) !== null}>
        <AttributeInput label="Whom to block" value={when} set={setWhen} placeholder="tenant=acme; all that are named must match" />
        {everyone && (
          <label class="field">
            <input type="checkbox" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} />
            Block every request of everyone
          </label>
        )}
        <Effect>
          <Affected when={when} all={all} />
          <UndoneAt what="The block" until={until} />
        </Effect>
        <Until value={until} set={setUntil} />
        <Reason value={reason} set={setReason} />
      </ActionForm>
    );
  });
}

export function unblock(id: string, then: () => void): void {
  const path = `/blocks/${segment(id)}`;
  removeRecord({
    title: "End the block",
    action: "Unblock",
    done: "Unblocked",
    path,
    etag: async () => (await get<Block>(path)).etag,
    harmless: true,
    effect: <p>Subjects that it matches are limited by their rules again, at once. To block them again, make a new block.</p>,
    then,
  });
}

interface OverrideForm {
  rule: string;
  when: Attributes;
  kind: "limit" | "unlimited" | "shadow";
  limit: string;
  window: string;
  burst: string;
  until: string;
  reason: string;
  emergency: boolean;
}

/** What the chips say; a list that they show as one text stays a list. */
function conditions(shown: Attributes, old: When): When {
  const before = plain(old);
  return Object.fromEntries(Object.entries(shown).map(([name, text]) => [name, before[name] === text ? old[name]! : text]));
}

function bodyOf(form: OverrideForm, old: When): Record<string, unknown> {
  const body: Record<string, unknown> = {
    rules: [form.rule],
    when: conditions(form.when, old),
    until: form.until,
    reason: form.reason,
    emergency: form.emergency,
  };
  if (form.kind === "unlimited") body["unlimited"] = true;
  else if (form.kind === "shadow") body["mode"] = "shadow";
  else {
    body["limit"] = Number(form.limit);
    if (form.window) body["window"] = form.window;
    if (form.burst) body["burst"] = Number(form.burst);
  }
  return body;
}

/** A new override, or a change of `old`. */
export function raiseLimit(start: Attributes, rules: string[], then: () => void, old?: Override): void {
  openDialog(() => <OverrideDialog start={start} rules={rules} then={then} old={old} />);
}

function plain(when: When): Attributes {
  return Object.fromEntries(Object.entries(when).map(([name, value]) => [name, Array.isArray(value) ? value.join(",") : value]));
}

function OverrideDialog(props: { start: Attributes; rules: string[]; then: () => void; old?: Override }): JSX.Element {
  const { old } = props;
  const [form, setForm] = useState<OverrideForm>({
    rule: old?.rules[0] ?? props.rules[0] ?? "*",
    when: old ? plain(old.when) : props.start,
    kind: old?.unlimited ? "unlimited" : old?.mode === "shadow" ? "shadow" : "limit",
    limit: old?.limit === undefined ? "" : String(old.limit),
    window: old?.window ?? "",
    burst: old?.burst === undefined ? "" : String(old.burst),
    until: old?.until ?? "2h",
    reason: old?.reason ?? "",
    emergency: old?.emergency ?? false,
  });
  const set =
    <K extends keyof OverrideForm>(name: K) =>
    (value: OverrideForm[K]): void =>
      setForm((before) => ({ ...before, [name]: value }));
  const run = async (): Promise<void> => {
    if (old) await put<Override>(`/overrides/${segment(old.id)}`, bodyOf(form, old.when), old.etag);
    else await post<Override>("/overrides", bodyOf(form, {}));
    done(old ? "Override changed" : "Override made", props.then);
  };
  const ready = form.kind !== "limit" || (Number(form.limit) >= 0 && form.limit !== "");
  return (
    <ActionForm
      title={old ? "Change the override" : "Raise or change a limit"}
      action={old ? "Save" : "Make override"}
      run={run}
      ready={ready}
    >
      <AttributeInput label="For whom" value={form.when} set={set("when")} placeholder="tenant=acme; all that are named must match" />
      <RuleChoice
        rules={[...new Set([...props.rules, ...(old?.rules ?? [])])].filter((each) => each !== "*")}
        value={form.rule}
        set={set("rule")}
        all="Every rule"
      />
      <Field label="What">
        <select value={form.kind} onChange={(event) => set("kind")(event.currentTarget.value as OverrideForm["kind"])}>
          <option value="limit">another limit</option>
          <option value="unlimited">no limit</option>
          <option value="shadow">count, but do not deny (shadow)</option>
        </select>
      </Field>
      {form.kind === "limit" && (
        <div class="grid k2">
          <Input label="Limit" type="number" value={form.limit} set={set("limit")} required />
          <Input label="Window" value={form.window} set={set("window")} placeholder="as the rule" hint="60s, 1h; empty: as the rule" />
        </div>
      )}
      <Until value={form.until} set={set("until")} />
      <Effect>
        <Affected when={form.when} all />
        <UndoneAt what="The override" until={form.until} />
        <p>After that the limit of the plan or the rule applies again.</p>
      </Effect>
      <Reason value={form.reason} set={set("reason")} />
    </ActionForm>
  );
}

export function endOverride(override: Override, then: () => void): void {
  removeRecord({
    title: "End the override",
    action: "End now",
    done: "Override ended",
    path: `/overrides/${segment(override.id)}`,
    etag: override.etag,
    effect: (
      <>
        <Affected when={override.when} all />
        <p>
          The limit of the plan or the rule applies again at once to <span class="sub">{whenText(override.when)}</span>.
        </p>
      </>
    ),
    then,
  });
}
