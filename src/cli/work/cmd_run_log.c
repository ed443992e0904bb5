/*
 * What a run wrote: as it is, or, where its format is known, as turns and calls of tools. Its
 * output and its errors are two files; what the errors tell is shown when it is read.
 */
#include <unistd.h>

#include "agent/fact/render.h"
#include "agent/read/stream.h"
#include "agent/table/formats.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/call/client.h"
#include "cli/call/command.h"
#include "cli/out/out.h"
#include "cli/work/work.h"
#include "core/op/params.h"

enum {
	LOG_PAGE = 256 * 1024,
	LOG_WAIT_MS = 25 * 1000,
	ERRORS_WAIT_MS = 2 * 1000, /* the daemon waits for output only: errors are looked for */
	INPUT_COLUMNS = 100,
};

struct log {
	struct cli *c;
	struct arena *arena; /* of one page */
	str run;
	bool follow, raw;
	int64_t lines; /* only so many of the last ones; 0: all */
	int64_t offset, errors_offset;
	/* Of a run whose format is known; NULL: it is printed as it is. */
	struct agent_stream *stream;
	uint64_t fed; /* bytes of the output, as they were given to the stream */
	struct render render;
	bool began; /* a line was shown */
	bool blank; /* the last one stands alone */
};

/* ---- lines for people ---- */

static const struct {
	const char *mark;
	enum style style;
} marks[RENDER_ROLE_COUNT] = {
	[RENDER_SESSION] = { "", S_DIM },
	[RENDER_TURN] = { "-- turn ", S_DIM },
	[RENDER_WORDS] = { "", S_PLAIN },
	[RENDER_TOOL] = { "> ", S_CYAN },
	[RENDER_ANSWER] = { "    ", S_DIM },
	[RENDER_DENIED] = { "x denied: ", S_YELLOW },
	[RENDER_HELD] = { "~ ", S_YELLOW },
	[RENDER_TROUBLE] = { "! ", S_RED },
	[RENDER_NOTICE] = { "", S_DIM },
	[RENDER_SUM] = { "= ", S_DIM },
};

static bool stands_alone(enum render_role role)
{
	return role == RENDER_WORDS || role == RENDER_TURN || role == RENDER_SUM;
}

static void show_text(struct out *o, enum style style, str s, const char *before)
{
	if (!s.n)
		return;
	out_f(o, "%s", before);
	out_styled(o, style, out_short(o, s, INPUT_COLUMNS));
}

static void on_line(void *user, const struct render_line *l)
{
	struct log *g = user;
	struct out *o = &g->c->out;
	const char *indent = l->child ? "  " : "";

	if ((stands_alone(l->role) || g->blank) && g->began)
		out_f(o, "\n");
	g->began = true;
	g->blank = stands_alone(l->role);
	if (l->role == RENDER_WORDS) {
		out_lines(o, indent, l->text);
		return;
	}
	out_f(o, "%s", indent);
	out_styled(o, l->failed && l->role == RENDER_TOOL ? S_RED : marks[l->role].style,
			str_from(marks[l->role].mark));
	out_styled(o, l->role == RENDER_TOOL ? S_BOLD : marks[l->role].style,
			out_short(o, l->name, INPUT_COLUMNS));
	show_text(o, l->role == RENDER_TOOL ? S_PLAIN : marks[l->role].style, l->text,
			l->name.n ? "  " : "");
	if (l->note.n && l->role == RENDER_TURN)
		out_styled(o, S_DIM, l->note);
	else if (l->note.n)
		out_f(o, "  (" STR_FMT ")", STR_ARG(out_clean(o, l->note)));
	out_f(o, "\n");
}

static void on_fact(void *user, const struct fact *f)
{
	struct log *g = user;

	render_fact(&g->render, f);
}

/* ---- pages ---- */

/* One page from the offset on; while following, the daemon waits for more. */
static int read_page(struct log *g, bool errors, int64_t wait_ms, const value **ret,
		struct ov_err *err)
{
	struct cli *c = g->c;
	value *params = OP_ASK(g->arena, run_log, .run = g->run, .has_offset = true,
			.offset = errors ? g->errors_offset : g->offset, .max_bytes = LOG_PAGE,
			.errors = errors, .has_wait_ms = g->follow, .wait_ms = wait_ms);

