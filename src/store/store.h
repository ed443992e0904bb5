#pragma once
/*
 * The durable log: an ordered, hash-chained sequence of records, one snapshot, one lease. It is
 * dumb on purpose: it knows no domain, answers no queries and decides nothing; state is folded
 * from it elsewhere. Back-ends implement store_ops; one conformance suite runs on all of them.
 *
 * Appending is asynchronous in form: done() runs exactly once, before append returns (memory,
 * SQLite) or later from pump (PostgreSQL). At most one append is in flight. Everything passed in
 * is borrowed for the call; what reads return lives in the caller's arena.
 */
#include "base/ov.h"
#include "data/id/sha256.h"

struct store;

struct store_record {
	uint64_t seq; /* 1, 2, 3 ... without gaps; given by the store on append */
	ov_time at;
	str kind; /* the event's name, for eyes and indexes */
	str body; /* canonical JSON */
	/* sha256(previous hash, seq, at, kind, body); given by the store */
	uint8_t hash[SHA256_LEN];
};

/* Bounds that every back-end keeps; more gives OV_ELIMIT. */
enum {
	STORE_KIND_MAX = 255,
	STORE_BODY_MAX = 16 << 20,
	STORE_HOLDER_MAX = 4096,
};

/*
 * r: 0 and the new head; or OV_ECONFLICT (head moved), OV_EIO (disk), OV_EFENCED (lease lost or
 * never taken), OV_ELIMIT (a bound above). After a failure head is the log's head as far as known,
 * and nothing of the group is in the log. err is NULL on success.
 */
typedef void store_done(void *user, int r, uint64_t head, const struct ov_err *err);

struct store_lease {
	/* who: opaque JSON text written by the daemon (pid, start time, boot, instance) */
	str holder;
	uint64_t term; /* grows by one with each change of holder */
};

struct store_snapshot {
	uint64_t seq;             /* state after this record */
	uint8_t hash[SHA256_LEN]; /* of that record, so that the chain can be verified onwards */
	/* version of the encoding of bytes; unknown ones are ignored by the caller */
	int64_t format;
	str bytes;
};

/*
 * Salvage is for a store that cannot be opened or read otherwise: read-only, and its log ends with
 * the last record that can be verified (from the beginning, or from an undamaged snapshot). Its
 * lease keeps others away without writing anything.
 */
enum store_mode { STORE_READ_WRITE, STORE_READ_ONLY, STORE_SALVAGE };

struct store_ops {
	const char *scheme;
	int (*open)(str path, enum store_mode mode, struct store **ret, struct ov_err *err);
	void (*close)(struct store *s);
	/* See store_hold. */
	int (*hold)(str path, int *ret_fd, struct ov_err *err);
	/* See store_settle. */
	int (*settle)(str path, struct ov_err *err);
	/* All or nothing, only if head == expect and the lease is ours. */
	void (*append)(struct store *s, uint64_t expect, const struct store_record *recs, size_t n,
			store_done *done, void *user);
	/*
	 * Up to limit records with seq > after, in order; fewer only at the end of the log.
	 * Verifies the chain as it reads, beginning with the stored hash of record `after`: OV_EIO,
	 * and no records, on a break. (A smaller limit gets at the part before it.)
	 */
	int (*read)(struct store *s, uint64_t after, size_t limit, struct arena *a,
			struct store_record **ret, size_t *ret_n, struct ov_err *err);
	int (*head)(struct store *s, uint64_t *ret_seq, uint8_t ret_hash[static SHA256_LEN],
			struct ov_err *err);
	/*
	 * Needs the lease; OV_EINVALID unless the log has a record with this seq and hash. The
	 * newest two are kept.
	 */
	int (*snapshot_put)(struct store *s, const struct store_snapshot *snap, struct ov_err *err);
	/*
	 * The newest that is undamaged: snapshots only save time, the log is the truth.
	 * OV_ENOTFOUND when there is none; OV_EIO when the log no longer has the record that it
	 * was taken at.
	 */
	int (*snapshot_get)(struct store *s, struct arena *a, struct store_snapshot *ret,
			struct ov_err *err);
	/*
	 * Takes the exclusive lease. The proof of life is the kernel's (a file lock in SQLite, an
	 * advisory lock in PostgreSQL): held by a live process, this one included -> OV_ECONFLICT
	 * with *ret = its holder (in a); free or left by a dead one -> taken with term + 1.
	 */
	int (*lease_take)(struct store *s, str holder, struct arena *a, struct store_lease *ret,
			struct ov_err *err);
	void (*lease_release)(struct store *s);
	/*
	 * Verifies the chain after record `after` (0: all of it), keeping nothing. *ret_last is the
	 * last record before the break (OV_EIO, and err says what broke), or the head.
	 */
	int (*verify)(struct store *s, uint64_t after, uint64_t *ret_last, struct ov_err *err);
	/*
	 * The back-end's own check of all that it has on disk: slow. OV_EINVALID with its first
	 * findings, OV_EIO when it cannot look.
	 */
	int (*check)(struct store *s, struct ov_err *err);
	/*
	 * Moves the oldest records, up to upto and max of them, to the archive: a second file with
	 * the same chain. Needs the lease. Never beyond the newest whole snapshot, so that a start
	 * reads no archive; 0 moved when there is nothing to move. Interrupted at any point nothing
	 * is lost, and the next call goes on. Reads find the records where they are; without the
	 * archive (OV_EUNAVAILABLE, with what to do) only those that stayed.
	 */
	int (*archive)(struct store *s, uint64_t upto, size_t max, size_t *ret_moved,
			struct ov_err *err);
	/* The last record that was moved, 0: none. */
	int (*border)(struct store *s, uint64_t *ret_seq, struct ov_err *err);
	/*
	 * A consistent copy to a new file, archive included, whoever writes meanwhile: slow, not
	 * synced. Also of a store whose file was removed while it is open. Where the archive is
	 * missing the copy misses it, too, and says so when it is read.
	 */
	int (*copy)(struct store *s, const char *path, struct ov_err *err);
	/*
	 * What salvage found wrong, or else: that snapshot_get passed over one that is damaged.
	 * Empty when nothing is. Valid as long as the store.
	 */
	str (*damage)(struct store *s);
	int (*fd)(struct store *s);                       /* to watch for pump, or -1 */
	int (*pump)(struct store *s, struct ov_err *err); /* fd readable: finish appends */
};

