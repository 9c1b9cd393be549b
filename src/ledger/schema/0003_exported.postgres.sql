-- How far the entries were exported and are kept elsewhere: what is old may be removed up to there. One row.
CREATE TABLE ledger_exported (
  one BIGINT PRIMARY KEY CHECK (one = 1),
  last_seq BIGINT NOT NULL CHECK (last_seq >= 0),
  noted_at BIGINT NOT NULL,
  actor TEXT NOT NULL
);

-- Whether a slice holds anything, as a column: an index whose condition were on `held` itself would have to be changed
-- with every unit that is spent.
ALTER TABLE ledger_slice ADD COLUMN holding BOOLEAN GENERATED ALWAYS AS (held > 0) STORED;
DROP INDEX ledger_slice_node;
DROP INDEX ledger_slice_held;
CREATE INDEX ledger_slice_node ON ledger_slice (node, epoch) WHERE holding;
CREATE INDEX ledger_slice_held ON ledger_slice (account) WHERE holding;
