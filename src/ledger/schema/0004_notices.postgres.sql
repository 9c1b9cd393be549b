-- Which node tells of a threshold, and until when no other does.
ALTER TABLE ledger_notice ADD COLUMN claimed_by TEXT NOT NULL DEFAULT '';
ALTER TABLE ledger_notice ADD COLUMN claimed_until BIGINT NOT NULL DEFAULT 0;
