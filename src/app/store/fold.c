#include "app/store/fold.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "core/fold/apply.h"
#include "core/state/snapshot.h"

enum { PAGE = 4096 };

/* The snapshot's state, or an empty one when there is none that we can use. */
static struct state *from_snapshot(struct store *s, uint64_t hash_seed, uint64_t until)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct store_snapshot snap;
	struct state *state;

	if (store_snapshot_get(s, &a, &snap, NULL) == 0 && snap.format == SNAPSHOT_FORMAT &&
			snap.seq <= until &&
			snapshot_read(snap.bytes, hash_seed, &state, NULL) == 0)
		return state;
	return state_new(hash_seed);
}

static int fold_page(struct state *state, struct store *s, uint64_t until, size_t *ret_n,
		struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT, scratch = ARENA_INIT;
	struct store_record *recs;
	size_t limit = until - state->seq < PAGE ? (size_t)(until - state->seq) : PAGE, n;
	int r = store_read(s, state->seq, limit, &a, &recs, &n, err);

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct event ev;

		arena_reset(&scratch);
		r = event_decode(&scratch, recs[i].seq, recs[i].at, recs[i].kind, recs[i].body, &ev,
				err);
		if (r == 0)
			r = apply(state, &ev, err);
	}
	if (r == 0)
		*ret_n = n;
	return r;
}

int fold_on(struct store *s, struct state *state, uint64_t until, struct ov_err *err)
{
	size_t n = 1;
	int r = 0;

	while (r == 0 && n > 0 && state->seq < until)
		r = fold_page(state, s, until, &n, err);
	mem_trim();
	return r < 0 ? ov_wrap(err, r, "reading the store") : 0;
}

int fold_prefix(struct store *s, uint64_t hash_seed, uint64_t until, struct state **ret,
		uint64_t *ret_snapshot, struct ov_err *err)
{
	*ret = from_snapshot(s, hash_seed, until);
	*ret_snapshot = (*ret)->seq;
	return fold_on(s, *ret, until, err);
}

int fold_store(struct store *s, uint64_t hash_seed, uint64_t until, struct state **ret,
		uint64_t *ret_snapshot, struct ov_err *err)
{
	struct state *state;
	uint64_t snapshot;
	int r = fold_prefix(s, hash_seed, until, &state, &snapshot, err);

	if (r < 0) {
		state_free(state);
		return r;
	}
	*ret = state;
	*ret_snapshot = snapshot;
	return 0;
}

int fold_rest(struct store *s, uint64_t hash_seed, uint64_t until, struct state **state,
		uint64_t *snapshot, struct ov_err *err)
{
	return *state ? fold_on(s, *state, until, err)
		      : fold_store(s, hash_seed, until, state, snapshot, err);
}
