-- The ledger of quotas: accounts with their balances, and every movement that made them.
-- Times are microseconds since 1970 (UTC). Units are whole numbers.

-- One rule, one subject, one period. The row is also what transactions lock.
CREATE TABLE ledger_account (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  rule TEXT NOT NULL,
  subject TEXT NOT NULL,
  period TEXT NOT NULL,
  tenant TEXT NOT NULL,
  begins_at BIGINT NOT NULL,
  ends_at BIGINT NOT NULL,
  unit_limit BIGINT NOT NULL CHECK (unit_limit >= 0),
  limit_since BIGINT NOT NULL,
  grace BIGINT NOT NULL CHECK (grace >= 0),
  record_overage BIGINT NOT NULL,
  thresholds TEXT NOT NULL,
  issued BIGINT NOT NULL CHECK (issued >= 0),
  available BIGINT NOT NULL CHECK (available >= 0),
  held BIGINT NOT NULL CHECK (held >= 0),
  used BIGINT NOT NULL CHECK (used >= 0),
  expired BIGINT NOT NULL CHECK (expired >= 0),
  granted BIGINT NOT NULL CHECK (granted >= 0),
  grace_used BIGINT NOT NULL CHECK (grace_used >= 0),
  overage BIGINT NOT NULL CHECK (overage >= 0),
  granted_left BIGINT NOT NULL CHECK (granted_left >= 0),
  version BIGINT NOT NULL CHECK (version >= 0),
  UNIQUE (rule, subject, period),
  CHECK (ends_at > begins_at),
  CHECK (issued = available + held + used + expired),
  CHECK (issued >= granted + grace_used + overage),
  CHECK (granted_left <= available AND granted_left <= granted)
) WITH (fillfactor = 70);
CREATE INDEX ledger_account_tenant ON ledger_account (tenant, id);

-- Numbers for entries. A transaction that has drawn one holds a shared lock until it ends; whoever then gets the lock for
-- itself knows that no number drawn so far belongs to a running transaction. Exports depend on it.
CREATE SEQUENCE ledger_entry_seq AS BIGINT CACHE 1;
CREATE FUNCTION ledger_next_seq() RETURNS BIGINT LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(7761697200000002);
  RETURN nextval('ledger_entry_seq');
END $$;

-- What happened. Rows are added and never changed.
CREATE TABLE ledger_entry (
  seq BIGINT NOT NULL DEFAULT ledger_next_seq() PRIMARY KEY,
  account BIGINT NOT NULL,
  version BIGINT NOT NULL CHECK (version > 0),
  operation TEXT NOT NULL,
  reach BIGINT NOT NULL CHECK (reach > 0),
  kind TEXT NOT NULL,
  from_bucket TEXT NOT NULL CHECK (from_bucket IN ('issue', 'available', 'held', 'used', 'expired')),
  to_bucket TEXT NOT NULL CHECK (to_bucket IN ('issue', 'available', 'held', 'used', 'expired')),
  amount BIGINT NOT NULL CHECK (amount > 0),
  about TEXT NOT NULL,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL,
  effective_at BIGINT NOT NULL,
  recorded_at BIGINT NOT NULL,
  UNIQUE (account, version),
  UNIQUE (operation, account, kind, about),
  CHECK (from_bucket <> to_bucket)
);
CREATE UNIQUE INDEX ledger_entry_reserves ON ledger_entry (about, account) WHERE kind = 'reserve';
CREATE UNIQUE INDEX ledger_entry_closes ON ledger_entry (about, account) WHERE kind IN ('commit', 'release', 'lapse');
CREATE UNIQUE INDEX ledger_entry_reverses ON ledger_entry (about, account) WHERE kind = 'reversal';