	if (!g->follow)
		return client_call(&c->client, OP_run_log, params, ret, err);
	return client_ask(&c->client, OP_run_log, params, wait_ms + c->timeout_ms, ret, err);
}

static void show_left_out(struct out *o, int64_t bytes)
{
	const char *dots = o->utf8 ? "\xe2\x80\xa6" : "...";

	out_f(o, "\n%s " STR_FMT " left out %s\n", dots, STR_ARG(out_bytes(o, bytes)), dots);
}

static void print_page(struct log *g, const value *page)
{
	str text = value_str_at(page, "text");
	int64_t left_out = value_int_at(page, "left_out_bytes");
	struct cli *c = g->c;

	if (c->json) {
		out_json(&c->out, page);
		return;
	}
	if (left_out && !g->raw)
		show_left_out(&c->out, left_out);
	/* what was not valid is replaced: the offsets of the page are not those of its text */
	if (g->stream) {
		g->fed += (uint64_t)left_out;
		stream_bytes(g->stream, text, g->fed);
		g->fed += text.n;
	} else {
		buf_adds(&c->out.buf, g->raw ? text : out_clean_lines(&c->out, text));
	}
}

/* All that is there of the errors. */
static int read_errors(struct log *g, struct ov_err *err)
{
	for (;;) {
		const value *page;
		int64_t next;
		int r = read_page(g, true, 0, &page, err);

		if (r != 0)
			return r;
		next = value_int_at(page, "next_offset");
		stream_errors(g->stream, value_str_at(page, "text"));
		if (next <= g->errors_offset)
			return 0;
		g->errors_offset = next;
	}
}

/* The format is known by the first page. */
static void begin(struct log *g, const value *page)
{
	const struct agent_format *f = format_find(value_str_at(page, "format"));

	if (g->stream || g->c->json || g->raw || !f || !f->structured)
		return;
	g->stream = stream_new(f, on_fact, g);
	render_init(&g->render, g->follow, on_line, g);
}

static void end(struct log *g, bool ended)
{
	if (!g->stream)
		return;
	if (ended)
		stream_end(g->stream);
	render_end(&g->render, ended);
}

static int log_loop(struct log *g, struct ov_err *err)
{
	for (;;) {
		const value *page;
		int64_t next, size;
		bool ended, over;
		int r;

		arena_reset(g->arena);
		r = read_page(g, false, g->stream ? ERRORS_WAIT_MS : LOG_WAIT_MS, &page, err);
		if (r != 0)
			return r;
		begin(g, page);
		next = value_int_at(page, "next_offset");
		size = value_int_at(page, "size");
		ended = value_bool_at(page, "ended");
		if (next > g->offset || (g->c->json && g->offset == 0 && !g->follow))
			print_page(g, page);
		/*
		 * Without --follow a run that writes faster than we read must not hold us for ever.
		 */
		over = g->follow ? next <= g->offset && ended : next <= g->offset || next >= size;
		if (g->stream && (over || next >= size))
			r = read_errors(g, err);
		if (r == 0 && over)
			end(g, ended);
		if (g->lines)
			out_keep_lines(&g->c->out, g->lines);
		if (r == 0 && (over || !g->lines))
			r = out_flush(&g->c->out, STDOUT_FILENO, err);
		if (r != 0 || over)
			return r;
		g->offset = MAX(next, g->offset);
	}
}

static int log_show(struct log g, struct ov_err *err)
{
	struct cli *c = g.c;
	struct arena *whole = c->arena, a = ARENA_INIT;
	int r = cli_store(c, err);

	g.arena = &a;
	if (r == 0 && g.follow)
		r = client_connect(&c->client, err);
	if (r == 0 && g.follow)
		r = client_follow_signals(&c->client, err);
	if (r < 0)
		return r;
	c->client.arena = c->out.arena = &a;
	r = log_loop(&g, err);
	c->client.arena = c->out.arena = whole;
	stream_free(g.stream);
	arena_done(&a);
	return r == CLIENT_SIGNAL ? client_signal_status(&c->client) : r;
}

int cmd_run_log(struct cli *c, struct ov_err *err)
{
	struct log g = { .c = c,
		.run = c->args[0],
		.follow = cli_has(c, "follow"),
		.raw = cli_has(c, "raw") };

	return log_show(g, err);
}

int run_log_last(struct cli *c, str run, int64_t lines, struct ov_err *err)
{
	struct log g = { .c = c, .run = run, .lines = lines };

	return log_show(g, err);
}
