// A text with line numbers, where lines with errors are marked.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { TextError } from "../api/types";

export function Editor(props: {
  label: string;
  text: string;
  set: (text: string) => void;
  errors: TextError[];
  readOnly?: boolean;
  /** A line to show, and a number that changes when it should be shown again. */
  show?: { line: number; again: number };
}): JSX.Element {
  const area = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  const lines = props.text.split("\n").length;
  const wrong = new Map(props.errors.map((each) => [each.line, each.message]));
  useEffect(() => {
    const element = area.current;
    const line = props.show?.line;
    if (!element || !line) return;
    const start =
      props.text
        .split("\n")
        .slice(0, line - 1)
        .join("\n").length + (line > 1 ? 1 : 0);
    element.focus();
    element.setSelectionRange(start, start);
    element.scrollTop = Math.max(0, (line - 5) * 18);
  }, [props.show?.again]);
  const indent = (event: KeyboardEvent): void => {
    const element = area.current;
    // Tab leaves the field, as everywhere; in YAML, Enter keeps the indentation.
    if (event.key !== "Enter" || !element || props.readOnly) return;
    const before = props.text.slice(0, element.selectionStart);
    const spaces = /^ */.exec(before.slice(before.lastIndexOf("\n") + 1))![0];
    if (spaces === "") return;
    event.preventDefault();
    document.execCommand("insertText", false, `\n${spaces}`);
  };
  return (
    <div class="editor">
      <div class="gutter" ref={gutter} aria-hidden="true">
        {Array.from({ length: lines }, (_, i) => (
          <span key={i} class={wrong.has(i + 1) ? "wrong" : ""} title={wrong.get(i + 1)}>
            {i + 1}
          </span>
        ))}
      </div>
      <textarea
        ref={area}
        aria-label={props.label}
        value={props.text}
        readOnly={props.readOnly}
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        wrap="off"
        onInput={(event) => props.set(event.currentTarget.value)}
        onKeyDown={indent}
        onScroll={(event) => {
          if (gutter.current) gutter.current.scrollTop = event.currentTarget.scrollTop;
        }}
      />
    </div>
  );
}
