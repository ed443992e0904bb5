/*
 * Fuzzing of one agent's output: the first byte chooses the pieces, the second what is done to the
 * rest (nothing, a hole, its own lines woven into each other, one line of a megabyte); a NUL byte
 * pair "\0E" separates the output from the errors. Whatever the bytes, the facts are the same in
 * pieces as whole, an account can be made and judged, and it can be shown.
 */
#pragma once

#include <stdlib.h>

#include "agent/fact/account.h"
#include "agent/fact/render.h"
#include "agent/read/stream.h"
#include "agent/table/formats.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "data/value/json.h"
#include "tests/fuzz/fuzz.h"

static inline void fuzz_check(bool ok)
{
	if (!ok)
		abort();
}

struct fuzz_heard {
	struct account account;
	struct render render;
	uint64_t hash, facts, last;
};

static inline void fuzz_line(void *user _unused_, const struct render_line *l)
{
	fuzz_check(l->role < RENDER_ROLE_COUNT);
}

static inline void fuzz_fact(void *user, const struct fact *f)
{
	struct fuzz_heard *h = user;

	fuzz_check(f->kind < FACT_KIND_COUNT && f->trouble < TROUBLE_COUNT);
	fuzz_check(f->offset >= h->last && f->attempt >= 0 && f->wait_ms >= 0);
	h->last = f->offset;
	h->facts++;
	h->hash = str_hash(f->text, h->hash ^ (uint64_t)f->kind);
	h->hash = str_hash(f->id, h->hash ^ (uint64_t)f->usage.input);
	account_fact(&h->account, f, 1000);
	render_fact(&h->render, f);
}

static inline void fuzz_feed(struct fuzz_heard *h, const char *format, str output, str errors,
		size_t piece)
{
	struct agent_stream *s = stream_new(format_find(str_from(format)), fuzz_fact, h);

	*h = (struct fuzz_heard){ 0 };
	account_init(&h->account, NULL, 0);
	render_init(&h->render, piece & 1, fuzz_line, h);
	for (size_t at = 0; at < output.n; at += piece)
		stream_bytes(s, str_sub(output, at, piece), at);
	for (size_t at = 0; at < errors.n; at += piece)
		stream_errors(s, str_sub(errors, at, piece));
	stream_end(s);
	render_end(&h->render, true);
	fuzz_check(stream_counts(s).lines >= stream_counts(s).skipped);
	stream_free(s);
}

/* Two halves of the lines, one of each in turn, cut where they meet. */
static inline void fuzz_weave(struct buf *out, str text)
{
	str a = str_sub(text, 0, text.n / 2), b = str_sub(text, text.n / 2, text.n), line;

	while (a.n || b.n) {
		if (str_split(&a, '\n', &line))
			buf_addf(out, STR_FMT "\n", STR_ARG(line));
		if (str_split(&b, '\n', &line))
			buf_addf(out, STR_FMT "\n", STR_ARG(line));
	}
}

/* One line of a megabyte; of more would leave no time for anything else. */
static inline void fuzz_lengthen(struct buf *out, str text)
{
	while (text.n && out->n < 1 << 20)
		buf_adds(out, text);
	for (size_t i = 0; i < out->n; i++)
		if (out->p[i] == '\n')
			out->p[i] = ' ';
}

static inline void fuzz_change(struct buf *out, str text, unsigned how)
{
	if (how == 255) {
		fuzz_lengthen(out, text);
	} else if (how % 4 == 1) {
		buf_adds(out, text);
		if (out->n)
			memset(out->p + out->n / 3, 0, out->n / 3);
	} else if (how % 4 == 2) {
		fuzz_weave(out, text);
	} else {
		buf_adds(out, text);
	}
}

static inline int fuzz_stream(const char *format, const uint8_t *data, size_t size)
{
	struct fuzz_heard whole, parts;
	struct arena a = ARENA_INIT;
	struct buf output = BUF_INIT;
	str text, errors = { 0 };
	size_t at;

	if (size < 2)
		return 0;
	text = (str){ (const char *)data + 2, size - 2 };
	at = str_find(text, (str){ "\0E", 2 });
	if (at < text.n) {
		errors = str_sub(text, at + 2, text.n);
		text = str_sub(text, 0, at);
	}
	fuzz_change(&output, text, data[1]);
	fuzz_feed(&whole, format, buf_str(&output), errors, output.n + errors.n + 1);
	fuzz_feed(&parts, format, buf_str(&output), errors,
			(data[0] ? data[0] : 1) * (data[1] == 255 ? (size_t)1024 : 1));
	fuzz_check(whole.hash == parts.hash && whole.facts == parts.facts);
	fuzz_check(account_judge(&whole.account, 0, 0, true).text.n > 0);
	account_judge(&whole.account, 1, 0, false);
	json_text(&a, account_view(&a, &whole.account, 2000));
	buf_done(&output);
	arena_done(&a);
	return 0;
}
