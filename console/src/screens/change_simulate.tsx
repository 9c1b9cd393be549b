// What the new rules would have done: to the requests that the server has recorded, or to those of an access log.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError, ask } from "../api/client";
import type { Simulation } from "../api/types";
import { number, percent } from "../core/format";
import { Card } from "../ui/basics";
import { Field } from "../ui/dialog";

const mostLogBytes = 8 << 20;

export function SimulationCard(props: { text: string; ready: boolean }): JSX.Element {
  const [source, setSource] = useState<"journal" | "log">("journal");
  const [format, setFormat] = useState("combined");
  const [log, setLog] = useState<string | null>(null);
  const [result, setResult] = useState<{ of: string; simulation: Simulation } | null>(null);
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    setBusy(true);
    setError("");
    try {
      const body = source === "journal" ? { text: props.text, source } : { text: props.text, source, format, log };
      setResult({ of: props.text, simulation: await ask<Simulation>("/rules/simulate", body) });
    } catch (failure) {
      setResult(null);
      setError(failure instanceof ApiError ? failure.message : String(failure));
    } finally {
      setBusy(false);
    }
  };
  const read = async (file: File | undefined): Promise<void> => {
    setError("");
    if (!file) return;
    if (file.size > mostLogBytes) setError(`The file has ${number(file.size)} bytes; ${number(mostLogBytes)} is the most.`);
    else setLog(await file.text());
  };
  return (
    <Card title="Try it on real requests">
      <Field label="Requests">
        <select value={source} onChange={(event) => setSource(event.currentTarget.value as "journal" | "log")}>
          <option value="journal">those the server has recorded</option>
          <option value="log">those of an access log</option>
        </select>
      </Field>
      {source === "log" && (
        <>
          <Field label="Format">
            <select value={format} onChange={(event) => setFormat(event.currentTarget.value)}>
              <option value="combined">combined (nginx, Apache)</option>
              <option value="envoy">Envoy</option>
              <option value="json">JSON lines</option>
            </select>
          </Field>
          <Field label="File">
            <input type="file" onChange={(event) => void read(event.currentTarget.files?.[0])} />
          </Field>
        </>
      )}
      <button type="button" class="btn" disabled={!props.ready || busy || (source === "log" && log === null)} onClick={() => void run()}>
        {busy ? "Simulating" : "Simulate"}
      </button>
      {error && (
        <p class="small" role="alert" style={{ marginTop: "8px" }}>
          It could not be simulated: {error}
        </p>
      )}
      {result && <Report of={result.simulation} stale={result.of !== props.text} />}
    </Card>
  );
}

function Report(props: { of: Simulation; stale: boolean }): JSX.Element {
  const { of } = props;
  const rows = [
    ...of.rules.map((each) => ({ name: each.rule, ...each })),
    ...of.subjects.map((each) => ({ name: each.subject, ...each })),
  ].filter((each) => each.denied_now !== each.denied_then);
  return (
    <div style={{ marginTop: "12px" }} role="status">
      {props.stale && <p class="small">The text has changed since.</p>}
      <p>
        Of <b>{number(of.requests)}</b> requests, <b>{number(of.denied_then)}</b> ({percent(of.requests ? of.denied_then / of.requests : 0)}
        ) would be denied; with the rules of now it is <b>{number(of.denied_now)}</b>.
      </p>
      {rows.length > 0 && (
        <table>
          <thead>
            <tr>
              <th>Rule or subject</th>
              <th class="r">Denied now</th>
              <th class="r">Then</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, 20).map((row) => (
              <tr key={row.name}>
                <td class="sub">{row.name}</td>
                <td class="r">{number(row.denied_now)}</td>
                <td class="r">{number(row.denied_then)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}
