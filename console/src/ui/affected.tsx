// How many subjects a condition affects: counted in the decisions that the server has recorded, because a condition can
// match callers that have not come yet.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client";
import type { Attributes, Decision, List, When } from "../api/types";
import { count, number } from "../core/format";
import { Ago } from "./basics";

const most = 1000;

interface Counted {
  subjects: number;
  decisions: number;
  since: string | null;
}

function filters(when: When): Record<string, string> {
  const query: Record<string, string> = {};
  for (const [name, value] of Object.entries(when)) {
    if (!Array.isArray(value)) query[`attribute.${name}`] = value;
    else if (value.length === 1) query[`attribute.${name}`] = value[0]!;
  }
  return query;
}

/** Where the server recorded a hash, its own filter has compared it; of several values it compared none. */
function matches(attributes: Attributes | null, when: When): boolean {
  if (!attributes) return true;
  return Object.entries(when).every(([name, value]) => {
    const recorded = attributes[name] ?? "";
    const wanted = Array.isArray(value) ? value : [value];
    return recorded.startsWith("#") ? wanted.length === 1 : wanted.includes(recorded);
  });
}

/** Several values of an attribute that is recorded as a hash: the count would be too low. */
function cannotCount(items: Decision[], when: When): boolean {
  const several = Object.entries(when).filter(([, value]) => Array.isArray(value) && value.length > 1);
  return items.some((each) => several.some(([name]) => each.attributes?.[name]?.startsWith("#")));
}

function countSubjects(items: Decision[], when: When): Counted {
  const kept = items.filter((each) => matches(each.attributes, when));
  const subjects = new Set(
    kept.flatMap((each) =>
      each.attributes ? [JSON.stringify(Object.entries(each.attributes).sort())] : each.rules.map((rule) => rule.subject),
    ),
  );
  return { subjects: subjects.size, decisions: kept.length, since: items[items.length - 1]?.at ?? null };
}

/** A sentence that says how many. `all`: everyone. */
export function Affected(props: { when: When; all?: boolean }): JSX.Element {
  const key = JSON.stringify(props.when);
  const [counted, setCounted] = useState<Counted | null>(null);
  const [failed, setFailed] = useState(false);
  const none = Object.keys(props.when).length === 0;
  useEffect(() => {
    if (none && !props.all) return;
    const stop = new AbortController();
    setCounted(null);
    setFailed(false);
    get<List<Decision>>("/decisions", { ...filters(props.when), limit: most }, stop.signal)
      .then((list) => (cannotCount(list.items, props.when) ? setFailed(true) : setCounted(countSubjects(list.items, props.when))))
      .catch(() => setFailed(!stop.signal.aborted));
    return () => stop.abort();
  }, [key, props.all]);
  if (none && !props.all) return <p>Say whom it affects.</p>;
  if (failed) return <p>How many subjects it affects could not be counted.</p>;
  if (!counted) return <p>Counting the subjects it affects</p>;
  if (counted.decisions === 0) return <p>No recorded decision is about such a subject, so it affects only subjects that come later.</p>;
  return (
    <p>
      Affects <b>{count(counted.subjects, "subject")}</b> of the last {number(counted.decisions)} recorded decisions that match
      {counted.since && (
        <>
          {" "}
          (the oldest <Ago at={counted.since} />)
        </>
      )}
      , and all that match from now on.
    </p>
  );
}
