/*
 * Reads TOML documents from standard input and answers each with one line, for toml_diff.py:
 * one process serves any number of documents. A document is its length in decimal, a newline,
 * and its bytes. The answer is "error MESSAGE" or the value as JSON in which the types show:
 *   table {...}   array ["a", ...]   real ["f", "HEX"]   date or time ["d", "TEXT"]
 * Integers, booleans and strings are themselves.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "data/value/json.h"
#include "data/value/toml.h"

static void dump_real(struct buf *out, double r)
{
	if (isnan(r))
		buf_adds(out, STR("[\"f\",\"nan\"]"));
	else
		buf_addf(out, "[\"f\",\"%a\"]", r);
}

static void dump(struct buf *out, const value *v)
{
	switch (v->kind) {
	case V_REAL: dump_real(out, v->r); break;
	case V_DATETIME:
		buf_adds(out, STR("[\"d\","));
		json_write_string(out, v->s);
		buf_addc(out, ']');
		break;
	case V_ARRAY:
		buf_adds(out, STR("[\"a\""));
		for (size_t i = 0; i < v->array.n; i++) {
			buf_addc(out, ',');
			dump(out, v->array.items[i]);
		}
		buf_addc(out, ']');
		break;
	case V_OBJECT:
		buf_addc(out, '{');
		for (size_t i = 0; i < v->object.n; i++) {
			if (i)
				buf_addc(out, ',');
			json_write_string(out, v->object.members[i].key);
			buf_addc(out, ':');
			dump(out, v->object.members[i].value);
		}
		buf_addc(out, '}');
		break;
	default: json_write(out, v); break;
	}
}

static void answer(struct arena *a, struct buf *out, str text)
{
	struct ov_err err = { 0 };
	value *v = NULL;

	buf_clear(out);
	if (toml_parse(a, text, &v, &err) < 0)
		buf_addf(out, "error %s", err.msg);
	else
		dump(out, v);
	/* A message may quote a line separator of some kind; an answer is one line. */
	for (size_t i = 0; i < out->n; i++)
		if (out->p[i] == '\n')
			out->p[i] = ' ';
	buf_addc(out, '\n');
	fwrite(out->p, 1, out->n, stdout);
}

int main(void)
{
	struct arena arena = ARENA_INIT;
	struct buf out = BUF_INIT;
	size_t n;

	while (scanf("%zu", &n) == 1 && getchar() == '\n') {
		/* Exactly as big as the document, so that the sanitizers see a read past it. */
		char *text = mem_alloc(n ? n : 1);

		if (fread(text, 1, n, stdin) != n) {
			fprintf(stderr, "toml_dump: a document is shorter than it says\n");
			return 1;
		}
		answer(&arena, &out, (str){ text, n });
		arena_reset(&arena);
		mem_free(text);
	}
	buf_done(&out);
	arena_done(&arena);
	return 0;
}
