#include "core/capacity/retention.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/str.h"

static int newer_first(const void *x, const void *y)
{
	const struct retained *a = x, *b = y;

	if (a->at != b->at)
		return a->at > b->at ? -1 : 1;
	return -str_cmp(a->name, b->name);
}

void retain(struct retained *list, size_t n, ov_time now, ov_time keep, int64_t keep_count)
{
	struct map groups;

	if (n)
		qsort(list, n, sizeof(*list), newer_first);
	map_init(&groups, 0);
	for (size_t i = 0; i < n; i++) {
		struct retained *x = &list[i];
		bool newest = !map_get(&groups, x->group);

		if (newest)
			map_put(&groups, x->group, x);
		x->drop = !x->needed && !newest && (int64_t)i >= keep_count && x->at < now - keep;
	}
	map_done(&groups);
}
