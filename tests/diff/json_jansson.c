/*
 * Our JSON reader against jansson over generated documents, whole and damaged. The argument is
 * the number of documents; the seed is fixed, so a disagreement repeats. Output is TAP.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "tests/json_gen.h"
#include "tests/json_oracle.h"

enum { VARIANTS = 8 };

static void show(const char *verdict, size_t number, str text)
{
	printf("# document %zu: %s: ", number, verdict);
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];

		printf(c >= 0x20 && c < 0x7f ? "%c" : "\\x%02x", c);
	}
	putchar('\n');
}

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 200000;
	size_t accepted = 0, refused = 0, disagreed = 0;
	struct arena a = ARENA_INIT;
	struct buf whole = BUF_INIT, text = BUF_INIT;
	struct rng r = { 2026 };

	for (size_t i = 0; i < count; i++) {
		const char *verdict;
		bool ok;

		if (i % VARIANTS == 0) {
			arena_reset(&a);
			buf_clear(&whole);
			(i % 3 ? json_write : json_write_pretty)(&whole, gen_value(&a, &r, 3));
		}
		buf_clear(&text);
		buf_adds(&text, buf_str(&whole));
		if (i % VARIANTS)
			gen_mutate(&text, &r);
		verdict = oracle_compare(&a, buf_str(&text), &ok);
		accepted += ok;
		refused += !ok;
		if (verdict && disagreed++ < 10)
			show(verdict, i, buf_str(&text));
	}
	buf_done(&whole);
	buf_done(&text);
	arena_done(&a);
	printf("1..2\n# %zu accepted, %zu refused\n", accepted, refused);
	printf("%sok 1 - %zu documents, %zu disagreements\n", disagreed ? "not " : "", count,
			disagreed);
	/* A generator that makes only one kind would prove little. */
	printf("%sok 2 - enough of both kinds\n",
			accepted < count / 5 || refused < count / 5 ? "not " : "");
	return 0;
}
