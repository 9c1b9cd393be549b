// Invented data in the form of the admin API, for working on the console without a server.
const ms = (n) => new Date(Date.now() + n).toISOString();
let seed = 7;
const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;

const steps = { "5m": [150, 2000], "1h": [120, 30_000], "24h": [144, 600_000] };

function series(range, scale = 1) {
  const [n, step_ms] = steps[range] ?? steps["5m"];
  seed = 7;
  const x = (i) => i / n;
  const points = (f) => Array.from({ length: n }, (_, i) => Math.round(scale * f(x(i)) * 100) / 100);
  const allowed = points((t) => 18000 + 1800 * Math.sin(t * 9) + 400 * random());
  allowed[20] = allowed[21] = null;
  const denied = points((t) => 500 + 200 * random() + (t > 0.6 ? 1700 : 0));
  denied[20] = denied[21] = null;
  return {
    start_at: ms(-n * step_ms),
    step_ms,
    allowed,
    denied,
    shadow_denied: points((t) => 60 + 20 * Math.sin(t * 20)),
    shed: points((t) => (t > 0.8 && t < 0.85 ? 900 : 0)),
    degraded: points((t) => (t > 0.9 ? 200 : 0)),
    p99_ms: Array.from({ length: n }, () => 0.28 + 0.05 * random()),
  };
}

export const hostile = `"><img src=x onerror=alert(1)>`;

const ruleRows = [
  ["search-per-key", "token_bucket", "600 per minute, burst 1,000, for each api_key", "enforce", 900, 412, 0, 1],
  ["login-account", "sliding_counter", "10 per minute for each account", "enforce", 150, 203, 0, 0.98],
  ["exports-month", "quota", "1,000 per month for each tenant, Europe/Berlin", "enforce", 640, 88, 0, 0.88],
  ["global-capacity", "gcra", "20,000 per second for everyone", "shadow", 18900, 0, 39, 0.93],
  ["exports-active", "concurrency", "3 at a time for each tenant", "enforce", 21, 2, 0, 0.67],
  [hostile, "fixed_window", `hostile ${hostile}`, "enforce", 0, 0, 0, null],
];

export const cards = () =>
  ruleRows.map(([id, algorithm, summary, mode, passed, denied, shadow, share]) => ({
    id,
    algorithm,
    summary,
    match: {},
    per: ["api_key"],
    mode,
    limit: 600,
    window_ms: 60_000,
    passed_per_second: passed,
    denied_per_second: denied,
    shadow_denied_per_second: shadow,
    fullest: share === null ? null : { subject: "9c41d2f0aa", text: "tenant=acme api_key=9c41d2", share },
    last_seen_at: share === null ? null : ms(-3000),
    fallback: id === "login-account",
    candidate:
      id === "search-per-key"
        ? { summary: "80/min", requests: 182_000, would_change: 25_000, would_deny: 24_100, would_allow: 900, share: 0.14 }
        : null,
  }));

export const rule = (id, range) => ({
  ...cards().find((each) => each.id === id),
  explanation: [
    "Each api_key may make 600 requests per minute, and 1,000 at once after a pause.",
    "It applies to GET and POST on /v1/search.",
    "If Redis does not answer, requests pass, and a limit of this node applies.",
  ],
  series: series(range, 0.05),
  top_subjects: overview(range).top_subjects.slice(0, 3),
});

export function overview(range) {
  return {
    at: ms(0),
    range,
    node: "weir-1",
    state: {
      nodes: { live: 3, expected: 3 },
      store: { name: "redis", ok: true, breaker: "closed", p99_ms: 1.1 },
      database: { kind: "postgres", ok: true, detail: "", lag_ms: 200 },
      rules: { version: 42, hash: "9f86d081884c7d65", source: "database", loaded_at: ms(-720_000), error: null },
      fallbacks: [{ rule: "login-account", policy: "allow", since: ms(-40_000) }],
    },
    totals: {
      allowed_per_second: 18_240,
      denied_per_second: 742,
      denied_share: 0.039,
      usual_denied_share: 0.012,
      shadow_denied_per_second: 61,
      shed_per_second: 0,
      degraded_per_second: 20,
      rules_in_shadow: 2,
      candidates: 1,
      p50_ms: 0.05,
      p99_ms: 0.31,
    },
    series: series(range),
    top_rules: cards()
      .slice(0, 4)
      .map((each) => ({
        rule: each.id,
        mode: each.mode,
        allowed_per_second: each.passed_per_second,
        denied_per_second: each.denied_per_second || each.shadow_denied_per_second,
        fallback: each.fallback,
      })),
    top_subjects: [
      { subject: "9c41d2f0", text: "tenant=acme api_key=9c41d2", rule: "search-per-key", denied_per_second: 380, since: ms(-240_000) },
      { subject: "77a0e1", text: "ip=203.0.113.0/24", rule: "login-account", denied_per_second: 190, since: ms(-660_000) },
      { subject: "ab12cd34ef56", text: null, rule: "exports-month", denied_per_second: 88, since: ms(-7_200_000) },
      { subject: "1234", text: "tenant=initech user=77a0e1", rule: "search-per-key", denied_per_second: 21, since: ms(-40_000) },
    ],
    near_limit: [
      { subject: "a", text: "tenant=hooli", rule: "exports-month", used: 9400, limit: 10_000, share: 0.94 },
      { subject: "b", text: "tenant=umbrella", rule: "search-per-key", used: 528, limit: 600, share: 0.88 },
      { subject: "c", text: "tenant=stark", rule: "exports-active", used: 2.4, limit: 3, share: 0.81 },
    ],
    hot_subjects: [{ subject: "a", text: "tenant=hooli", rule: "search-per-key", per_second: 4210 }],
    ends_soon: [
      { kind: "override", id: "o1", text: "acme, search-per-key, 5,000/min", until: ms(720_000) },
      { kind: "block", id: "b1", text: "198.51.100.7", until: ms(2_460_000) },
      { kind: "candidate", id: "search-per-key", text: "search-per-key, 80/min", until: null },
    ],
  };
}

