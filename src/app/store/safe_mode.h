#pragma once
/*
 * Safe mode: a store whose file is damaged, or whose log breaks, is left as it is and read as far
 * as it can be verified; nothing is written or dispatched until a person has decided. Here is how
 * such a store is told from one that merely cannot be reached or was written by a newer program,
 * how its files are kept aside, and how safe mode is shown.
 */
#include "base/ov.h"
#include "core/state/state.h"
#include "store/store.h"

enum { SAFE_COPIES_MAX = 5 }; /* kept aside in all; more are not made, and none is removed */

struct safe_mode {
	bool on;
	char reason[1024];
	ov_time since;
	uint64_t last_seq; /* the last event that counts */
	char copy[4096];   /* where the files were kept, or empty */
};

/* A store opened for reading, and its state. Release with safe_store_done. */
struct safe_store {
	struct store *store;
	struct state *state;
	uint64_t snapshot;         /* where the fold began */
	char snapshot_damage[512]; /* the state is right, but a snapshot was no help; or empty */
	bool newer; /* of a failure: the log holds what only a newer program understands */
	struct safe_mode safe;
};

/*
 * Opens for reading and folds. Damage is no failure: ret->safe.on then, and the rest is what can be
 * verified. OV_ENOTFOUND, OV_ESTATE (another version's) and OV_EIO (not reachable) are.
 */
int safe_store_open(const char *url, uint64_t hash_seed, struct safe_store *ret,
		struct ov_err *err);
/*
 * As safe_store_open, of one that was opened and yet is damaged in a place that is only used
 * for writing.
 */
int safe_store_open_damaged(const char *url, uint64_t hash_seed, const struct ov_err *why,
		struct safe_store *ret);
void safe_store_done(struct safe_store *s);

/* The database's path of a URL; OV_ESTATE when the store is not a file of SQLite's. */
int safe_store_path(struct arena *a, const char *url, const char **ret, struct ov_err *err);
/*
 * Copies the files of a damaged store, archive included, beside it ("store.corrupt-TIME.db"),
 * unless that was done before. Call without an open connection to it. *ret is the copy's path in
 * the arena; OV_ELIMIT when there are too many already.
 */
int safe_store_copy_aside(struct arena *a, const char *path, const char **ret, struct ov_err *err);
/*
 * The store's files of this sort that lie beside it, as "store.SORT-TIME.db": paths, oldest first.
 */
int safe_store_beside(struct arena *a, const char *path, const char *sort, const char ***ret,
		size_t *ret_n, struct ov_err *err);
/* The name of a new one. */
const char *safe_store_beside_new(struct arena *a, const char *path, const char *sort, ov_time now);
/* "20261115T014235123Z", for names of files. */
str safe_store_stamp(struct arena *a, ov_time t);
/* Why nothing is written now. */
void safe_mode_refusal(const struct safe_mode *s, struct ov_err *ret);
/* {reason, since, last_seq, copy}, or null. */
value *safe_mode_view(struct arena *a, const struct safe_mode *s);
/* As an entry of what needs a person. */
value *safe_mode_need(struct arena *a, const struct safe_mode *s);
