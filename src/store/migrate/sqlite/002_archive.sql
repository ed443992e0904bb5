-- Where the log begins in this file: records 1 to seq lie in the archive beside it, and hash is that
-- of record seq, so that the chain can be verified across the border. 0 and zeros: nothing was moved.
CREATE TABLE checkpoint (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	seq INTEGER NOT NULL,
	hash BLOB NOT NULL
) STRICT;
INSERT INTO checkpoint (id, seq, hash) VALUES (1, 0, zeroblob(32));
