// What a rule's candidate numbers, or its shadow mode, would have changed; and how a candidate ends.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, postTo, segment } from "../api/client";
import { has, may } from "../api/session";
import type { CandidateReport, RuleDetail } from "../api/types";
import { limitWords, number, percent } from "../core/format";
import { now } from "../core/clock";
import { usePoll } from "../core/poll";
import { Ago, Card, Tag } from "../ui/basics";
import { ActionForm, closeDialog, Effect, openDialog, Reason } from "../ui/dialog";
import { toast } from "../ui/notes";
import { SubjectName } from "../ui/subject_name";

export function RolloutReport(props: { rule: RuleDetail; done: () => void }): JSX.Element | null {
  const { rule } = props;
  const reports = has("GET /rules/{id}/candidate");
  const polled = usePoll<CandidateReport | null>(
    `candidate ${rule.id} ${reports}`,
    (signal) => (reports ? get(`/rules/${segment(rule.id)}/candidate`, {}, signal) : Promise.resolve(null)),
    reports ? 5000 : 0,
  );
  const report = polled.data ?? rule.candidate;
  if (!report) return null;
  const inShadow = !rule.candidate;
  return (
    <Card
      title={inShadow ? "If it were enforced" : "Candidate"}
      aside={<Tag tone="shadow">{inShadow ? "shadow" : limitWords(report.summary ?? "other numbers")}</Tag>}
    >
      <Counts of={report} />
      <Subjects of={report} />
      {!inShadow && may("operator") && has("POST /rules/{id}/candidate/promote") && (
        <div class="row">
          <button type="button" class="btn" onClick={() => settle(rule.id, report, "discard", props.done)}>
            Discard…
          </button>
          <button type="button" class="btn p" onClick={() => settle(rule.id, report, "promote", props.done)}>
            Promote…
          </button>
        </div>
      )}
    </Card>
  );
}

function Counts(props: { of: CandidateReport }): JSX.Element {
  const { of } = props;
  const facts: [string, number | undefined][] = [
    ["Pass now, would be denied", of.would_deny],
    ["Are denied now, would pass", of.would_allow],
    ["Requests compared", of.requests],
  ];
  const warming = of.warming_until && Date.parse(of.warming_until) > now.value;
  return (
    <>
      {of.share !== undefined && (
        <p>
          <b>{percent(of.share)}</b> of requests would be answered differently
          {of.since && (
            <span class="small">
              {" "}
              (compared since <Ago at={of.since} />)
            </span>
          )}
          .
        </p>
      )}
      {warming && (
        <p class="small">
          It has not counted a whole window yet; the comparison is complete <Ago at={of.warming_until} />.
        </p>
      )}
      <dl class="facts gapped">
        {facts.map(([name, value]) =>
          value === undefined ? null : (
            <>
              <dt>{name}</dt>
              <dd>{number(value)}</dd>
            </>
          ),
        )}
      </dl>
    </>
  );
}

function Subjects(props: { of: CandidateReport }): JSX.Element | null {
  const rows = (props.of.subjects ?? []).slice(0, 5);
  if (rows.length === 0) return null;
  return (
    <table class="gapped">
      <thead>
        <tr>
          <th>For whom most changes</th>
          <th class="r">Denied then</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.subject}>
            <td>
              <SubjectName subject={row.subject} text={row.text} />
            </td>
            <td class="r">{row.would_deny > 0 ? `+${number(row.would_deny)}` : `−${number(row.would_allow)}`}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function settle(id: string, report: CandidateReport, verb: "promote" | "discard", then: () => void): void {
  openDialog(() => {
    const [reason, setReason] = useState("");
    const run = async (): Promise<void> => {
      const path = `/rules/${segment(id)}/candidate`;
      // Of what the dialog shows. The report in a rule's card has none.
      const etag = report.etag ?? (await get<CandidateReport>(path)).etag ?? "";
      await postTo(`${path}/${verb}`, { reason }, etag);
      closeDialog();
      toast(verb === "promote" ? "The candidate enforces now" : "The candidate was discarded");
      then();
    };
    return (
      <ActionForm
        title={verb === "promote" ? `Promote the candidate of ${id}` : `Discard the candidate of ${id}`}
        action={verb === "promote" ? "Promote" : "Discard"}
        run={run}
      >
        <Effect>
          {verb === "promote" ? (
            <p>
              Its numbers replace those of <b>{id}</b> for <b>every subject</b> at once.
              {report.would_deny !== undefined &&
                ` Of the requests compared, ${number(report.would_deny)} that passed would have been denied.`}{" "}
              To undo it, restore the version before on the screen Change.
            </p>
          ) : (
            <p>Nothing changes for anyone; the comparison ends and its report is lost.</p>
          )}
        </Effect>
        <Reason value={reason} set={setReason} />
      </ActionForm>
    );
  });
}
