// Audit: who changed what, when, and why.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { url } from "../api/client";
import type { AuditRecord } from "../api/types";
import { place, setQuery } from "../core/router";
import { Ago, Card, Empty, Tag } from "../ui/basics";
import { Rows, usePages } from "../ui/list";
import { Failed } from "../ui/notes";

const names = ["actor", "action", "object"] as const;

export function Audit(): JSX.Element {
  const { query } = place.value;
  const wanted = Object.fromEntries(names.map((name) => [name, query.get(name)]));
  const pages = usePages<AuditRecord>("/audit", wanted, 10_000);
  const [opened, setOpened] = useState<string | number>("");
  const filtered = names.some((name) => query.get(name));
  return (
    <>
      <div class="head">
        <h1>Audit</h1>
        <div class="row">
          {names.map((name) => (
            <input
              key={name}
              type="search"
              aria-label={name}
              placeholder={name}
              size={12}
              value={query.get(name) ?? ""}
              onChange={(event) => setQuery({ [name]: event.currentTarget.value })}
            />
          ))}
          <a class="btn" href={url("/audit", { ...wanted, format: "ndjson" })} download="weir-audit.ndjson">
            Export
          </a>
        </div>
      </div>
      <Failed what="The audit log" error={pages.error} retry={pages.refresh} />
      <Card class="live">
        <Rows
          pages={pages}
          columns={[["When"], ["Who"], ["Reason"], ["Object"], ["What"]]}
          empty={
            <Empty command={filtered ? undefined : `weir audit --admin ${location.origin}`}>
              {filtered
                ? "No entry fits this filter."
                : "Nothing has been changed yet. Every change through the console or the API is kept here."}
            </Empty>
          }
        >
          {pages.items.map((each) => (
            <>
              <tr key={each.id} class={opened === each.id ? "open" : ""}>
                <td class="small">
                  <button
                    type="button"
                    class="expand"
                    aria-expanded={opened === each.id ? "true" : "false"}
                    onClick={() => setOpened(opened === each.id ? "" : each.id)}
                  >
                    <Ago at={each.at} />
                  </button>
                  <div class="on-phone">
                    {each.actor}: {each.object}
                  </div>
                </td>
                <td>
                  {each.actor}
                  {each.from && <div class="small">{each.from}</div>}
                </td>
                <td class="small">{each.reason ?? ""}</td>
                <td class="sub">{each.object}</td>
                <td>
                  <Tag tone="grey">{each.action}</Tag>
                </td>
              </tr>
              {opened === each.id && (
                <tr class="more">
                  <td colSpan={5}>
                    <BeforeAfter of={each} />
                  </td>
                </tr>
              )}
            </>
          ))}
        </Rows>
      </Card>
    </>
  );
}

function flatten(value: unknown): Record<string, string> {
  if (value === null || value === undefined) return {};
  if (typeof value !== "object") return { "": String(value) };
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, typeof each === "string" ? each : JSON.stringify(each)]));
}

function BeforeAfter(props: { of: AuditRecord }): JSX.Element {
  const before = flatten(props.of.before);
  const after = flatten(props.of.after);
  const changed = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => before[name] !== after[name]);
  return (
    <dl class="facts">
      {changed.map((name) => (
        <>
          <dt>{name || "value"}</dt>
          <dd class="sub">
            {before[name] !== undefined && <span class="before">{before[name]}</span>}{" "}
            {after[name] !== undefined && <span class="after">{after[name]}</span>}
          </dd>
        </>
      ))}
      <dt>Node</dt>
      <dd>{props.of.node}</dd>
    </dl>
  );
}
