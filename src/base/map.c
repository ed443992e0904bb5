#include "base/map.h"

#include "base/alloc.h"
#include "base/str.h"

static const char gone;
#define MAP_GONE ((void *)&gone)

void map_init(struct map *m, uint64_t seed)
{
	*m = (struct map){ .seed = seed };
}

void map_done(struct map *m)
{
	mem_free(m->slots);
	*m = (struct map){ .seed = m->seed };
}

/* The slot of key, or the free slot where it belongs; only with cap > used. */
static struct map_slot *map_find(const struct map *m, str key, uint64_t hash)
{
	size_t mask = m->cap - 1, i = hash & mask;
	struct map_slot *removed = NULL;

	for (;; i = (i + 1) & mask) {
		struct map_slot *s = &m->slots[i];

		if (!s->value)
			return removed ? removed : s;
		if (s->value == MAP_GONE)
			removed = removed ? removed : s;
		else if (s->hash == hash && str_eq(s->key, key))
			return s;
	}
}

static void rehash(struct map *m)
{
	struct map old = *m;

	/* Removed slots vanish here, so a map of stable size does not grow. */
	m->cap = old.n * 2 >= old.cap ? MAX(old.cap * 2, (size_t)16) : old.cap;
	m->slots = mem_zalloc(m->cap, sizeof(*m->slots));
	m->used = m->n;
	for (size_t i = 0; i < old.cap; i++) {
		struct map_slot *s = &old.slots[i];

		if (s->value && s->value != MAP_GONE)
			*map_find(m, s->key, s->hash) = *s;
	}
	mem_free(old.slots);
}

void *map_get(const struct map *m, str key)
{
	void *v = m->cap ? map_find(m, key, str_hash(key, m->seed))->value : NULL;

	return v == MAP_GONE ? NULL : v;
}

void map_put(struct map *m, str key, void *value)
{
	uint64_t hash = str_hash(key, m->seed);
	struct map_slot *s;

	assert(value);
	if ((m->used + 1) * 4 > m->cap * 3)
		rehash(m);
	s = map_find(m, key, hash);
	if (!s->value)
		m->used++;
	if (!s->value || s->value == MAP_GONE)
		m->n++;
	*s = (struct map_slot){ key, hash, value };
}

void *map_remove(struct map *m, str key)
{
	struct map_slot *s = m->cap ? map_find(m, key, str_hash(key, m->seed)) : NULL;
	void *v;

	if (!s || !s->value || s->value == MAP_GONE)
		return NULL;
	v = s->value;
	*s = (struct map_slot){ .value = MAP_GONE };
	m->n--;
	return v;
}

bool map_next(const struct map *m, size_t *i, str *ret_key, void **ret_value)
{
	for (; *i < m->cap; (*i)++) {
		struct map_slot *s = &m->slots[*i];

		if (!s->value || s->value == MAP_GONE)
			continue;
		*ret_key = s->key;
		*ret_value = s->value;
		(*i)++;
		return true;
	}
	return false;
}
