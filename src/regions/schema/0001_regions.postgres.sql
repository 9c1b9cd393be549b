-- What regions share. All times are microseconds since the Unix epoch, by this database's clock.

-- One row: since when there is what is here, and until when it may not be complete. It is made with the tables; if it
-- is gone, rows were lost.
CREATE TABLE region_state (
  id SMALLINT PRIMARY KEY CHECK (id = 1),
  created_us BIGINT NOT NULL,
  learning_until_us BIGINT NOT NULL
);
INSERT INTO region_state (id, created_us, learning_until_us)
VALUES (1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, 0);

-- The share of a key's limit that each node may use (region: slices).
CREATE TABLE region_share (
  key TEXT NOT NULL,
  region TEXT NOT NULL,
  node TEXT NOT NULL,
  share_ppm BIGINT NOT NULL,
  ends_us BIGINT NOT NULL,
  held_ppm BIGINT NOT NULL,
  held_until_us BIGINT NOT NULL,
  epoch BIGINT NOT NULL,
  demand_ppm BIGINT NOT NULL,
  PRIMARY KEY (key, region, node)
);
CREATE INDEX region_share_ends ON region_share (ends_us);

-- What each region has admitted of a key in a window (region: reconcile). Numbers only grow.
CREATE TABLE region_cell (
  key TEXT NOT NULL,
  starts_us BIGINT NOT NULL,
  region TEXT NOT NULL,
  epoch BIGINT NOT NULL,
  used BIGINT NOT NULL,
  ends_us BIGINT NOT NULL,
  PRIMARY KEY (key, starts_us, region, epoch)
);
CREATE INDEX region_cell_ends ON region_cell (ends_us);

-- What each region was given of a key's limit in a window (region: slices on a window). Numbers only grow.
CREATE TABLE region_units (
  key TEXT NOT NULL,
  starts_us BIGINT NOT NULL,
  region TEXT NOT NULL,
  given BIGINT NOT NULL,
  ends_us BIGINT NOT NULL,
  PRIMARY KEY (key, starts_us, region)
);
CREATE INDEX region_units_ends ON region_units (ends_us);