export const overrides = [
  {
    id: "o1",
    rules: ["search-per-key"],
    when: { tenant: "acme" },
    limit: 5000,
    window: "60s",
    emergency: false,
    until: ms(720_000),
    reason: "launch day",
    actor: "ops-anna",
    created_at: ms(-2_600_000),
    last_used_at: ms(-1000),
    source: "api",
    etag: '"1"',
  },
  {
    id: "o2",
    rules: ["*"],
    when: { tenant: ["globex", "hooli"] },
    unlimited: true,
    emergency: true,
    until: null,
    reason: hostile,
    actor: "file",
    created_at: ms(-9_600_000),
    last_used_at: null,
    source: "file",
    etag: '"1"',
  },
];
export const blocks = [
  {
    id: "b1",
    when: { ip: "198.51.100.7" },
    until: ms(2_460_000),
    reason: "credential stuffing",
    actor: "ops-anna",
    created_at: ms(-600_000),
    hits: 18_221,
    last_used_at: ms(-400),
    source: "api",
    etag: '"1"',
  },
];
export const tenants = [
  {
    tenant: "acme",
    plan: "pro",
    zone: "Europe/Berlin",
    settings: { region: "eu" },
    note: "renewal in March",
    created_at: ms(-9e9),
    updated_at: ms(-86_400_000),
    etag: '"1"',
  },
  { tenant: hostile, plan: "free", zone: null, settings: {}, note: null, created_at: ms(-9e9), updated_at: ms(-8e9), etag: '"1"' },
];
export const keys = [
  {
    id: "k1",
    name: "production",
    prefix: "wk_9c41",
    tenant: "acme",
    plan: null,
    attributes: { team: "search" },
    created_at: ms(-9e9),
    expires_at: null,
    revoked_at: null,
    last_used_at: ms(-2000),
    etag: '"1"',
  },
  {
    id: "k2",
    name: "old CI",
    prefix: "wk_11fe",
    tenant: "acme",
    plan: "free",
    attributes: {},
    created_at: ms(-9e9),
    expires_at: null,
    revoked_at: ms(-86_400_000),
    last_used_at: ms(-99_000_000),
    etag: '"1"',
  },
];
export const tokens = [
  {
    id: "t1",
    name: "ops-anna",
    role: "admin",
    created_at: ms(-8e8),
    expires_at: ms(8e8),
    revoked_at: null,
    last_used_at: ms(-1000),
    actor: "anonymous",
    etag: '"1"',
  },
];
export const audit = [
  {
    id: "1",
    at: ms(-720_000),
    actor: "ops-anna",
    from: "10.0.0.7",
    action: "rules.put",
    object: "rules",
    before: { version: 41 },
    after: { version: 42 },
    reason: "search gets more",
    node: "weir-1",
  },
  {
    id: "2",
    at: ms(-820_000),
    actor: "ops-anna",
    from: "10.0.0.7",
    action: "override.create",
    object: "override o1",
    before: null,
    after: overrides[0],
    reason: "launch day",
    node: "weir-1",
  },
];
export const accounts = [
  {
    id: "a1",
    rule: "exports-month",
    subject: "t",
    tenant: "acme",
    period: "month",
    begins_at: ms(-17 * 864e5),
    ends_at: ms(13 * 864e5),
    limit: 1000,
    used: 610,
    held: 40,
    available: 350,
    expired: 0,
    granted: 0,
    grace: 0,
    overage: 0,
    forecast_at: ms(8 * 864e5),
  },
  {
    id: "a2",
    rule: "exports-month",
    subject: "u",
    tenant: "globex",
    period: "month",
    begins_at: ms(-17 * 864e5),
    ends_at: ms(13 * 864e5),
    limit: 1000,
    used: 1000,
    held: 0,
    available: 0,
    expired: 0,
    granted: 0,
    grace: 0,
    overage: 12,
    forecast_at: ms(-1000),
  },
];
export const account = (id) => ({
  ...accounts.find((each) => each.id === id),
  series: { start_at: ms(-17 * 864e5), step_ms: 864e5, used: Array.from({ length: 18 }, (_, i) => Math.round(610 * (i / 17) ** 1.6)) },
  reservations: reservations.map(({ id, units, reserved_at, expires_at }) => ({ id, units, reserved_at, expires_at })),
  entries: [
    { at: ms(-3_600_000), kind: "usage", amount: 5 },
    { at: ms(-86_400_000), kind: "grant", amount: 100, actor: "ops-anna", reason: "apology" },
  ],
});
export const reservations = [
  { rule: "search-per-tenant", id: "0f3b52a17c9d4e86a1b2c3d4e5f60718", handle: "sealed-1", units: 120, reserved_at: ms(-40_000), expires_at: ms(80_000) },
];
export const holds = [
  { rule: "exports-active", handle: "exp-8812", units: 1, expires_at: ms(21_000), text: "tenant=acme" },
  { rule: "exports-active", handle: "exp-8810", units: 2, expires_at: ms(9000), text: "tenant=acme" },
];

