#pragma once
/*
 * Hash map from string to pointer. Keys are borrowed: they must live as long as their entry
 * (usually inside the object that is the value). Iteration order is not stable; whoever needs an
 * order keeps a vector beside the map. The seed makes the hash keyed, against crafted keys.
 */
#include "base/ov.h"

struct map_slot {
	str key;
	uint64_t hash; /* of the key: growing and passing by others need not look at their keys */
	void *value;   /* NULL: never used; MAP_GONE: removed */
};

struct map {
	struct map_slot *slots;
	size_t n, used, cap; /* live, live + removed, power of two */
	uint64_t seed;
};

void map_init(struct map *m, uint64_t seed);
void map_done(struct map *m);
void *map_get(const struct map *m, str key);
/* Adds or replaces; value must not be NULL. */
void map_put(struct map *m, str key, void *value);
/* Removes and returns the value, or NULL. */
void *map_remove(struct map *m, str key);
/* for (size_t i = 0; map_next(m, &i, &key, &value);) */
bool map_next(const struct map *m, size_t *i, str *ret_key, void **ret_value);
