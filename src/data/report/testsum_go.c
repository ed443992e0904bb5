/*
 * go test. With -json and with -v every test is told, those within tests too. Without, only those
 * that failed are: then a package that is told to be fine counts as one, and one that could not be
 * built as one that failed.
 */
#include "base/str.h"
#include "data/report/testsum_impl.h"
#include "data/value/json.h"
#include "data/value/value.h"

static void go_test(struct testsum_reading *r, const char *how, str name)
{
	if (str_is(str_from(how), "pass"))
		reading_add(&r->sum.passed, 1);
	else if (str_is(str_from(how), "skip"))
		reading_add(&r->sum.skipped, 1);
	else
		reading_add(&r->sum.failed, 1);
	if (str_is(str_from(how), "fail"))
		reading_name(r, name);
}

/* "FAIL\tpackage [build failed]": nothing in it was run. */
static void go_unbuilt(struct testsum_reading *r, str line)
{
	str package = str_sub(line, 0, str_find_byte(line, ' '));

	if (!str_ends(line, STR("[build failed]")) && !str_ends(line, STR("[setup failed]")))
		return;
	reading_add(&r->sum.failed, 1);
	reading_name(r, package);
	r->begun = true;
}

/* ---- plain ---- */

static bool go_result(struct testsum_reading *r, str line)
{
	static const struct {
		const char *line, *how;
	} words[] = { { "--- PASS: ", "pass" }, { "--- FAIL: ", "fail" },
		{ "--- SKIP: ", "skip" } };

	take_spaces(&line);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (take_word(&line, words[i].line)) {
			go_test(r, words[i].how, str_sub(line, 0, str_find(line, STR(" ("))));
			r->begun = true;
			return true;
		}
	return false;
}

/* "ok  \tpackage\t0.1s": the end of a package. */
static void go_line(struct testsum_reading *r, str line)
{
	bool ok;

	if (go_result(r, line))
		return;
	ok = take_word(&line, "ok  \t");
	if (!ok && !take_word(&line, "FAIL\t"))
		return;
	r->found = r->full = true;
	if (!ok)
		go_unbuilt(r, line);
	if (!r->begun && ok && !str_ends(line, STR("[no tests to run]")))
		reading_add(&r->sum.passed, 1);
	/* It failed outside of its tests. */
	if (!r->begun && !ok) {
		reading_add(&r->sum.failed, 1);
		reading_name(r, str_sub(line, 0, str_find_byte(line, '\t')));
	}
	r->begun = false;
}

const struct testsum_reader go_reader = { "go", go_line, NULL, NULL };

/* ---- -json ---- */

static void go_json_line(struct testsum_reading *r, str line)
{
	static const struct json_limits limits = { .max_depth = 8 };
	static const char *const ends[] = { "pass", "fail", "skip" };
	str action, test, package;
	value *v;

	if (line.p[0] != '{') {
		if (r->found && take_word(&line, "FAIL\t"))
			go_unbuilt(r, line);
		return;
	}
	if (!str_contains(line, STR("\"Action\"")) ||
			json_parse(r->scratch, line, &limits, &v, NULL) < 0)
		return;
	action = value_str_at(v, "Action");
	test = value_str_at(v, "Test");
	package = value_str_at(v, "Package");
	if (!package.n)
		return;
	r->found = true;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		if (!str_is(action, ends[i]))
			continue;
		if (test.n) {
			go_test(r, ends[i], test);
			continue;
		}
		r->full = true;
		if (value_str_at(v, "FailedBuild").n) {
			reading_add(&r->sum.failed, 1);
			reading_name(r, package);
		} else if (str_is(action, "fail")) {
			reading_add(&r->failed, 1);
		}
	}
}

/* Packages failed, and none of their tests: outside of them. */
static void go_json_end(struct testsum_reading *r)
{
	if (!r->sum.failed)
		reading_add(&r->sum.failed, r->failed);
}

const struct testsum_reader go_json_reader = { "go", go_json_line, NULL, go_json_end };
