/*
 * TAP 13 and 14, and what node's own runner makes of it. Lines of subtests are indented: only the
 * outermost count, since a subtest that failed fails its test. Several documents in one output are
 * summed; tests that a plan announced and that did not come are failures.
 */
#include "base/str.h"
#include "data/report/testsum_impl.h"

/* A line of TAP that tells how a test went. */
struct tap_line {
	bool ok, skip, todo;
	str name;
};

static bool is_directive(str s, const char *word)
{
	size_t n = strlen(word);

	if (s.n < n)
		return false;
	for (size_t i = 0; i < n; i++)
		if ((s.p[i] | 0x20) != word[i])
			return false;
	return true;
}

/* "name # SKIP why": the last '#' that has no backslash before it. */
static void directive(str rest, struct tap_line *ret)
{
	size_t at = rest.n;
	str word;

	ret->name = str_trim(rest);
	for (size_t i = 0; i < rest.n; i++)
		if (rest.p[i] == '#' && (!i || rest.p[i - 1] != '\\'))
			at = i;
	if (at == rest.n)
		return;
	word = str_trim(str_sub(rest, at + 1, rest.n));
	ret->skip = is_directive(word, "skip");
	ret->todo = is_directive(word, "todo");
	if (ret->skip || ret->todo)
		ret->name = str_trim(str_sub(rest, 0, at));
}

static bool tap_line_read(str line, struct tap_line *ret)
{
	struct tap_line t = { .ok = !take_word(&line, "not ") };
	int64_t number;

	if (!take_word(&line, "ok") || (line.n && line.p[0] != ' ' && line.p[0] != '\t'))
		return false;
	take_spaces(&line);
	if (take_number(&line, &number))
		take_spaces(&line);
	if (take_word(&line, "- "))
		take_spaces(&line);
	directive(line, &t);
	*ret = t;
	return true;
}

static void tap_plan(struct testsum_reading *r, str line)
{
	int64_t n;

	if (!take_word(&line, "1..") || !take_number(&line, &n))
		return;
	take_spaces(&line);
	if (line.n && line.p[0] != '#')
		return;
	r->found = r->full = true;
	reading_add(&r->planned, n);
}

static void tap_line(struct testsum_reading *r, str line)
{
	struct tap_line t;

	if (line.p[0] == '1') {
		tap_plan(r, line);
	} else if (str_starts(line, STR("TAP version 1"))) {
		r->found = true;
	} else if (str_starts(line, STR("Bail out!"))) {
		r->sum.broken = true;
	} else if ((line.p[0] == 'o' || line.p[0] == 'n') && tap_line_read(line, &t)) {
		reading_add(&r->seen, 1);
		if (t.skip || (t.todo && !t.ok))
			reading_add(&r->sum.skipped, 1);
		else
			reading_add(t.ok ? &r->sum.passed : &r->sum.failed, 1);
		if (!t.ok && !t.skip && !t.todo)
			reading_name(r, t.name);
	}
}

static void tap_end(struct testsum_reading *r)
{
	if (r->full && r->seen < r->planned)
		reading_add(&r->sum.failed, r->planned - r->seen);
	r->sum.broken |= r->seen < r->planned || (r->found && !r->full);
}

const struct testsum_reader tap_reader = { "tap", tap_line, NULL, tap_end };

/* ---- node --test, with the reporters spec and tap ---- */

enum { NODE_TESTS = 1, NODE_PASS = 2, NODE_FAIL = 4, NODE_CANCELLED = 8, NODE_ALL = 15 };

/* "pass 4"; others that write TAP say some of this too, but none of them all. */
static void node_total(struct testsum_reading *r, str line)
{
	struct testsum *s = &r->sum;
	const struct {
		const char *word;
		unsigned key;
		int64_t *sum;
	} words[] = { { "tests ", NODE_TESTS, &r->seen }, { "pass ", NODE_PASS, &s->passed },
		{ "fail ", NODE_FAIL, &s->failed }, { "cancelled ", NODE_CANCELLED, &s->failed },
		{ "skipped ", 0, &s->skipped }, { "todo ", 0, &s->skipped } };
	int64_t n;

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (take_word(&line, words[i].word)) {
			if (take_number(&line, &n) && !line.n) {
				reading_add(words[i].sum, n);
				r->keys |= words[i].key;
			}
			return;
		}
}

/* "name (1.5ms)", with a directive where one was given. */
static void node_name(struct testsum_reading *r, str line)
{
	struct tap_line t = { 0 };
	size_t at;

	directive(line, &t);
	at = t.name.n;
	for (size_t i = 0; i + 1 < t.name.n; i++)
		if (t.name.p[i] == ' ' && t.name.p[i + 1] == '(')
			at = i;
	if (!t.todo)
		reading_name(r, str_sub(t.name, 0, at));
}

static void node_line(struct testsum_reading *r, str line)
{
	struct tap_line t;

	if (take_word(&line, "# ") || take_word(&line, "\xe2\x84\xb9 ")) {
		node_total(r, line);
		return;
	}
	/* What failed is listed once more at the end, without the suites around it. */
	if (take_word(&line, "\xe2\x9c\x96 ")) {
		if (r->listing)
			node_name(r, line);
		r->listing |= str_is(line, "failing tests:");
		return;
	}
	take_spaces(&line);
	if (line.n && line.p[0] == 'n' && tap_line_read(line, &t) && !t.skip && !t.todo) {
		reading_name(r, t.name);
		return;
	}
	/* It failed only for a part of it, which was told before. */
	if (str_is(line, "failureType: 'subtestsFailed'") && r->sum.names_n)
		r->sum.names_n--;
}

static void node_end(struct testsum_reading *r)
{
	r->found = r->full = r->keys == NODE_ALL;
}

const struct testsum_reader node_reader = { "node", node_line, NULL, node_end };
