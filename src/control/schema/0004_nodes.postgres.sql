-- The nodes that share this database. A node that stops takes its row away; one that fails leaves it.
CREATE TABLE control_node (
  name TEXT PRIMARY KEY,
  seen_at BIGINT NOT NULL
);
