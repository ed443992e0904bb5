#include "tests/unit/stream_fixture.h"

#include <stdio.h>

#include "agent/table/formats.h"
#include "base/arena.h"
#include "base/str.h"
#include "tests/test.h"

static const char *fact_name(enum fact_kind kind)
{
#define NAME(sym, name) [sym] = name,
	static const char *const names[] = { FACTS(NAME) };
#undef NAME

	return names[kind];
}

str capture_read(struct arena *a, const char *path)
{
	str full = arena_printf(a, "%s/tests/captures/%s", getenv("OV_SOURCE_ROOT"), path);
	struct buf b = BUF_INIT;
	FILE *f = fopen(full.p, "rb");
	char piece[4096];
	size_t n;
	str text;

	if (!f)
		return (str){ 0 };
	while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
		buf_add(&b, piece, n);
	fclose(f);
	text = arena_str(a, buf_str(&b));
	buf_done(&b);
	return text;
}

static void dump_text(struct buf *out, const char *name, str s)
{
	if (!s.n)
		return;
	buf_addf(out, " %s=\"", name);
	for (size_t i = 0; i < s.n; i++)
		buf_addc(out, s.p[i] == '\n' ? '/' : s.p[i]);
	buf_addc(out, '"');
}

static void dump_number(struct buf *out, const char *name, int64_t n)
{
	if (n)
		buf_addf(out, " %s=%lld", name, (long long)n);
}

void fact_dump(struct buf *out, const struct fact *f)
{
	buf_addf(out, "%s", fact_name(f->kind));
	dump_text(out, "session", f->session);
	dump_text(out, "model", f->model);
	dump_text(out, "id", f->id);
	dump_text(out, "name", f->name);
	buf_addf(out, "%s%s%s", f->failed ? " failed" : "", f->child ? " child" : "",
			f->usage_total ? " total" : "");
	if (f->trouble)
		buf_addf(out, " trouble=%s", trouble_name(f->trouble));
	dump_number(out, "status", f->status);
	dump_number(out, "attempt", f->attempt);
	dump_number(out, "wait", f->wait_ms);
	dump_number(out, "resets", f->resets_at);
	dump_number(out, "in", f->usage.input);
	dump_number(out, "out", f->usage.output);
	dump_number(out, "read", f->usage.cache_read);
	dump_number(out, "write", f->usage.cache_write);
	if (f->kind == FACT_USAGE)
		dump_number(out, "cost", f->cost_microusd);
	dump_number(out, "used", f->context_used);
	dump_number(out, "window", f->context_window);
	dump_text(out, "text", f->text);
	buf_addf(out, " @%llu\n", (unsigned long long)f->offset);
}

void heard_fact(void *user, const struct fact *f)
{
	struct heard *h = user;

	fact_dump(&h->facts, f);
	account_fact(&h->account, f, h->at);
}

void heard_init(struct heard *h)
{
	*h = (struct heard){ .at = 1000 };
	account_init(&h->account, NULL, 0);
}

void heard_done(struct heard *h)
{
	buf_done(&h->facts);
}

void heard_feed(struct heard *h, const char *format, str output, str errors, size_t piece)
{
	struct agent_stream *s = stream_new(format_find(str_from(format)), heard_fact, h);

	if (!piece)
		piece = MAX(output.n, errors.n) + 1;
	for (size_t at = 0; at < output.n; at += piece)
		stream_bytes(s, str_sub(output, at, piece), at);
	for (size_t at = 0; at < errors.n; at += piece)
		stream_errors(s, str_sub(errors, at, piece));
	h->before_end = h->facts.n;
	stream_end(s);
	h->counts = stream_counts(s);
	stream_free(s);
}