struct store {
	const struct store_ops *ops; /* back-ends embed this as their first member */
};

/*
 * "mem:" or "sqlite:PATH" (store_trace.h wraps any of them). Read-only opens neither create nor
 * change anything; OV_ENOTFOUND when there is no store. A store of a newer version is refused with
 * OV_ESTATE, a damaged one with OV_EIO, both untouched. Read-write creates and brings up to date.
 * Salvage opens what is damaged too; OV_EIO then means that the file cannot be read at all now.
 */
int store_open(str url, enum store_mode mode, struct store **ret, struct ov_err *err);
void store_close(struct store *s); /* NULL allowed */
/*
 * Keeps every daemon away from the store's files without opening them, for who copies or replaces
 * them; closing the fd lets go. OV_ECONFLICT when a process holds the lease, OV_ESTATE when the
 * store is no file.
 */
int store_hold(str url, int *ret_fd, struct ov_err *err);
/*
 * Brings what lies beside a store's file, not yet in it, into the file itself: for who is about to
 * replace it, and holds it. Works on a damaged store as far as its pages can be told from
 * each other.
 */
int store_settle(str url, struct ov_err *err);

void store_append(struct store *s, uint64_t expect, const struct store_record *recs, size_t n,
		store_done *done, void *user);
int store_read(struct store *s, uint64_t after, size_t limit, struct arena *a,
		struct store_record **ret, size_t *ret_n, struct ov_err *err);
int store_head(struct store *s, uint64_t *ret_seq, uint8_t ret_hash[static SHA256_LEN],
		struct ov_err *err);
int store_snapshot_put(struct store *s, const struct store_snapshot *snap, struct ov_err *err);
int store_snapshot_get(struct store *s, struct arena *a, struct store_snapshot *ret,
		struct ov_err *err);
int store_lease_take(struct store *s, str holder, struct arena *a, struct store_lease *ret,
		struct ov_err *err);
void store_lease_release(struct store *s);
int store_verify(struct store *s, uint64_t after, uint64_t *ret_last, struct ov_err *err);
int store_check(struct store *s, struct ov_err *err);
int store_archive(struct store *s, uint64_t upto, size_t max, size_t *ret_moved,
		struct ov_err *err);
int store_border(struct store *s, uint64_t *ret_seq, struct ov_err *err);
/* Where the archive of a store in a file lies: "archive.db" for "store.db", else "PATH-archive". */
str store_archive_path(struct arena *a, str path);
int store_copy(struct store *s, const char *path, struct ov_err *err);
str store_damage(struct store *s);
int store_fd(struct store *s);
int store_pump(struct store *s, struct ov_err *err);
/* The chain rule, shared by all back-ends and by whoever verifies. */
void store_chain(const uint8_t prev[static SHA256_LEN], const struct store_record *r,
		uint8_t ret[static SHA256_LEN]);
