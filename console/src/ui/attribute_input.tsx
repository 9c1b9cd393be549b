// Attributes as chips with a field behind them: type `tenant=acme`, or paste a request.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Attributes } from "../api/types";
import { readAttributes } from "../core/attributes";

export function AttributeInput(props: {
  label: string;
  value: Attributes;
  set: (value: Attributes) => void;
  placeholder?: string;
  class?: string;
}): JSX.Element {
  const [text, setText] = useState("");
  const [wrong, setWrong] = useState("");
  const take = (from: string): boolean => {
    const found = readAttributes(from);
    if (Object.keys(found).length === 0) return false;
    props.set({ ...props.value, ...found });
    setText("");
    setWrong("");
    return true;
  };
  const enter = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && text.trim() !== "") {
      event.preventDefault();
      if (!take(text)) setWrong("Write name=value, such as tenant=acme");
    } else if (event.key === "Backspace" && text === "") {
      const names = Object.keys(props.value);
      if (names.length > 0) removeOne(names[names.length - 1]!);
    }
  };
  const removeOne = (name: string): void => {
    const rest = { ...props.value };
    delete rest[name];
    props.set(rest);
  };
  return (
    <div class={`search ${props.class ?? ""}`}>
      {Object.entries(props.value).map(([name, value]) => (
        <span class="chip" key={name}>
          {name}={value}
          <button type="button" aria-label={`Remove ${name}`} onClick={() => removeOne(name)}>
            ×
          </button>
        </span>
      ))}
      <input
        type="text"
        aria-label={props.label}
        placeholder={props.placeholder ?? "add an attribute, or paste a request"}
        value={text}
        maxLength={4096}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setWrong("");
        }}
        onKeyDown={enter}
        onBlur={() => {
          if (text.trim() !== "") take(text);
        }}
        onPaste={(event) => {
          if (take(event.clipboardData?.getData("text") ?? "")) event.preventDefault();
        }}
      />
      {wrong && (
        <span class="small" role="alert">
          {wrong}
        </span>
      )}
    </div>
  );
}
