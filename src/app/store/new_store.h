#pragma once
/*
 * A store that is written anew, in a file of its own beside the one whose place it will take: whole
 * and verified before that happens, so that whoever is interrupted left the old one as it was. The
 * caller holds the old one (store_hold).
 */
#include "base/ov.h"
#include "store/store.h"

struct new_store {
	struct arena *arena;
	const char *path; /* the database that it will be */
	const char *tmp;
	struct store *store;
	uint64_t head;
};

int new_store_open(struct new_store *n, struct arena *a, const char *path, struct ov_err *err);
int new_store_append(struct new_store *n, const struct store_record *recs, size_t count,
		struct ov_err *err);
/* Closes and verifies it. */
int new_store_finish(struct new_store *n, struct ov_err *err);
/* Puts it in the place of the old one, of which nothing is left. */
int new_store_replace(struct new_store *n, struct ov_err *err);
/* Removes what is left of it: after a replacement nothing. */
void new_store_done(struct new_store *n);
