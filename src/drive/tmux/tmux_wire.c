#include "drive/tmux/tmux_wire.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"

void tmux_wire_init(struct tmux_wire *w)
{
	*w = (struct tmux_wire){ .block = BUF_INIT };
	ndjson_init(&w->lines, TMUX_LINE_MAX);
}

void tmux_wire_done(struct tmux_wire *w)
{
	ndjson_done(&w->lines);
	buf_done(&w->block);
}

void tmux_wire_feed(struct tmux_wire *w, str bytes)
{
	ndjson_feed(&w->lines, bytes.p, bytes.n);
}

/* The rest of a line that begins with this word, which a space follows, or nothing. */
static bool word_is(str line, str word, str *ret_rest)
{
	if (!str_starts(line, word) || (line.n > word.n && line.p[word.n] != ' '))
		return false;
	*ret_rest = str_sub(line, MIN(word.n + 1, line.n), line.n);
	return true;
}

static void block_begin(struct tmux_wire *w, str mark)
{
	memcpy(w->mark, mark.p, mark.n);
	w->mark[mark.n] = '\0';
	w->cut = false;
	if (w->taken)
		buf_clear(&w->block);
	w->taken = false;
}

static void block_add(struct tmux_wire *w, str line)
{
	if (w->cut || w->block.n + line.n + 1 > TMUX_BLOCK_MAX) {
		w->cut = true;
		return;
	}
	if (w->block.n)
		buf_addc(&w->block, '\n');
	buf_adds(&w->block, line);
}

static void block_end(struct tmux_wire *w, enum tmux_said_kind kind, struct tmux_said *ret)
{
	str mark = str_from(w->mark);

	*ret = (struct tmux_said){ .kind = kind,
		.ours = mark.n && mark.p[mark.n - 1] == '1',
		.cut = w->cut,
		.text = buf_str(&w->block) };
	w->mark[0] = '\0';
	w->taken = true;
}

/* In a block every line is what the command printed, but for the one that ends this very block. */
static bool in_block(struct tmux_wire *w, str line, struct tmux_said *ret)
{
	str mark = str_from(w->mark), rest;

	if (word_is(line, STR("%end"), &rest) && str_eq(rest, mark)) {
		block_end(w, TMUX_DONE, ret);
		return true;
	}
	if (word_is(line, STR("%error"), &rest) && str_eq(rest, mark)) {
		block_end(w, TMUX_REFUSED, ret);
		return true;
	}
	block_add(w, line);
	return false;
}

static bool out_of_block(struct tmux_wire *w, str line, struct tmux_said *ret)
{
	str rest;

	if (word_is(line, STR("%begin"), &rest) && rest.n > 0 && rest.n < TMUX_MARK_MAX) {
		block_begin(w, rest);
		return false;
	}
	*ret = (struct tmux_said){ .kind = TMUX_NOTICE,
		.text = str_starts(line, STR("%")) ? str_sub(line, 1, line.n) : line };
	if (word_is(line, STR("%exit"), &rest))
		*ret = (struct tmux_said){ .kind = TMUX_EXIT, .text = rest };
	return true;
}

int tmux_wire_next(struct tmux_wire *w, struct tmux_said *ret, struct ov_err *err)
{
	str line;
	int r;

	while ((r = ndjson_next(&w->lines, &line, err)) > 0)
		if (w->mark[0] ? in_block(w, line, ret) : out_of_block(w, line, ret))
			return 1;
	return r;
}

/* What tmux would take for something of its own between double quotes. */
static bool is_plain(unsigned char c)
{
	return c >= ' ' && c != 0x7f && c != '"' && c != '\\' && c != '$' && c != '~';
}

void tmux_add_word(struct buf *b, str word)
{
	if (b->n)
		buf_addc(b, ' ');
	buf_addc(b, '"');
	for (size_t i = 0; i < word.n; i++) {
		unsigned char c = (unsigned char)word.p[i];

		assert(c);
		if (is_plain(c))
			buf_addc(b, (char)c);
		else
			buf_addf(b, "\\%03o", c);
	}
	buf_addc(b, '"');
}

/* How many bytes at the front are a control character, of either set; 0: it is none. */
static size_t control(str s)
{
	unsigned char c = (unsigned char)s.p[0];

	if ((c < ' ' && c != '\n' && c != '\t') || c == 0x7f)
		return 1;
	return c == 0xc2 && s.n > 1 && (unsigned char)s.p[1] < 0xa0 ? 2 : 0;
}

str tmux_clean(struct arena *a, str text)
{
	static const char invalid[] = "\xef\xbf\xbd";
	struct buf b = BUF_INIT;
	str s;

	while (text.n) {
		size_t n = utf8_len(text);

		if (text.p[0] == '\r') {
			/* \r\n is one end of a line, and \r alone is one, too. */
			n = text.n > 1 && text.p[1] == '\n' ? 2 : 1;
			buf_addc(&b, '\n');
		} else if (n == 0) {
			buf_add(&b, invalid, sizeof(invalid) - 1);
			n = 1;
		} else if (!control(text)) {
			buf_add(&b, text.p, n);
		}
		text = str_sub(text, n, text.n);
	}
	s = arena_str(a, buf_str(&b));
	buf_done(&b);
	return s;
}
