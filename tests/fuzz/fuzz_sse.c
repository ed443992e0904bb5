/*
 * The first byte is the size of the pieces, the rest a stream: the events are the same as when it
 * arrives whole, and each one written by the encoder comes back.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/str.h"
#include "data/message/sse.h"
#include "tests/sse_reader.h"

enum { BOUND = 200 };

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_encoder(const struct sse_event *e)
{
	struct buf out = BUF_INIT;
	struct sse_event back;
	struct sse d;

	sse_write(&out, e->id, e->event, e->data);
	sse_write_comment(&out, e->data);
	sse_init(&d, 2 * BOUND);
	sse_feed(&d, out.p, out.n);
	check(sse_next(&d, &back, NULL) == 1);
	check(str_eq(back.id, e->id) && str_eq(back.data, e->data));
	/* The encoder leaves a NUL in the name out; nothing else is lost. */
	check(str_eq(back.event, e->event) || str_find_byte(e->event, '\0') < e->event.n);
	check(sse_next(&d, &back, NULL) == 0);
	sse_done(&d);
	buf_done(&out);
}

/* All that the decoder says, in one text. */
static void decode(const uint8_t *p, size_t n, size_t piece, struct buf *out)
{
	struct sse_event e;
	struct sse d;
	int r = 0;

	sse_init(&d, BOUND);
	for (size_t at = 0; at < n && r >= 0; at += piece) {
		sse_feed(&d, p + at, MIN(piece, n - at));
		while ((r = sse_next(&d, &e, NULL)) == 1) {
			check(e.data.n <= BOUND && e.event.n);
			check_encoder(&e);
			buf_addf(out, "[%zu %zu %zu]", e.id.n, e.event.n, e.data.n);
			buf_adds(out, e.id);
			buf_adds(out, e.event);
			buf_adds(out, e.data);
		}
	}
	buf_addf(out, "%d %lld", r, (long long)d.retry_ms);
	sse_done(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole = BUF_INIT, pieces = BUF_INIT;

	if (size < 1)
		return 0;
	decode(data + 1, size - 1, SIZE_MAX / 2, &whole);
	decode(data + 1, size - 1, data[0] ? data[0] : 1, &pieces);
	check(str_eq(buf_str(&whole), buf_str(&pieces)));
	buf_done(&whole);
	buf_done(&pieces);
	return 0;
}
