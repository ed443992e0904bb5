#pragma once
/* The whole output of an agent at once, where the daemon reads block by block as they come. */
#include "core/life/update.h"

/* Later ones win, but a block of our own is no answer as long as there is any other. */
static inline void consider(struct arena *a, const struct update_block *b, const str *sent,
		size_t sent_n, struct update_result *best)
{
	struct update_result r;

	update_parse(a, b, sent, sent_n, &r);
	if (r.verdict > UPDATE_OWN || (r.verdict == UPDATE_OWN && best->verdict <= UPDATE_OWN))
		*best = r;
}

/*
 * The last update in what an agent wrote: window is the end of it, its first byte at offset. With
 * nothing but blocks of our own the verdict is UPDATE_OWN.
 */
static inline void update_find(struct arena *a, str window, uint64_t offset, bool cut,
		const str *sent, size_t sent_n, struct update_result *ret)
{
	struct update_scan s;
	struct update_block b;

	*ret = (struct update_result){ .verdict = UPDATE_NONE };
	update_scan_init(&s, offset, cut);
	while (update_scan_next(&s, &window, &b))
		consider(a, &b, sent, sent_n, ret);
	if (update_scan_end(&s, &b))
		consider(a, &b, sent, sent_n, ret);
	update_scan_done(&s);
}
