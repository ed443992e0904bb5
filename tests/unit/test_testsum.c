/*
 * Summaries of tests: what real tools wrote (tests/testsums), what their documents say besides, and
 * what nobody should be taken in by.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "data/report/coverage.h"
#include "data/report/testsum.h"
#include "data/report/xmlscan.h"
#include "tests/test.h"

static str capture(struct arena *a, const char *name)
{
	str path = arena_printf(a, "%s/tests/testsums/%s", getenv("OV_SOURCE_ROOT"), name);
	FILE *f = fopen(path.p, "re");
	char *p = arena_alloc(a, 1 << 20);
	size_t n;

	if (!f)
		fail_msg("%s: no such capture", path.p);
	n = fread(p, 1, 1 << 20, f);
	fclose(f);
	return (str){ p, n };
}

/* "pytest 3 passed 4 failed 2 skipped broken: name; name" */
static str said(struct arena *a, str output)
{
	struct buf b = BUF_INIT;
	struct testsum s;
	str text;

	if (!testsum_parse(a, output, &s))
		return STR("nothing");
	buf_addf(&b, "%s %lld/%lld/%lld%s", s.format, (long long)s.passed, (long long)s.failed,
			(long long)s.skipped, s.broken ? " broken" : "");
	for (size_t i = 0; i < s.names_n; i++)
		buf_addf(&b, "%s" STR_FMT, i ? "; " : ": ", STR_ARG(s.names[i]));
	text = arena_str(a, buf_str(&b));
	buf_done(&b);
	return text;
}

static void says(const char *what, str output, const char *expected)
{
	struct arena a = ARENA_INIT;
	str text = said(&a, output);

	if (!str_is(text, expected))
		fail_msg("%s: \"" STR_FMT "\", not \"%s\"", what, STR_ARG(text), expected);
	arena_done(&a);
}

