// What the admin API answers, as far as the console uses it. Times are RFC 3339 text.
export type Role = "reader" | "operator" | "admin";
/** enforce, shadow or off. */
export type Mode = string;
export type Attributes = Record<string, string>;
export type When = Record<string, string | string[]>;
export type Range = "5m" | "1h" | "24h";

export interface List<T> {
  items: T[];
  next: string | null;
}

export interface Session {
  actor: string;
  role: Role;
  open: boolean;
  expires_at: string | null;
  version: string;
  node: string;
}

export type Points = (number | null)[];

export interface Series {
  start_at: string;
  step_ms: number;
  allowed: Points;
  denied: Points;
  shadow_denied?: Points;
  shed?: Points;
  degraded?: Points;
  p99_ms?: Points;
}

export interface Overview {
  at: string;
  range: Range;
  node: string;
  state: {
    nodes: { live: number; expected: number };
    store: { name: string; ok: boolean; breaker?: string; p99_ms?: number | null };
    database: { kind: string; ok: boolean; detail: string; lag_ms?: number | null };
    rules: { version: number; hash: string; source: string; loaded_at: string; error: string | null };
    fallbacks: { rule: string; policy: string; since: string }[];
  };
  totals: {
    allowed_per_second: number;
    denied_per_second: number;
    denied_share: number;
    usual_denied_share: number | null;
    shadow_denied_per_second: number;
    shed_per_second: number;
    degraded_per_second: number;
    rules_in_shadow: number;
    candidates: number;
    p50_ms: number | null;
    p99_ms: number | null;
  };
  series: Series;
  top_rules: {
    rule: string;
    mode: Mode;
    allowed_per_second: number;
    denied_per_second: number;
    shadow_denied_per_second?: number;
    fallback: boolean;
  }[];
  top_subjects: { subject: string; text: string | null; rule: string; denied_per_second: number; since: string | null }[];
  near_limit: { subject: string; text: string | null; rule: string; used: number; limit: number; share: number }[];
  hot_subjects: { subject: string; text?: string | null; rule: string; per_second: number }[];
  ends_soon: { /** override, block or candidate. */ kind: string; id: string; text: string; reason?: string; until: string | null }[];
}

export interface TextError {
  line: number;
  column: number;
  field?: string;
  message: string;
}

export interface RulesDocument {
  source: "file" | "database" | "built-in";
  path: string | null;
  version: number;
  hash: string;
  loaded_at: string;
  author: string | null;
  reason: string | null;
  text: string;
  error: string | null;
  warnings: string[];
  etag: string;
}

export interface RulesCheck {
  ok: boolean;
  errors: TextError[];
  warnings: (string | TextError)[];
  rules: number;
}

export interface RuleChange {
  rule: string;
  change: "added" | "removed" | "changed";
  fields: { field: string; before: unknown; after: unknown }[];
  state: "kept" | "fresh";
  text: string;
}

export interface Simulation {
  requests: number;
  allowed_now: number;
  denied_now: number;
  allowed_then: number;
  denied_then: number;
  rules: { rule: string; denied_now: number; denied_then: number }[];
  subjects: { subject: string; denied_now: number; denied_then: number }[];
}

export interface RulesVersion {
  version: number;
  at: string;
  author: string | null;
  reason: string | null;
  hash: string;
  rules: number;
  text?: string;
}

/** What other numbers, or a rule in shadow mode, would have changed. */
export interface CandidateReport {
  /** candidate, shadow, or adaptive: a limit that adapts and is enforced. */
  kind?: string;
  /** Of the rules that it is about. */
  etag?: string;
  summary?: string;
  limit?: number | null;
  since?: string | null;
  /** Until then its counts are not complete. */
  warming_until?: string | null;
  requests?: number;
  would_change?: number;
  would_deny?: number;
  would_allow?: number;
  share?: number;
  subjects?: { subject: string; text: string | null; would_deny: number; would_allow: number }[];
}

export interface RuleCard {
  id: string;
  algorithm: string;
  summary: string;
  match: unknown;
  per: string[] | string | null;
  mode: Mode;
  limit: number | null;
  window_ms: number | null;
  passed_per_second: number;
  denied_per_second: number;
  shadow_denied_per_second: number;
  fullest: { subject: string; text?: string | null; share: number } | null;
  last_seen_at: string | null;
  fallback: boolean | string | null;
  candidate: CandidateReport | null;
}

