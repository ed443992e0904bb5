/*
 * The first byte is the size of the pieces, the second the bound, the rest a stream: whatever the
 * pieces, the lines are those of the stream cut at its newlines.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/str.h"
#include "data/message/ndjson.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* The next line of the stream, cut the simple way; false at its end or at a line past the bound. */
static bool expected_line(str *stream, size_t bound, str *ret)
{
	size_t n = str_find_byte(*stream, '\n');

	if (n == stream->n)
		return false;
	*ret = (str){ stream->p, n && stream->p[n - 1] == '\r' ? n - 1 : n };
	*stream = (str){ stream->p + n + 1, stream->n - n - 1 };
	return ret->n <= bound;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	str stream, line, expected;
	struct ndjson d;
	size_t piece;
	int r = 0;

	if (size < 2)
		return 0;
	stream = (str){ (const char *)data + 2, size - 2 };
	piece = data[0] ? data[0] : 1;
	ndjson_init(&d, data[1]);
	for (size_t at = 0; at < size - 2 && r >= 0; at += piece) {
		ndjson_feed(&d, data + 2 + at, MIN(piece, size - 2 - at));
		while ((r = ndjson_next(&d, &line, NULL)) == 1) {
			check(expected_line(&stream, data[1], &expected));
			check(str_eq(line, expected));
		}
	}
	if (r < 0) { /* the line, whole or not, is indeed too long, and the decoder is silent now */
		size_t n = str_find_byte(stream, '\n');

		check(r == OV_ELIMIT && n > data[1]);
		ndjson_feed(&d, "x\n", 2);
		check(ndjson_next(&d, &line, NULL) == 0);
	} else {
		check(!expected_line(&stream, data[1], &expected));
		check(str_eq(ndjson_rest(&d), stream));
	}
	ndjson_done(&d);
	return 0;
}