/* Passed/failed/skipped. */
TEST(what_real_tools_wrote)
{
	static const struct {
		const char *name, *expected;
	} cases[] = {
		{ "cargo_pass.txt", "cargo 6/0/1" },
		{ "cargo_fail.txt", "cargo 4/2/1: tests::bad; wrong" },
		{ "cargo_quiet.txt", "cargo 4/2/1: tests::bad; wrong" },
		/* It stops at the first binary that fails. */
		{ "cargo_colour.txt", "cargo 2/1/1: tests::bad" },
		{ "cargo_broken.txt", "nothing" },
		{ "ctest_pass.txt", "ctest 1/0/1" },
		{ "ctest_fail.txt", "ctest 1/3/2: bad.one; bad two; missing" },
		{ "ctest_none.txt", "nothing" },
		{ "node_spec_pass.txt", "node 1/0/0" },
		{ "node_tap_pass.txt", "node 1/0/0" },
		{ "node_spec_fail.txt", "node 4/4/2: is wrong; inner bad; part two" },
		{ "node_tap_fail.txt", "node 4/4/2: is wrong; inner bad; part two" },
		{ "node_colour.txt", "node 4/4/2: is wrong; inner bad; part two" },
		{ "go_pass.txt", "go 1/0/0" },
		{ "go_fail.txt", "go 1/4/0: TestBad; TestSub; TestSub/two; demo/d" },
		{ "go_verbose.txt", "go 3/4/1: TestBad; TestSub; TestSub/two; demo/d" },
		{ "go_json.txt", "go 3/4/1: TestBad; TestSub/two; TestSub; demo/d" },
		{ "go_json_pass.txt", "go 1/0/0" },
		{ "pytest_pass.txt", "pytest 1/0/0" },
		{ "pytest_none.txt", "pytest 0/0/0" },
		{ "pytest_collect.txt", "pytest 0/1/0: test_c.py" },
		{ "pytest_fail.txt",
				"pytest 4/4/2: test_a.py::test_bad; test_a.py::test_p[a b]; "
				"test_a.py::TestC::test_m; test_a.py::test_err" },
		{ "pytest_quiet.txt",
				"pytest 4/4/2: test_a.py::test_bad; test_a.py::test_p[a b]; "
				"test_a.py::TestC::test_m; test_a.py::test_err" },
		{ "pytest_colour.txt",
				"pytest 4/4/2: test_a.py::test_bad; test_a.py::test_p[a b]; "
				"test_a.py::TestC::test_m; test_a.py::test_err" },
		{ "tap_perl.txt", "tap 2/2/2: second \\# 2; inner" },
		{ "tap_bail.txt", "tap 1/3/0 broken" },
		{ "tap_short.txt", "tap 1/3/0 broken" },
		{ "tap_skipall.txt", "tap 0/0/0" },
		{ "junit_pytest.xml",
				"junit 4/4/2: test_a.test_bad; test_a.test_err; "
				"test_a.test_p[a b]; test_a.TestC.test_m" },
		{ "junit_node.xml", "junit 4/3/2: test.is wrong; test.inner bad; test.part two" },
		{ "junit_ctest.xml", "junit 1/2/3: bad.one; bad two" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena a = ARENA_INIT;

		says(cases[i].name, capture(&a, cases[i].name), cases[i].expected);
		arena_done(&a);
	}
}

#define CASES(name) "<testcase name=\"" name "\"/>"

TEST(what_the_formats_allow_besides)
{
	static const struct {
		const char *what, *output, *expected;
	} cases[] = {
		/* TAP */
		{ "plan at the end", "ok 1\nnot ok 2 two\n1..2\n", "tap 1/1/0: two" },
		{ "two documents", "1..1\nok 1\n1..2\nok 1\nnot ok 2 - b\n", "tap 2/1/0: b" },
		{ "version without plan", "TAP version 14\nok 1\n", "tap 1/0/0 broken" },
		{ "only the version", "TAP version 13\n", "tap 0/0/0 broken" },
		{ "no plan, no version", "ok 1 - a\nnot ok 2 - b\n", "nothing" },
		{ "more than planned", "1..1\nok 1\nok 2\n", "tap 2/0/0" },
		{ "directives in any case",
				"1..3\nnot ok 1 - a # Todo x\nok 2 # SKIP\nnot ok 3 # "
				"skip y\n",
				"tap 0/0/3" },
		{ "todo that works", "1..1\nok 1 a # TODO\n", "tap 1/0/0" },
		{ "words that are none", "1..1\nokay then\nnot okay\nok 1\n", "tap 1/0/0" },
		{ "no range", "1..1 of it\nok 1\n", "nothing" },
		{ "windows", "1..2\r\nok 1 - a\r\nnot ok 2 - b\r\n", "tap 1/1/0: b" },
		{ "tape, which says some of what node says",
				"TAP version 13\nok 1 a\nnot ok 2 b\n\n1..2\n# tests 2\n# pass  "
				"1\n# "
				"fail  1\n",
				"tap 1/1/0: b" },
		/* JUnit */
		{ "nested suites",
				"<testsuites tests=\"9\"><testsuite tests=\"9\">" CASES(
						"a") "<testsuite tests=\"1\">" CASES("b") "</"
											  "testsuit"
											  "e></"
											  "testsuit"
											  "e>"
											  "</"
											  "testsuit"
											  "es>",
				"junit 2/0/0" },
		{ "numbers without cases",
				"<testsuites><testsuite tests=\"5\" failures=\"1\" "
				"errors=\"1\" skipped=\"1\"/><testsuite tests=\"2\">"
				"<testsuite tests=\"2\"/></testsuite></testsuites>",
				"junit 4/2/1" },
		{ "entities",
				"<testsuite><testcase classname='a&lt;b&gt;' "
				"name='&quot;&#x41;&#66;"
				"&amp;amp; &nosuch; &#xD800;'><failure/></testcase></testsuite>",
				"junit 0/1/0: a<b>.\"AB&amp; &nosuch; &#xD800;" },
		{ "what is inside of CDATA and comments",
				"<testsuite><!-- <testcase name='x'> --><testcase "
				"name='y'><system-out>"
				"<![CDATA[<failure/></testcase><testcase>]]></system-out></"
				"testcase>"
				"</testsuite>",
				"junit 1/0/0" },
		{ "a document type",
				"<!DOCTYPE x [<!ENTITY a \"<testcase/>\">]><testsuite>" CASES(
						"&a;") "</testsuite>",
				"junit 1/0/0" },
		{ "a sign in an attribute",
				"<testsuite name=\"a > b\"><testcase name='c > d'><error "
				"message='</testcase>'/></testcase></testsuite>",
				"junit 0/1/0: c > d" },
		{ "cut off", "<testsuite><testcase name='a'/><testcase name='b'><failure>wh",
				"junit 1/1/0 broken: b" },
		{ "cut off in a tag", "<testsuite><testcase name='a'/><testcase na",
				"junit 1/0/0 broken" },
		{ "empty", "<testsuites/>", "junit 0/0/0" },
		{ "a report after other words", "running\n<testsuite>" CASES("a") "</testsuite>\n",
				"junit 1/0/0" },
		/* pytest */
		{ "two sessions",
				"=== test session starts ===\n=== 2 passed in 0.10s ===\n"
				"=== test session starts ===\n=== 1 failed, 1 passed in 0.10s "
				"===\n",
				"pytest 3/1/0" },
		{ "the last total of a session", "1 failed, 1 passed in 0.10s\n2 passed in 0.20s\n",
				"pytest 2/0/0" },
		{ "a long one", "=== 1 passed, 3 warnings in 75.02s (0:01:15) ===\n",
				"pytest 1/0/0" },
		{ "no tests", "=== no tests ran in 0.01s ===\n", "pytest 0/0/0" },
		{ "a session that was killed", "=== test session starts ===\ncollected 3 items\n",
				"pytest 0/0/0 broken" },
		{ "words of a plugin", "=== 1 passed, 2 subtests passed in 0.01s ===\n",
				"pytest 1/0/0" },
		{ "no total", "3 apples in 2.5s\n5 in 1.0s\n1 passed in a hurry\n", "nothing" },
		/* cargo, ctest, go, node */
		{ "several binaries",
				"test result: ok. 3 passed; 0 failed; 0 ignored\ntest result: "
				"ok. 4 passed; 0 failed; 2 ignored\n",
				"cargo 7/0/2" },
		{ "a binary that crashed",
				"running 1 test\ntest result: ok. 1 passed; 0 failed; 0 "
				"ignored\nrunning 3 tests\ntest a ... ok\nerror: "
				"signal: 11\n",
				"cargo 1/0/0 broken" },
		{ "several times ctest",
				"100% tests passed, 0 tests failed out of 2\n50% tests passed, 1 "
				"tests "
				"failed out of 2\n",
				"ctest 3/1/0" },
		{ "a package that fails outside of its tests", "panic: x\nFAIL\tdemo\t0.1s\n",
				"go 0/1/0: demo" },
		{ "a package without tests", "ok  \tdemo\t0.1s [no tests to run]\n", "go 0/0/0" },
		{ "the same as JSON",
				"{\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"T\"}\n"
				"{\"Action\":\"fail\",\"Package\":\"p\"}\n",
				"go 1/1/0" },
		{ "a package that cannot be built, as newer ones say it",
				"{\"ImportPath\":\"p\",\"Action\":\"build-fail\"}\n"
				"{\"Action\":\"fail\",\"Package\":\"p\",\"FailedBuild\":\"p\"}\n",
				"go 0/1/0: p" },
		{ "other JSON",
				"{\"Action\":\"fail\",\"Test\":\"x\"}\n{\"Action\":7}\n{"
				"\"Action\"\n",
				"nothing" },
		{ "two runs of node",
				"\xe2\x84\xb9 tests 1\n\xe2\x84\xb9 pass 1\n\xe2\x84\xb9 fail 0\n"
				"\xe2\x84\xb9 cancelled 0\n# tests 2\n# pass 1\n# fail 0\n# "
				"cancelled 1\n",
				"node 2/1/0" },
		/* which one */
		{ "the more specific one", "1..1\nok 1\n=== 2 passed in 0.10s ===\n",
				"pytest 2/0/0" },
		{ "a complete one before a more specific one",
				"=== test session starts ===\n1..1\nok 1\n", "tap 1/0/0" },
		{ "nothing", "", "nothing" },
		{ "other words", "all tests passed\nmake: *** [test] Error 1\n", "nothing" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		says(cases[i].what, str_from(cases[i].output), cases[i].expected);
}

TEST(names_are_bounded_clean_and_told_once)
{
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;
	struct testsum s;

	for (int i = 0; i < 100; i++)
		buf_addf(&b, "not ok %d - test %d\n", i + 1, i / 2);
	buf_addf(&b, "1..100\n");
	assert_true(testsum_parse(&a, buf_str(&b), &s));
	assert_int_equal(s.failed, 100);
	assert_int_equal(s.names_n, TESTSUM_NAMES);
	assert_true(str_is(s.names[1], "test 1"));

	buf_clear(&b);
	buf_adds(&b, STR("1..1\nnot ok 1 - \xff\x07"));
	for (int i = 0; i < 1000; i++)
		buf_adds(&b, STR("\xc3\xa4"));
	assert_true(testsum_parse(&a, buf_str(&b), &s));
	assert_true(s.names[0].n <= TESTSUM_NAME_BYTES * 3);
	assert_true(str_starts(s.names[0], STR("\xef\xbf\xbd\xef\xbf\xbd\xc3\xa4")));
	buf_done(&b);
	arena_done(&a);
}

TEST(numbers_that_cannot_be_are_held)
{
	struct arena a = ARENA_INIT;
	struct testsum s;

	assert_true(testsum_parse(&a,
			STR("test result: ok. 9223372036854775807 passed; 0 failed\ntest result: "
			    "ok. 9223372036854775807 passed; 99999999999999999999 failed\n"),
			&s));
	assert_int_equal(s.passed, 1000000000);
	assert_int_equal(s.failed, 0);
	assert_true(testsum_parse(&a, STR("1..999999999999\nok 1\n"), &s));
	assert_true(s.broken && s.failed > 0);
	arena_done(&a);
}

TEST(reports_are_added_up)
{
	struct arena a = ARENA_INIT;
	struct testsum one = { 0 }, two = { 0 }, other = { 0 };

	assert_true(testsum_parse(&a, STR("1..2\nok 1\nnot ok 2 - x\n"), &one));
	assert_true(testsum_parse(&a, STR("1..2\nnot ok 1 - x\nnot ok 2 - y\n"), &two));
	assert_true(testsum_parse(&a, STR("2 passed in 0.10s\n"), &other));
	testsum_add(&one, &two);
	testsum_add(&one, &other);
	assert_int_equal(one.passed, 1);
	assert_int_equal(one.failed, 3);
	assert_int_equal(one.names_n, 2);
	assert_true(testsum_is_bad(&one) && !testsum_is_bad(&other));
	arena_done(&a);
}

/* A quadratic reader would take minutes for each of these. */
TEST(long_outputs_are_read_in_one_go)
{
	static const char *const units[] = { "<", "<!--", "<testsuite>", "<testcase name='",
		"\x1b[", "ok 1 # # # #", "=", "1 passed, ", "\r", "--- FAIL: a (", "&#",
		"not ok 1 - a\n", "{\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"t\"}\n",
		"FAILED a.py::x - \n", "    x\n", "<testcase a='b' ", "\xe2\x9c\x96 x (\n" };
	clock_t start = clock();

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		struct arena a = ARENA_INIT;
		struct buf b = BUF_INIT;
		struct testsum s;
		struct coverage c;

		buf_adds(&b, STR("failures:\n<testsuite><testcase name='"));
		while (b.n < 1 << 20)
			buf_adds(&b, str_from(units[i]));
		(void)testsum_parse(&a, buf_str(&b), &s);
		(void)coverage_parse(buf_str(&b), &c);
		buf_done(&b);
		arena_done(&a);
	}
	assert_true((clock() - start) / CLOCKS_PER_SEC < 60);
}

TEST(coverage_of_real_tools)
{
	static const struct {
		const char *name, *format;
		int64_t centi;
	} cases[] = {
		{ "python.lcov", "lcov", 7500 },
		{ "node.lcov", "lcov", 10000 },
		{ "cobertura.xml", "cobertura", 7500 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena a = ARENA_INIT;
		struct coverage c = { 0 };

		assert_true(coverage_parse(capture(&a, cases[i].name), &c));
		assert_string_equal(c.format, cases[i].format);
		assert_int_equal(c.centi, cases[i].centi);
		arena_done(&a);
	}
}

TEST(coverage_in_other_words)
{
	static const struct {
		const char *text;
		int64_t centi; /* -1: says nothing */
	} cases[] = {
		{ "SF:a\nLF:3\nLH:1\nend_of_record\nSF:b\nLF:0\nLH:0\nend_of_record\n", 3333 },
		{ "SF:a\r\nLF:8\r\nLH:7\r\n", 8750 },
		{ "SF:a\nLF:1\nLH:5\n", 10000 },
		{ "SF:a\nLF:0\nLH:0\n", -1 },
		{ "LF:4\nLH:2\n", -1 },
		{ "SF:a\nLF:-4\nLH:2\n", -1 },
		{ "<?xml version='1.0'?><!DOCTYPE coverage SYSTEM 'x'><coverage "
		  "line-rate='0.85719' "
		  "branch-rate='1'/>",
				8571 },
		{ "<coverage line-rate=\"1.0\"><packages/></coverage>", 10000 },
		{ "<coverage line-rate=\"0\" lines-covered=\"1\" lines-valid=\"3\">", 3333 },
		{ "<coverage line-rate=\"0.5\" lines-covered=\"0\" lines-valid=\"0\">", 5000 },
		{ "<coverage line-rate=\"NaN\">", -1 },
		{ "<coverage line-rate=\"7\">", -1 },
		{ "<coverage>", -1 },
		{ "<report><coverage line-rate='1'/></report>", -1 },
		{ "", -1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct coverage c = { .centi = -1 };

		(void)coverage_parse(str_from(cases[i].text), &c);
		if (c.centi != cases[i].centi)
			fail_msg("%s: %lld", cases[i].text, (long long)c.centi);
	}
}

TEST(coverage_is_added_up_by_lines)
{
	struct coverage sum = { 0 }, more;

	assert_true(coverage_parse(STR("SF:a\nLF:1\nLH:0\n"), &more));
	coverage_add(&sum, &more);
	assert_true(coverage_parse(STR("SF:b\nLF:3\nLH:3\n"), &more));
	coverage_add(&sum, &more);
	assert_int_equal(sum.centi, 7500);
	assert_true(coverage_parse(STR("<coverage line-rate='0.1'/>"), &more));
	coverage_add(&sum, &more);
	assert_int_equal(sum.centi, 7500);
}

TEST_MAIN
