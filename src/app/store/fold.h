#pragma once
/* The state of a store: its snapshot, when there is one of our format, and the tail of its log. */
#include "base/ov.h"
#include "core/state/state.h"
#include "store/store.h"

/*
 * Folds up to and including record `until` (UINT64_MAX: all). *ret_snapshot is where the snapshot
 * stood, or 0.
 */
int fold_store(struct store *s, uint64_t hash_seed, uint64_t until, struct state **ret,
		uint64_t *ret_snapshot, struct ov_err *err);
/*
 * As fold_store, but as far as it goes: *ret is given in any case, and an error says why it
 * ends early.
 */
int fold_prefix(struct store *s, uint64_t hash_seed, uint64_t until, struct state **ret,
		uint64_t *ret_snapshot, struct ov_err *err);
/* As fold_store, from where *state stands when it is not NULL: then *snapshot stays. */
int fold_rest(struct store *s, uint64_t hash_seed, uint64_t until, struct state **state,
		uint64_t *snapshot, struct ov_err *err);
/*
 * Folds what came after the state, up to `until`. On failure the state stands before what failed.
 */
int fold_on(struct store *s, struct state *state, uint64_t until, struct ov_err *err);
