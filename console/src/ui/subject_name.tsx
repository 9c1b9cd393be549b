// A subject in a table: a link to its page where the server shows plain subjects, otherwise its hash.
import type { JSX } from "preact";
import { readAttributes, toPairs } from "../core/attributes";
import { hrefWith } from "../core/router";
import type { Attributes } from "../api/types";

export const subjectHref = (attributes: Attributes): string => hrefWith(["subject"], { a: toPairs(attributes) });

export function SubjectName(props: { subject: string; text: string | null | undefined }): JSX.Element {
  if (!props.text) {
    return (
      <span class="sub" title="The server keeps only a hash of this subject. To find it, look the subject up by its attributes.">
        {props.subject.slice(0, 12)}
      </span>
    );
  }
  if (props.text === "all") return <span title="The rule counts all requests together.">all requests</span>;
  const attributes = readAttributes(props.text);
  if (Object.keys(attributes).length === 0) return <span class="sub">{props.text}</span>;
  return (
    <a class="sub" href={subjectHref(attributes)}>
      {toPairs(attributes).join(" ")}
    </a>
  );
}
