#include "agent/read/stream.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/utf8.h"
#include "data/value/json.h"

/* What is kept of a line's memory for the next one: most agents are silent most of the time. */
enum { KEEP = 4 << 10 };

struct agent_stream {
	const struct agent_format *format;
	void (*line)(struct agent_stream *s, const value *v);
	fact_fn *fn;
	void *user;
	struct arena arena; /* of the current line */
	struct stream_counts counts;
	struct buf pending; /* the beginning of a line */
	bool file;          /* it is no output, but a file of a session */
	bool transcript;    /* of the session itself: turns and tools are told by hooks */
	bool in_errors;     /* a line of its error output is being read */
	bool skipping;      /* the rest of a line that is too long */
	bool in_hole;
	uint64_t next; /* offset of the byte that comes next */
	uint64_t told; /* offset after the line that is being told */
	struct buf errors;
	struct buf text;
	void *memory;
	size_t memory_n;
};

struct agent_stream *stream_new(const struct agent_format *f, fact_fn *fn, void *user)
{
	struct agent_stream *s = mem_zalloc(1, sizeof(*s));

	s->format = f;
	s->line = f->line;
	s->fn = fn;
	s->user = user;
	return s;
}

static bool of_transcript(enum fact_kind k)
{
	return k == FACT_MESSAGE || k == FACT_USAGE || k == FACT_CONTEXT || k == FACT_MODEL ||
			k == FACT_THREAD || k == FACT_TOOL_ENDED || k == FACT_TURN_ENDED ||
			k == FACT_TROUBLE || k == FACT_RETRYING;
}

struct agent_stream *stream_new_transcript(const struct agent_format *f, fact_fn *fn, void *user)
{
	struct agent_stream *s = stream_new(f, fn, user);

	assert(f->transcript);
	s->line = f->transcript;
	s->file = s->transcript = true;
	return s;
}

struct agent_stream *stream_new_thread(const struct agent_format *f, fact_fn *fn, void *user)
{
	struct agent_stream *s = stream_new(f, fn, user);

	assert(f->thread);
	s->line = f->thread;
	s->file = true;
	return s;
}

struct agent_stream *stream_free(struct agent_stream *s)
{
	if (!s)
		return NULL;
	arena_done(&s->arena);
	buf_done(&s->pending);
	buf_done(&s->errors);
	buf_done(&s->text);
	mem_free(s->memory);
	mem_free(s);
	return NULL;
}

/* A line may be small and yet a million values: what a parsed one takes is bounded apart. */
static bool too_many_parts(str line)
{
	size_t parts = 0;
	bool quoted = false;

	if (line.n < STREAM_PARTS_MAX)
		return false;
	for (size_t i = 0; i < line.n; i++) {
		char c = line.p[i];

		if (c == '"')
			quoted = !quoted;
		else if (quoted)
			i += c == '\\';
		else
			parts += c == ',' || c == ':' || c == '[' || c == '{';
	}
	return parts > STREAM_PARTS_MAX;
}

