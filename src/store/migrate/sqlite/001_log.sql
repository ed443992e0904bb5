-- The log, its snapshots, the lease of the one daemon that may write.

-- body and kind are bound and read with their length, so any bytes survive. WITHOUT ROWID would
-- make each append rewrite more: seq as the rowid appends to the last leaf.
CREATE TABLE log (
	seq INTEGER PRIMARY KEY,
	at INTEGER NOT NULL,
	kind TEXT NOT NULL,
	body TEXT NOT NULL,
	hash BLOB NOT NULL
) STRICT;

-- sum is the SHA-256 of bytes: a damaged snapshot is skipped, the log is the truth.
CREATE TABLE snapshot (
	seq INTEGER PRIMARY KEY,
	hash BLOB NOT NULL,
	format INTEGER NOT NULL,
	sum BLOB NOT NULL,
	bytes BLOB NOT NULL
) STRICT;

-- Who writes, or wrote last; whether it lives is told by the lock file, not by this row.
CREATE TABLE lease (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	holder TEXT NOT NULL,
	term INTEGER NOT NULL
) STRICT;
INSERT INTO lease (id, holder, term) VALUES (1, '', 0);

CREATE TABLE meta (
	key TEXT PRIMARY KEY,
	value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta (key, value) VALUES
	('chain', 'sha256(previous hash, be64 seq, be64 at, be32 length of kind, kind, body)');
