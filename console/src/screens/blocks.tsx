// Blocks: callers whose every request is denied, for a time.
import type { JSX } from "preact";
import { may } from "../api/session";
import type { Block } from "../api/types";
import { whenText } from "../core/attributes";
import { number } from "../core/format";
import { Ago, Card, Empty, Tag } from "../ui/basics";
import { Rows, usePages } from "../ui/list";
import { Failed } from "../ui/notes";
import { blockSubject, unblock } from "./subject_actions";

const example = `curl http://127.0.0.1:9090/admin/v1/blocks -d '{"when":{"ip":"198.51.100.7"},"until":"2h","reason":"credential stuffing"}'`;

export function Blocks(): JSX.Element {
  const pages = usePages<Block>("/blocks", {}, 5000);
  return (
    <>
      <div class="head">
        <h1>Blocks</h1>
        {may("operator") && (
          <button type="button" class="btn x" onClick={() => blockSubject({}, pages.refresh)}>
            Block…
          </button>
        )}
      </div>
      <Failed what="The blocks" error={pages.error} retry={pages.refresh} />
      <Card class="live">
        <Rows
          pages={pages}
          columns={[
            ["Who"],
            ["Reason"],
            ["Requests denied", "r"],
            ["Last", "r"],
            ["Ends", "r"],
            ...(may("operator") ? ([["", "r"]] as [string, string][]) : []),
          ]}
          empty={<Empty command={example}>No one is blocked. A block denies every request of some callers for a time:</Empty>}
        >
          {pages.items.map((each) => (
            <tr key={each.id}>
              <td class="sub">{each.all ? <Tag tone="deny">everyone</Tag> : whenText(each.when)}</td>
              <td class="small">
                {each.reason}
                <div>
                  by {each.actor}, <Ago at={each.created_at} />
                </div>
              </td>
              <td class="r">{number(each.hits)}</td>
              <td class="r small">
                <Ago at={each.last_used_at} />
              </td>
              <td class="r small">
                <Ago at={each.until} />
              </td>
              {may("operator") && (
                <td class="r">
                  {each.source === "file" ? (
                    <span class="small">from a file</span>
                  ) : (
                    <button type="button" class="btn s" onClick={() => unblock(each.id, pages.refresh)}>
                      Unblock…
                    </button>
                  )}
                </td>
              )}
            </tr>
          ))}
        </Rows>
      </Card>
    </>
  );
}
