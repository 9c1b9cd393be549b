-- What operators set while the server runs: overrides, blocks, tenants and API keys.
-- Times are microseconds since 1970 (UTC). Lists of texts are JSON: [["ip","203.0.113.0/24"],["action","a","b"]].
-- `revision` grows by one with every change of a row, and is its ETag.

CREATE TABLE control_override (
  id TEXT PRIMARY KEY,
  rules TEXT NOT NULL,
  conditions TEXT NOT NULL,
  unit_limit BIGINT,
  window_us BIGINT,
  burst BIGINT,
  unlimited BIGINT NOT NULL,
  mode TEXT NOT NULL CHECK (mode IN ('', 'enforce', 'shadow', 'off')),
  emergency BIGINT NOT NULL,
  until_at BIGINT NOT NULL,
  reason TEXT NOT NULL,
  actor TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  last_used_at BIGINT
);

CREATE TABLE control_block (
  id TEXT PRIMARY KEY,
  conditions TEXT NOT NULL,
  until_at BIGINT,
  reason TEXT NOT NULL,
  actor TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  hits BIGINT NOT NULL,
  last_used_at BIGINT
);

CREATE TABLE control_tenant (
  tenant TEXT PRIMARY KEY,
  plan TEXT NOT NULL,
  zone TEXT NOT NULL,
  settings TEXT NOT NULL,
  note TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  revision BIGINT NOT NULL
);

-- Of a key only a hash under control_secret is kept.
CREATE TABLE control_key (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  prefix TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  plan TEXT NOT NULL,
  attributes TEXT NOT NULL,
  actor TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT,
  last_used_at BIGINT,
  revision BIGINT NOT NULL
);
CREATE INDEX control_key_tenant ON control_key (tenant, id);

-- Under what the keys are hashed: made once, the same for every node.
CREATE TABLE control_secret (
  name TEXT PRIMARY KEY,
  secret TEXT NOT NULL
);
