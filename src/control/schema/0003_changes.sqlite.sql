-- Which records a version of change_log is about, so that nodes read these and not the whole table. Only of the latest
-- versions; a version without rows means that everything may have changed.
CREATE TABLE change_record (
  topic TEXT NOT NULL,
  version BIGINT NOT NULL,
  record TEXT NOT NULL,
  PRIMARY KEY (topic, version, record)
);
