// Dialogs: the browser's own, which keeps the focus inside and closes with Escape.
import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { ApiError } from "../api/client";

const shown = signal<(() => JSX.Element) | null>(null);

export function openDialog(content: () => JSX.Element): void {
  shown.value = content;
}

export function closeDialog(): void {
  shown.value = null;
}

export function DialogHost(): JSX.Element | null {
  const content = shown.value;
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (!content) return;
    const before = document.activeElement as HTMLElement | null;
    element.current?.showModal();
    return () => before?.focus?.();
  }, [content]);
  if (!content) return null;
  const Content = content;
  return (
    <dialog ref={element} aria-labelledby="dialog-title" onClose={closeDialog}>
      <Content />
    </dialog>
  );
}

/** A dialog that does one thing. `run` throws what the server says, which is shown; otherwise the dialog closes. */
export function ActionForm(props: {
  title: string;
  action: string;
  danger?: boolean;
  children: ComponentChildren;
  ready?: boolean;
  run: () => Promise<void>;
}): JSX.Element {
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError("");
    try {
      await props.run();
    } catch (failure) {
      setError(explain(failure));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <h2 id="dialog-title">{props.title}</h2>
      {props.children}
      {error && (
        <div class="note bad" role="alert">
          {error}
        </div>
      )}
      <div class="end">
        <button type="button" class="btn" onClick={closeDialog}>
          Cancel
        </button>
        <button type="submit" class={`btn ${props.danger ? "x" : "p"}`} disabled={busy || props.ready === false}>
          {props.action}
        </button>
      </div>
    </form>
  );
}

function explain(failure: unknown): string {
  if (!(failure instanceof ApiError)) return String(failure);
  if (failure.status === 412) return "Someone else has changed this in the meantime. Close, look at it again, and repeat.";
  if (failure.status === 403) return `You may not do this: ${failure.message}`;
  return failure.message;
}

export function Field(props: { label: string; hint?: string; hintId?: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="field">
      <label>
        <span>{props.label}</span>
        {props.children}
      </label>
      {props.hint && <em id={props.hintId}>{props.hint}</em>}
    </div>
  );
}

export function Input(props: {
  label: string;
  value: string;
  set: (value: string) => void;
  hint?: string;
  required?: boolean;
  placeholder?: string;
  type?: string;
  max?: number;
  mono?: boolean;
}): JSX.Element {
  const hintId = useId();
  return (
    <Field label={props.label} hint={props.hint} hintId={hintId}>
      <input
        aria-describedby={props.hint ? hintId : undefined}
        class={props.mono ? "mono" : undefined}
        type={props.type ?? "text"}
        value={props.value}
        required={props.required}
        placeholder={props.placeholder}
        maxLength={props.max ?? 500}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => props.set(event.currentTarget.value)}
      />
    </Field>
  );
}

export function Reason(props: { value: string; set: (value: string) => void }): JSX.Element {
  return <Input label="Reason" value={props.value} set={props.set} required hint="Kept in the audit log, with your name." />;
}

/** What an action does, before it is done: how much it affects, and how it ends. */
export function Effect(props: { children: ComponentChildren }): JSX.Element {
  return <div class="effect">{props.children}</div>;
}
