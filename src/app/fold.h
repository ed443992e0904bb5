#pragma once
/* The state of a store: its snapshot, when there is one of our format, and the tail of its log. */
#include "base/ov.h"
#include "core/state.h"
#include "store/store.h"

/* Folds up to and including record `until` (UINT64_MAX: all). *ret_snapshot is where the snapshot stood, or 0. */
int fold_store(struct store *s, uint64_t hash_seed, uint64_t until, struct state **ret,
		uint64_t *ret_snapshot, struct ov_err *err);
