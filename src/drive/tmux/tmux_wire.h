#pragma once
/*
 * What is said over the control mode of tmux: commands go out as lines in which every word is
 * quoted, answers come back as blocks between %begin and %end or %error, and whatever else happens
 * as single lines that begin with '%'. Pure: bytes in, statements out; bounded, since a screen may
 * hold anything.
 */
#include "base/buf.h"
#include "base/ov.h"
#include "data/message/ndjson.h"

enum {
	TMUX_LINE_MAX = 1 << 20,
	TMUX_BLOCK_MAX = 4 << 20, /* of one answer; the rest of it is dropped */
	TMUX_MARK_MAX = 64,       /* the numbers of a block, by which its end is known */
};

enum tmux_said_kind {
	TMUX_DONE,    /* a command was carried out: text is what it printed */
	TMUX_REFUSED, /* a command failed: text says why */
	TMUX_NOTICE,  /* anything else that happens: text is its line, without the '%' */
	TMUX_EXIT,    /* nothing more comes: text is why, or empty */
};

struct tmux_said {
	enum tmux_said_kind kind;
	bool ours; /* an answer to a line of ours, not to what the client was started with */
	bool cut;
	str text; /* valid until the next call */
};

struct tmux_wire {
	struct ndjson lines;
	struct buf block;
	char mark[TMUX_MARK_MAX]; /* of the block that is open; empty: there is none */
	bool cut, taken;
};

void tmux_wire_init(struct tmux_wire *w);
void tmux_wire_done(struct tmux_wire *w);
void tmux_wire_feed(struct tmux_wire *w, str bytes);
/* 1 and a statement, 0 when none is complete, OV_ELIMIT: it cannot be understood any further. */
int tmux_wire_next(struct tmux_wire *w, struct tmux_said *ret, struct ov_err *err);

/*
 * Adds a word to a command, after a space where it is not the first: in quotes, so that no byte of
 * it means anything. It holds no NUL.
 */
void tmux_add_word(struct buf *b, str word);
/*
 * Words for a terminal: invalid bytes are replaced, line ends become \n, and control characters
 * other than that and the tabulator are left out, so that nothing in them ends a bracketed paste.
 */
str tmux_clean(struct arena *a, str text);
