/*
 * Fenced blocks in a stream. One step per byte with nothing looked up behind or ahead, so that the
 * borders of the pieces cannot matter. CR and LF both end a line: the empty line that CR LF then
 * gives changes nothing, neither about fences nor in JSON.
 */
#include "base/str.h"
#include "core/life/update.h"

enum {
	AT_INDENT, /* spaces before a fence */
	AT_MARK,   /* the fence itself */
	AT_INFO,   /* spaces after it */
	AT_WORD,   /* the first word after it: the label */
	AT_REST,   /* attributes after the label */
	AT_TEXT,   /* no fence */
};

enum { MARKS_MIN = 3, INDENT_MAX = 3 };

static void line_begin(struct update_scan *s)
{
	s->line = s->offset;
	s->at = AT_INDENT;
	s->indent = s->word_n = 0;
	s->word_json = true;
	s->mark = 0;
	s->mark_n = 0;
}

void update_scan_init(struct update_scan *s, uint64_t offset, bool cut)
{
	*s = (struct update_scan){ .offset = offset, .lost = cut };
	line_begin(s);
	if (cut)
		s->at = AT_TEXT;
}

void update_scan_done(struct update_scan *s)
{
	buf_done(&s->body);
}

static void word_byte(struct update_scan *s, char c)
{
	static const char label[] = "json";

	s->at = AT_WORD;
	s->word_json &= s->word_n < sizeof(label) - 1 && c == label[s->word_n];
	if (s->word_n < sizeof(label))
		s->word_n++;
}

/* One byte that does not end the line. */
static void line_byte(struct update_scan *s, char c)
{
	bool blank = c == ' ' || c == '\t';

	/* `code` that begins with three ticks is no fence: its other end is on the same line. */
	if (c == '`' && s->mark == '`' && s->at != AT_MARK) {
		s->at = AT_TEXT;
		return;
	}
	switch (s->at) {
	case AT_INDENT:
		if (c == ' ' && s->indent < INDENT_MAX) {
			s->indent++;
		} else if (c == '`' || c == '~') {
			s->mark = c;
			s->mark_n = 1;
			s->at = AT_MARK;
		} else {
			s->at = AT_TEXT;
		}
		break;
	case AT_MARK:
		if (c == s->mark)
			s->mark_n++;
		else if (s->mark_n < MARKS_MIN)
			s->at = AT_TEXT;
		else if (blank)
			s->at = AT_INFO;
		else
			word_byte(s, c);
		break;
	case AT_INFO:
		if (!blank)
			word_byte(s, c);
		break;
	case AT_WORD:
		if (blank)
			s->at = AT_REST;
		else
			word_byte(s, c);
		break;
	}
}

static bool label_is_json(const struct update_scan *s)
{
	return s->word_json && s->word_n == 4;
}

/* Acts on the line that is now complete; true when it closed a json block. */
static bool line_end(struct update_scan *s)
{
	bool fence = s->mark_n >= MARKS_MIN && s->at != AT_TEXT;
	bool bare = s->at == AT_MARK || s->at == AT_INFO;

	if (!fence)
		return false;
	if (s->open) {
		if (!bare || s->mark != s->open || s->mark_n < s->open_n)
			return false;
		s->open = 0;
		return s->json;
	}
	if (s->lost && bare)
		return false;
	s->lost = false;
	s->open = s->mark;
	s->open_n = s->mark_n;
	s->json = label_is_json(s);
	s->start = s->offset;
	buf_clear(&s->body);
	return false;
}

static void block_take(const struct update_scan *s, struct update_block *ret)
{
	uint64_t n = s->line - s->start;

	*ret = (struct update_block){ .bytes = { s->body.p, MIN(n, (uint64_t)UPDATE_WINDOW) },
		.offset = s->start,
		.cut = n > UPDATE_WINDOW };
}

/* Keeps the bytes of an open json block, as far as the window goes. */
static void body_keep(struct update_scan *s, str bytes)
{
	if (s->open && s->json && s->body.n < UPDATE_WINDOW)
		buf_add(&s->body, bytes.p, MIN(bytes.n, UPDATE_WINDOW - s->body.n));
}

static bool ends_line(char c)
{
	return c == '\n' || c == '\r';
}

/* The bytes of *piece up to the end of the line or of the piece. */
static str line_bytes(struct update_scan *s, str piece)
{
	size_t i = 0;

	while (i < piece.n && !ends_line(piece.p[i]) && s->at != AT_TEXT)
		line_byte(s, piece.p[i++]);
	while (i < piece.n && !ends_line(piece.p[i]))
		i++;
	return (str){ piece.p, i };
}

bool update_scan_next(struct update_scan *s, str *piece, struct update_block *ret)
{
	while (piece->n) {
		str bytes = line_bytes(s, *piece);
		bool closed = false, whole = bytes.n < piece->n;

		bytes.n += whole;
		*piece = (str){ piece->p + bytes.n, piece->n - bytes.n };
		s->offset += bytes.n;
		body_keep(s, bytes);
		if (!whole)
			return false;
		closed = line_end(s);
		if (closed)
			block_take(s, ret);
		line_begin(s);
		if (closed)
			return true;
	}
	return false;
}

bool update_scan_end(struct update_scan *s, struct update_block *ret)
{
	bool closed = line_end(s);

	if (closed)
		block_take(s, ret);
	s->open = 0;
	s->lost = false;
	line_begin(s);
	return closed;
}