let number = 0;
export function decision(past = 0) {
  number++;
  const allowed = number % 3 === 0;
  const shadow = number % 6 === 0;
  return {
    id: `d${number}`,
    at: ms(-past),
    node: "weir-1",
    allowed,
    reason: allowed ? null : number % 7 === 0 ? "concurrency_exceeded" : "limit_exceeded",
    rule: allowed ? null : "search-per-key",
    source: "store",
    degraded: number % 11 === 0,
    cost: number % 4 ? 1 : 5,
    retry_after_ms: allowed ? 0 : 340,
    action: null,
    method: "GET",
    path: "/v1/search",
    trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
    rules_version: 42,
    rules_hash: "9f86d081884c7d65",
    tenant: "acme",
    attributes: { tenant: number % 5 ? "acme" : hostile, api_key: "9c41d2" },
    rules: [
      {
        rule: "search-per-key",
        subject: "9c41d2f0",
        allowed,
        mode: "enforce",
        limit: 600,
        remaining: allowed ? 40 : 2,
        cost: 1,
        retry_after_ms: allowed ? 0 : 340,
        reset_after_ms: 58_000,
      },
      {
        rule: "global-capacity",
        subject: "all",
        allowed: !shadow,
        mode: "shadow",
        limit: 20_000,
        remaining: 0,
        cost: 1,
        retry_after_ms: 0,
        reset_after_ms: 900,
      },
    ],
  };
}

export const lookup = (attributes) => ({
  attributes,
  plan: "pro",
  tenant: tenants[0],
  blocked: attributes.ip ? { id: "b1", reason: "credential stuffing", until: ms(2_460_000) } : null,
  rules: [
    ["search-per-key", "token bucket, 600/min, burst 1,000", 600, 1000, 1000, 100_000, "override"],
    ["search-per-tenant", "sliding counter, 6,000/min", 6000, 6000, 2820, 58_000, "plan"],
    ["exports-active", "3 at a time", 3, 3, 2, 0, "default"],
    ["exports-month", "1,000 per month, Europe/Berlin", 1000, 1000, 610, 13 * 864e5, "default"],
  ].map(([rule, summary, limit, capacity, used, reset, allowance]) => ({
    rule,
    algorithm: "token_bucket",
    summary,
    per: {},
    subject: "9c41d2f0",
    mode: "enforce",
    limit,
    capacity,
    used,
    remaining: capacity - used,
    share: used / capacity,
    reset_at: reset ? ms(reset) : null,
    retry_at: null,
    allowance,
    override: null,
    explanation: summary,
  })),
  not_matched: [{ rule: "login-account", why: "needs the attribute account" }],
  overrides: [overrides[0]],
  penalties: [],
  leases: holds,
  reservations,
  quotas: [{ rule: "exports-month", limit: 1000, used: 610, held: 40, available: 350, resets_at: ms(13 * 864e5), account: "a1" }],
  decisions: [0, 1, 2, 3].map(() => decision(5000)).filter((each) => !each.allowed),
});

export const text = `version: 1
rules:
  - id: search-per-key
    match: {path: /v1/search}
    per: api_key
    limit: 600
    window: 60s
    burst: 1000
  - id: login-account
    per: account
    algorithm: sliding_counter
    limit: 10
    window: 60s
`;
export const rules = () => ({
  source: "database",
  path: null,
  version: 42,
  hash: "ab12",
  loaded_at: ms(-720_000),
  author: "ops-anna",
  reason: "search gets more",
  text,
  error: null,
  warnings: [],
  etag: '"42"',
});
export const versions = () =>
  [42, 41, 40].map((version, i) => ({
    version,
    at: ms(-720_000 - i * 9e7),
    author: "ops-anna",
    reason: ["search gets more", "logins are limited", "first"][i],
    hash: "ab",
    rules: 2,
    text,
  }));
