-- Legs of reservations that cost what they hold, whatever the reservation's amount.
ALTER TABLE ledger_reservation_leg ADD COLUMN fixed BIGINT NOT NULL DEFAULT 0;

-- What is left of accounts whose entries were removed, long after their period and after they were exported.
CREATE TABLE ledger_archive (
  account BIGINT PRIMARY KEY,
  rule TEXT NOT NULL,
  subject TEXT NOT NULL,
  period TEXT NOT NULL,
  tenant TEXT NOT NULL,
  begins_at BIGINT NOT NULL,
  ends_at BIGINT NOT NULL,
  unit_limit BIGINT NOT NULL,
  used BIGINT NOT NULL,
  expired BIGINT NOT NULL,
  granted BIGINT NOT NULL,
  overage BIGINT NOT NULL,
  entries BIGINT NOT NULL,
  first_at BIGINT NOT NULL,
  last_at BIGINT NOT NULL,
  archived_at BIGINT NOT NULL,
  CHECK (archived_at >= ends_at + 86400000000)
);

-- Entries are deleted only of accounts that are in the archive, and one goes there only if nothing of it is held.
CREATE OR REPLACE FUNCTION ledger_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF EXISTS (SELECT 1 FROM ledger_archive WHERE account = OLD.account) THEN
      RETURN OLD;
    END IF;
  END IF;
  RAISE EXCEPTION 'entries of the ledger cannot be changed or deleted; correct them with new ones';
END $$;
GRANT DELETE ON ledger_entry TO CURRENT_USER;
CREATE FUNCTION ledger_check_archive() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM ledger_account WHERE id = NEW.account AND ends_at = NEW.ends_at AND held = 0) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'an account that holds something, or none, cannot be archived';
END $$;
CREATE TRIGGER ledger_archive_is_of_closed BEFORE INSERT ON ledger_archive
  FOR EACH ROW EXECUTE FUNCTION ledger_check_archive();
CREATE FUNCTION ledger_keep_archive() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the archive of the ledger cannot be changed';
END $$;
CREATE TRIGGER ledger_archive_is_append_only BEFORE UPDATE OR DELETE ON ledger_archive
  FOR EACH ROW EXECUTE FUNCTION ledger_keep_archive();
