// Blocks: callers whose requests are all denied, for a time.
import type { JSX } from "preact";
import type { Block } from "../api/types";
import { whenText } from "../core/attributes";
import { number } from "../core/format";
import { Ago, Empty, Tag } from "../ui/basics";
import { RecordScreen, RowAction } from "../ui/records";
import { blockSubject, unblock } from "./subject_actions";

const example = `weir block add ip=198.51.100.7 --until 2h --reason 'credential stuffing' --admin ${location.origin}`;

export function Blocks(): JSX.Element {
  return (
    <RecordScreen<Block>
      title="Blocks"
      what="The blocks"
      path="/blocks"
      everyMs={5000}
      make={{ label: "Block…", role: "operator", restricts: true, run: (refresh) => blockSubject({}, refresh) }}
      keyOf={(each) => each.id}
      columns={[
        { title: "Who", class: "sub", show: (each) => (each.all ? <Tag tone="deny">everyone</Tag> : whenText(each.when)) },
        {
          title: "Reason",
          class: "small",
          show: (each) => (
            <>
              <span class="said">{each.reason}</span>
              <div>
                by {each.actor}
                {each.created_at && (
                  <>
                    , <Ago at={each.created_at} />
                  </>
                )}
              </div>
            </>
          ),
        },
        { title: "Requests denied", class: "r", show: (each) => number(each.hits) },
        { title: "Last", class: "r small", show: (each) => <Ago at={each.last_used_at} /> },
        { title: "Ends", class: "r small", show: (each) => <Ago at={each.until} /> },
      ]}
      onPhone={(each) => (
        <>
          {each.reason}, ends <Ago at={each.until} />
        </>
      )}
      actions={(each, refresh) =>
        each.source === "file" ? (
          <span class="small">from a file</span>
        ) : (
          <RowAction label="Unblock…" run={() => unblock(each.id, refresh)} />
        )
      }
      empty={<Empty command={example}>No one is blocked. A block denies every request of some callers for a time:</Empty>}
    />
  );
}