/* The code unit of "\uXXXX" at the front, or -1. */
static int unit_at(str s)
{
	int n = 0;

	if (s.n < 6 || s.p[0] != '\\' || s.p[1] != 'u')
		return -1;
	for (size_t i = 2; i < 6; i++) {
		char c = s.p[i];
		int d = c >= '0' && c <= '9'                             ? c - '0'
				: (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
									 : -1;

		if (d < 0)
			return -1;
		n = n * 16 + d;
	}
	return n;
}

/*
 * The line with what is no character replaced: bytes that are not UTF-8, and halves of surrogate
 * pairs, which programs write that cut their texts at a number of UTF-16 units.
 */
static str repaired(struct arena *a, str line)
{
	char *p = arena_alloc(a, line.n * 3 + 1);
	size_t n = 0;

	for (size_t i = 0; i < line.n;) {
		str rest = str_sub(line, i, line.n);
		size_t take = utf8_len(rest), skip = 0;
		int unit = unit_at(rest);
		const char *from = rest.p;

		if (unit >= 0xd800 && unit <= 0xdfff) {
			int second = unit_at(str_sub(rest, 6, 6));
			bool pair = unit < 0xdc00 && second >= 0xdc00 && second <= 0xdfff;

			take = pair ? 12 : 6;
			from = pair ? rest.p : "\\ufffd";
		} else if (rest.p[0] == '\\' && rest.n > 1 && (unsigned char)rest.p[1] < 0x80) {
			take = 2;
		} else if (!take) {
			from = "\xef\xbf\xbd";
			take = 3;
			skip = 1;
		}
		memcpy(p + n, from, take);
		n += take;
		i += skip ? skip : take;
	}
	return (str){ p, n };
}

static void read_line(struct agent_stream *s, str line, uint64_t end)
{
	value *v = NULL;

	line = str_trim(line);
	if (!line.n || !s->format->line)
		return;
	s->counts.lines++;
	s->told = end;
	if (line.p[0] != '{') {
		s->counts.skipped++;
		return;
	}
	if (too_many_parts(line)) {
		s->counts.too_long++;
		return;
	}
	if (json_parse(&s->arena, line, NULL, &v, NULL) < 0 &&
			json_parse(&s->arena, repaired(&s->arena, line), NULL, &v, NULL) < 0)
		s->counts.skipped++;
	else
		s->line(s, v);
	arena_reset(&s->arena);
}

static void forget_line(struct agent_stream *s)
{
	if (s->pending.cap > KEEP)
		buf_done(&s->pending);
	buf_clear(&s->pending);
}

static void gap(struct agent_stream *s)
{
	s->counts.gaps++;
	s->skipping = false;
	forget_line(s);
}

/* A piece of a line that does not end here. */
static void keep_piece(struct agent_stream *s, str piece)
{
	if (s->skipping)
		return;
	if (s->pending.n + piece.n > STREAM_LINE_MAX) {
		s->skipping = true;
		s->counts.too_long++;
		forget_line(s);
	} else {
		buf_adds(&s->pending, piece);
	}
}

/* The piece with which a line ends; end: the offset after its newline. */
static void end_line(struct agent_stream *s, str piece, uint64_t end)
{
	bool skip;

	if (s->pending.n || s->skipping || piece.n > STREAM_LINE_MAX) {
		keep_piece(s, piece);
		piece = buf_str(&s->pending);
	}
	skip = s->skipping;
	s->skipping = false;
	if (!skip)
		read_line(s, piece, end);
	forget_line(s);
}

void stream_bytes(struct agent_stream *s, str bytes, uint64_t at)
{
	if (at < s->next) {
		uint64_t known = s->next - at;

		if (known >= bytes.n)
			return;
		bytes = str_sub(bytes, (size_t)known, bytes.n);
	} else if (at > s->next) {
		gap(s);
		s->next = at;
	}
	while (bytes.n) {
		size_t n = 0;

		while (n < bytes.n && bytes.p[n] != '\n' && bytes.p[n] != '\0')
			n++;
		if (n == bytes.n) {
			s->in_hole = false;
			keep_piece(s, bytes);
		} else if (bytes.p[n] == '\n') {
			s->in_hole = false;
			end_line(s, str_sub(bytes, 0, n), s->next + n + 1);
			n++;
		} else { /* a hole in the file reads so; no JSON has it */
			if (n || !s->in_hole)
				gap(s);
			s->in_hole = true;
			while (n < bytes.n && bytes.p[n] == '\0')
				n++;
		}
		s->next += n;
		bytes = str_sub(bytes, n, bytes.n);
	}
	arena_done(&s->arena);
}

/* Without the colours of terminals, in place. */
static void strip_colours(struct buf *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++) {
		if (b->p[i] != '\x1b' || i + 1 == b->n || b->p[i + 1] != '[') {
			b->p[n++] = b->p[i];
			continue;
		}
		for (i += 2; i < b->n && (b->p[i] < '@' || b->p[i] > '~'); i++)
			;
	}
	b->n = n;
}

static void read_error(struct agent_stream *s)
{
	str line;

	strip_colours(&s->errors);
	line = str_trim(buf_str(&s->errors));
	if (line.n && s->format->error_line) {
		s->told = s->next;
		s->in_errors = true;
		s->format->error_line(s, utf8_clean(&s->arena, line));
		s->in_errors = false;
		arena_reset(&s->arena);
	}
	buf_clear(&s->errors);
}

void stream_errors(struct agent_stream *s, str bytes)
{
	while (bytes.n) {
		size_t n = str_find_byte(bytes, '\n');
		size_t room = STREAM_ERROR_LINE_MAX - s->errors.n;

		buf_adds(&s->errors, str_sub(bytes, 0, MIN(n, room)));
		if (n < bytes.n)
			read_error(s);
		bytes = str_sub(bytes, n + 1, bytes.n);
	}
	arena_done(&s->arena);
}

void stream_end(struct agent_stream *s)
{
	if (s->pending.n)
		end_line(s, (str){ 0 }, s->next);
	read_error(s);
	if (s->format->end) {
		s->told = s->next;
		s->format->end(s);
		arena_reset(&s->arena);
	}
}

struct stream_counts stream_counts(const struct agent_stream *s)
{
	return s->counts;
}

void stream_tell(struct agent_stream *s, struct fact f)
{
	if (s->transcript && !of_transcript(f.kind))
		return;
	f.offset = s->told;
	f.sign = s->file ? SIGN_TRANSCRIPT : s->in_errors ? SIGN_ERRORS : SIGN_STREAM;
	s->fn(s->user, &f);
}

struct arena *stream_arena(struct agent_stream *s)
{
	return &s->arena;
}

void *stream_memory(struct agent_stream *s, size_t size)
{
	if (!s->memory) {
		s->memory = mem_zalloc(1, size);
		s->memory_n = size;
	}
	assert(s->memory_n == size);
	return s->memory;
}

struct buf *stream_text(struct agent_stream *s)
{
	return &s->text;
}
