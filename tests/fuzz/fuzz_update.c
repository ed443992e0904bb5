/*
 * The first byte is the size of the pieces, the second says whether the front is missing, the rest
 * is what an agent wrote: the pieces do not matter, a verdict is complete, and an update that was
 * accepted is accepted again as it is stored, and merging it twice is merging it once.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/str.h"
#include "core/life/update.h"
#include "data/value/json.h"
#include "tests/update_find.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void note(struct buf *out, const struct update_block *b)
{
	check(b->bytes.n <= UPDATE_WINDOW);
	buf_addf(out, "%llu %d ", (unsigned long long)b->offset, b->cut);
	buf_adds(out, b->bytes);
}

static void scan(str stream, bool cut, size_t most, struct buf *out)
{
	struct update_scan s;
	struct update_block b;

	update_scan_init(&s, 0, cut);
	for (size_t at = 0; at < stream.n; at += most) {
		str piece = str_sub(stream, at, most);

		while (update_scan_next(&s, &piece, &b))
			note(out, &b);
	}
	if (update_scan_end(&s, &b))
		note(out, &b);
	update_scan_done(&s);
}

/* What was accepted, written as a block again, is the same update. */
static void check_again(struct arena *a, const struct update *u)
{
	value *doc = value_object(a), *once = update_merge(a, NULL, u);
	struct update_block b = { 0 };
	struct update_result r;

	check(value_equal(update_merge(a, once, u), once));
	value_put(a, doc, "overseerUpdate", once);
	b.bytes = json_text(a, doc);
	update_parse(a, &b, NULL, 0, &r);
	/* Escapes may be written longer than they were read. */
	check(r.verdict == UPDATE_OK || b.bytes.n > UPDATE_WINDOW);
	if (r.verdict == UPDATE_OK)
		check(r.update.status == u->status &&
				value_equal(update_merge(a, NULL, &r.update), once));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = ARENA_INIT;
	struct buf whole = BUF_INIT, pieces = BUF_INIT;
	struct update_result r;
	str stream;
	bool cut;

	if (size < 2)
		return 0;
	stream = (str){ (const char *)data + 2, size - 2 };
	cut = data[1] & 1;
	scan(stream, cut, stream.n + 1, &whole);
	scan(stream, cut, data[0] ? data[0] : 1, &pieces);
	check(str_eq(buf_str(&whole), buf_str(&pieces)));

	update_find(&a, stream, 0, cut, NULL, 0, &r);
	check((r.verdict == UPDATE_BAD) == (r.problems_n > 0));
	check(r.verdict != UPDATE_OWN);
	check(r.verdict == UPDATE_NONE || r.block.offset + r.block.bytes.n <= stream.n);
	check((update_problems_text(&a, &r).n > 0) == (r.verdict == UPDATE_BAD));
	if (r.verdict == UPDATE_OK)
		check_again(&a, &r.update);
	if (r.verdict != UPDATE_NONE) { /* sent by ourselves, the same is no answer */
		update_find(&a, stream, 0, cut, &stream, 1, &r);
		check(r.verdict == UPDATE_OWN);
	}
	buf_done(&whole);
	buf_done(&pieces);
	arena_done(&a);
	return 0;
}
