/* cargo test (libtest: one total per binary), and ctest. */
#include "base/str.h"
#include "data/report/testsum_impl.h"

/* "2 passed; 1 failed; 1 ignored; ..." */
static void cargo_total(struct testsum_reading *r, str line)
{
	struct testsum *s = &r->sum;
	const struct {
		const char *word;
		int64_t *sum;
	} words[] = { { " passed", &s->passed }, { " failed", &s->failed },
		{ " ignored", &s->skipped } };
	str part;
	int64_t n;

	while (str_split(&line, ';', &part)) {
		part = str_trim(part);
		if (!take_number(&part, &n))
			continue;
		for (size_t i = 0; i < ARRAY_LEN(words); i++)
			if (str_is(part, words[i].word))
				reading_add(words[i].sum, n);
	}
	r->found = r->full = true;
	r->begun = r->listing = false;
}

static bool is_running(str line)
{
	int64_t n;

	return take_word(&line, "running ") && take_number(&line, &n) &&
			(str_is(line, " tests") || str_is(line, " test"));
}

static void cargo_line(struct testsum_reading *r, str line)
{
	if (take_word(&line, "test result: ")) {
		size_t dot = str_find(line, STR(". "));

		cargo_total(r, str_sub(line, dot < line.n ? dot + 2 : 0, line.n));
	} else if (is_running(line)) {
		r->begun = true;
	} else if (str_is(line, "failures:")) {
		r->listing = true;
	} else if (take_word(&line, "test ") && str_ends(line, STR(" ... FAILED"))) {
		reading_name(r, str_sub(line, 0, line.n - strlen(" ... FAILED")));
	} else if (r->listing && take_word(&line, "    ") && line.n &&
			str_find_byte(line, ' ') == line.n) {
		/* The list that stands before a total; what the tests wrote stands before that. */
		reading_name(r, line);
	}
}

static void cargo_end(struct testsum_reading *r)
{
	/* A binary that began and came to no total was killed, or crashed. */
	r->sum.broken = r->found && r->begun;
}

const struct testsum_reader cargo_reader = { "cargo", cargo_line, NULL, cargo_end };

/* ---- ctest ---- */

/* "67% tests passed, 1 tests failed out of 3" */
static bool ctest_total(struct testsum_reading *r, str line)
{
	int64_t percent, failed, total;

	if (!take_number(&line, &percent) || !take_word(&line, "% tests passed, ") ||
			!take_number(&line, &failed) ||
			!take_word(&line, " tests failed out of ") || !take_number(&line, &total))
		return false;
	r->found = r->full = true;
	reading_add(&r->sum.failed, failed);
	reading_add(&r->sum.passed, MAX(total - failed, 0));
	return true;
}

/*
 * "\t 5 - name (Skipped)": one that was skipped is among those that passed, a disabled one is not.
 */
static void ctest_listed(struct testsum_reading *r, str line)
{
	int64_t number;
	size_t at = line.n;

	take_spaces(&line);
	if (!take_number(&line, &number) || !take_word(&line, " - "))
		return;
	for (size_t i = 0; i + 1 < line.n; i++)
		if (line.p[i] == ' ' && line.p[i + 1] == '(')
			at = i;
	if (r->listing) {
		reading_name(r, str_sub(line, 0, at));
		return;
	}
	reading_add(&r->sum.skipped, 1);
	if (str_ends(line, STR("(Skipped)")) && r->sum.passed)
		r->sum.passed--;
}

static void ctest_line(struct testsum_reading *r, str line)
{
	if (line.p[0] >= '0' && line.p[0] <= '9')
		ctest_total(r, line);
	else if (str_is(line, "The following tests FAILED:"))
		r->begun = r->listing = true;
	else if (str_is(line, "The following tests did not run:"))
		r->begun = !(r->listing = false);
	else if (line.p[0] == '\t' && r->begun)
		ctest_listed(r, line);
	else
		r->begun = false;
}

const struct testsum_reader ctest_reader = { "ctest", ctest_line, NULL, NULL };
