-- What the admin API keeps: who may use it, what was changed, and versions of the rules.
-- Times are microseconds since 1970 (UTC).

-- Rows are added and never changed. before_json and after_json are JSON, or empty.
CREATE TABLE audit_entry (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at BIGINT NOT NULL,
  actor TEXT NOT NULL,
  origin TEXT NOT NULL,
  action TEXT NOT NULL,
  object TEXT NOT NULL,
  before_json TEXT NOT NULL,
  after_json TEXT NOT NULL,
  reason TEXT NOT NULL,
  node TEXT NOT NULL
);
CREATE INDEX audit_entry_at ON audit_entry (at);
CREATE INDEX audit_entry_object ON audit_entry (object, id);
CREATE TRIGGER audit_entry_is_not_updated BEFORE UPDATE ON audit_entry BEGIN
  SELECT RAISE(ABORT, 'entries of the audit trail cannot be changed');
END;
CREATE TRIGGER audit_entry_is_not_deleted BEFORE DELETE ON audit_entry BEGIN
  SELECT RAISE(ABORT, 'entries of the audit trail cannot be deleted');
END;

-- A number for each kind of thing that nodes keep in memory; it grows with every change.
CREATE TABLE change_log (
  topic TEXT PRIMARY KEY,
  version BIGINT NOT NULL
);

-- Tokens of the admin API. Only their SHA-256 is kept.
CREATE TABLE admin_token (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('reader', 'operator', 'admin')),
  hash TEXT NOT NULL UNIQUE,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT,
  last_used_at BIGINT,
  actor TEXT NOT NULL
);
CREATE UNIQUE INDEX admin_token_name ON admin_token (name) WHERE revoked_at IS NULL;

-- The rules, each time that they changed. The highest number is active where rules are in the database.
CREATE TABLE rules_version (
  version INTEGER PRIMARY KEY AUTOINCREMENT,
  at BIGINT NOT NULL,
  author TEXT NOT NULL,
  reason TEXT NOT NULL,
  node TEXT NOT NULL,
  source TEXT NOT NULL,
  hash TEXT NOT NULL,
  rules BIGINT NOT NULL,
  content TEXT NOT NULL
);
CREATE INDEX rules_version_hash ON rules_version (hash);