export interface RuleDetail extends RuleCard {
  explanation: string[];
  series: Series;
  top_subjects: { subject: string; text?: string | null; denied_per_second: number; since?: string | null }[];
}

export interface Override {
  id: string;
  rules: string[];
  when: When;
  limit?: number;
  window?: string;
  burst?: number;
  unlimited?: boolean;
  mode?: Mode;
  emergency: boolean;
  until: string | null;
  reason: string;
  actor: string;
  created_at: string | null;
  last_used_at: string | null;
  source: "api" | "file";
  etag: string | null;
}

export interface Block {
  id: string;
  when: When;
  all?: boolean;
  until: string | null;
  reason: string;
  actor: string;
  created_at: string | null;
  hits: number;
  last_used_at: string | null;
  source: "api" | "file";
  etag: string | null;
}

export interface Tenant {
  tenant: string;
  plan: string | null;
  zone: string | null;
  settings: Record<string, string>;
  note: string | null;
  created_at: string;
  updated_at: string;
  etag: string;
}

export interface ApiKey {
  id: string;
  name: string;
  prefix: string;
  tenant: string | null;
  plan: string | null;
  attributes: Attributes;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
  etag: string;
}

export interface Token {
  id: string;
  name: string;
  role: Role;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
  actor: string;
  etag: string;
}

export interface DecisionRule {
  rule: string;
  subject: string | null;
  allowed: boolean;
  mode: Mode;
  limit: number | null;
  remaining: number | null;
  cost: number;
  retry_after_ms: number | null;
  reset_after_ms: number | null;
}

export interface Decision {
  id: string;
  at: string;
  node: string;
  allowed: boolean;
  reason: string | null;
  rule: string | null;
  source: string;
  degraded: boolean;
  cost: number;
  retry_after_ms: number | null;
  action: string | null;
  method: string | null;
  path: string | null;
  trace_id: string | null;
  tenant: string | null;
  attributes: Attributes | null;
  rules_version: number;
  rules_hash: string;
  rules: DecisionRule[];
}

export interface Lease {
  rule: string;
  /** Null for readers, who may not release it. */
  handle: string | null;
  units: number;
  expires_at: string;
}

/** One reservation as one rule has it; `id` and `handle` are the same for all its rules. */
export interface Reservation extends Lease {
  id: string;
  reserved_at: string;
}

export interface SubjectRule {
  rule: string;
  algorithm: string;
  summary: string;
  per: Attributes | string[] | null;
  subject: string | null;
  mode: Mode;
  limit: number | null;
  capacity: number | null;
  used: number | null;
  remaining: number | null;
  share: number | null;
  reset_at: string | null;
  retry_at: string | null;
  /** default, plan, override or emergency. */
  allowance: string;
  override: string | null;
  explanation: string | null;
}

export interface SubjectQuota {
  rule: string;
  limit: number;
  used: number;
  held: number;
  available: number;
  resets_at: string | null;
  account?: string;
}

export interface SubjectState {
  attributes: Attributes;
  plan: string | null;
  tenant: Tenant | null;
  blocked: { id: string; reason: string; until: string | null } | null;
  rules: SubjectRule[];
  not_matched: { rule: string; why: string }[];
  overrides: Override[];
  penalties: { rule: string; challenge: boolean; until: string | null }[];
  leases: Lease[];
  reservations: Reservation[];
  quotas: SubjectQuota[];
  decisions: Decision[];
}

export interface Account {
  id: string;
  rule: string;
  subject: string;
  tenant: string | null;
  period: string;
  begins_at: string;
  ends_at: string;
  limit: number;
  used: number;
  held: number;
  available: number;
  expired: number;
  granted: number;
  grace: number;
  overage: number;
  forecast_at: string | null;
}

export interface AccountEntry {
  id?: string;
  at: string;
  kind: string;
  amount: number;
  actor?: string | null;
  reason?: string | null;
}

export interface Grant {
  id: string;
  amount: number;
  left: number;
  expires_at: string | null;
  created_at: string;
  actor: string;
  reason: string;
}

export interface AccountDetail extends Account {
  series: { start_at: string; step_ms: number; used: Points };
  entries: AccountEntry[];
  grants?: Grant[];
  reservations: { id: string; units: number; reserved_at: string; expires_at: string }[];
}

export interface AuditRecord {
  id: string | number;
  at: string;
  actor: string;
  from: string | null;
  action: string;
  object: string;
  before: unknown;
  after: unknown;
  reason: string | null;
  node: string;
}
