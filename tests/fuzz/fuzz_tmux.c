/*
 * The first byte is the size of the pieces, the rest what tmux says: whatever the pieces, the same
 * statements come out of it. As a text it is quoted and cleaned, too: one line, no way out of
 * a paste.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/str.h"
#include "drive/tmux/tmux_wire.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void read_all(struct tmux_wire *w, struct buf *out)
{
	struct tmux_said s;

	while (tmux_wire_next(w, &s, NULL) > 0) {
		buf_addf(out, "%d%d%d:", (int)s.kind, s.ours, s.cut);
		buf_adds(out, s.text);
		buf_addc(out, '\0');
	}
}

static void check_text(str text)
{
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;
	str clean = tmux_clean(&a, text);

	for (size_t i = 0; i < clean.n; i++)
		check((unsigned char)clean.p[i] >= ' ' || clean.p[i] == '\n' || clean.p[i] == '\t');
	check(str_eq(clean, tmux_clean(&a, clean)));
	tmux_add_word(&b, clean);
	for (size_t i = 0; i < b.n; i++)
		check((unsigned char)b.p[i] >= ' ' && b.p[i] != 0x7f);
	buf_done(&b);
	arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole = BUF_INIT, pieces = BUF_INIT;
	struct tmux_wire w;
	size_t piece;
	str stream;

	if (size < 1)
		return 0;
	stream = (str){ (const char *)data + 1, size - 1 };
	piece = data[0] ? data[0] : 1;
	tmux_wire_init(&w);
	tmux_wire_feed(&w, stream);
	read_all(&w, &whole);
	tmux_wire_done(&w);
	tmux_wire_init(&w);
	for (size_t at = 0; at < stream.n; at += piece) {
		tmux_wire_feed(&w, str_sub(stream, at, piece));
		read_all(&w, &pieces);
	}
	tmux_wire_done(&w);
	check(str_eq(buf_str(&whole), buf_str(&pieces)));
	check_text(stream);
	buf_done(&whole);
	buf_done(&pieces);
	return 0;
}