CREATE FUNCTION ledger_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'entries of the ledger cannot be changed or deleted; correct them with new ones';
END $$;
CREATE TRIGGER ledger_entry_is_append_only BEFORE UPDATE OR DELETE ON ledger_entry
  FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER ledger_entry_is_not_truncated BEFORE TRUNCATE ON ledger_entry
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
REVOKE UPDATE, DELETE, TRUNCATE ON ledger_entry FROM PUBLIC;
REVOKE UPDATE, DELETE, TRUNCATE ON ledger_entry FROM CURRENT_USER;

CREATE TABLE ledger_grant (
  id TEXT PRIMARY KEY,
  rule TEXT NOT NULL,
  subject TEXT NOT NULL,
  account BIGINT NOT NULL REFERENCES ledger_account (id),
  amount BIGINT NOT NULL CHECK (amount > 0),
  arrived BIGINT NOT NULL CHECK (arrived >= 0 AND arrived <= amount),
  remaining BIGINT NOT NULL CHECK (remaining >= 0 AND remaining <= arrived),
  priority BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL
);
CREATE INDEX ledger_grant_subject ON ledger_grant (rule, subject);

CREATE TABLE ledger_reservation (
  id TEXT PRIMARY KEY,
  state TEXT NOT NULL CHECK (state IN ('open', 'committed', 'released', 'lapsed')),
  commit_on_expiry BIGINT NOT NULL,
  granted BIGINT NOT NULL CHECK (granted >= 0),
  actual BIGINT NOT NULL CHECK (actual >= 0),
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX ledger_reservation_open ON ledger_reservation (expires_at) WHERE state = 'open';
CREATE TABLE ledger_reservation_leg (
  reservation TEXT NOT NULL REFERENCES ledger_reservation (id),
  account BIGINT NOT NULL REFERENCES ledger_account (id),
  held BIGINT NOT NULL CHECK (held >= 0),
  PRIMARY KEY (reservation, account)
);

-- Nodes that spend slices in memory. An epoch is one run of a node.
CREATE TABLE ledger_node (
  name TEXT PRIMARY KEY,
  epoch BIGINT NOT NULL CHECK (epoch > 0),
  seen_at BIGINT NOT NULL
);
CREATE TABLE ledger_slice (
  account BIGINT NOT NULL REFERENCES ledger_account (id),
  node TEXT NOT NULL,
  epoch BIGINT NOT NULL,
  held BIGINT NOT NULL CHECK (held >= 0),
  expired BIGINT NOT NULL CHECK (expired >= 0),
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (account, node, epoch)
) WITH (fillfactor = 70);
CREATE INDEX ledger_slice_node ON ledger_slice (node, epoch) WHERE held > 0;
CREATE INDEX ledger_slice_held ON ledger_slice (account) WHERE held > 0;
CREATE TABLE ledger_usage_batch (
  node TEXT NOT NULL,
  epoch BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  recorded_at BIGINT NOT NULL,
  PRIMARY KEY (node, epoch, seq)
);

-- One row per thread that writes, with the number of its last transaction: when the answer to a commit is lost, this
-- row says whether it happened.
CREATE TABLE ledger_committer (
  id TEXT PRIMARY KEY,
  last_number BIGINT NOT NULL,
  seen_at BIGINT NOT NULL
);

-- Answers to repeat when the same key comes again.
CREATE TABLE ledger_answer (
  id TEXT PRIMARY KEY,
  request TEXT NOT NULL,
  operation TEXT NOT NULL,
  answer TEXT NOT NULL,
  keep_until BIGINT NOT NULL
);
CREATE INDEX ledger_answer_age ON ledger_answer (keep_until);

-- Thresholds that were reached: once per account, which is once per period.
CREATE TABLE ledger_notice (
  account BIGINT NOT NULL REFERENCES ledger_account (id),
  threshold BIGINT NOT NULL,
  used BIGINT NOT NULL,
  reached_at BIGINT NOT NULL,
  delivered_at BIGINT,
  PRIMARY KEY (account, threshold)
);
CREATE INDEX ledger_notice_pending ON ledger_notice (reached_at) WHERE delivered_at IS NULL;
