// Compiles only if the API's document (openapi.d.ts, generated) has every member that the console reads, with a type
// that the console understands. Routes that the document does not describe are not compared.
import type { components } from "./openapi";
import type * as ours from "./types";

type Documented = components["schemas"];
type DeepPartial<T> = T extends (infer U)[] ? DeepPartial<U>[] : T extends object ? { [K in keyof T]?: DeepPartial<T[K]> } : T;

/** Every required member of `Read` is documented in `Theirs`, and its type fits. */
type Reads<Theirs extends DeepPartial<Read>, Read> = Exclude<RequiredNames<Read>, keyof Theirs> extends never ? true : never;
type RequiredNames<T> = { [K in keyof T]-?: object extends Pick<T, K> ? never : K }[keyof T];

const holds = <T extends true>(): T | undefined => undefined;
holds<Reads<Documented["Overview"], ours.Overview>>();
holds<Reads<Documented["RuleCard"], ours.RuleCard>>();
holds<Reads<Documented["RuleDetail"], ours.RuleDetail>>();
holds<Reads<Documented["JournalEntry"], ours.Decision>>();
holds<Reads<Documented["JournalRule"], ours.DecisionRule>>();
holds<Reads<Documented["RuleState"], ours.SubjectRule>>();
holds<Reads<Documented["SubjectLookup"], ours.SubjectState>>();
holds<Reads<Documented["Override"], ours.Override>>();
holds<Reads<Documented["Block"], ours.Block>>();
holds<Reads<Documented["Tenant"], ours.Tenant>>();
holds<Reads<Documented["ApiKey"], ours.ApiKey>>();
holds<Reads<Documented["HeldLease"], ours.Lease>>();
holds<Reads<Documented["HeldReservation"], ours.Reservation>>();
holds<Reads<Documented["AccountDetail"], ours.AccountDetail>>();
