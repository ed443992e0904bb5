/*
 * TEST(name) { ... } defines a test and registers it in a linker section, so no
 * list has to be kept; TEST_MAIN, once per binary, runs them all in the order of
 * the source. Under the tests is cmocka: use its assert_*() macros. The output
 * is TAP except on a terminal. An argument restricts the run to the tests whose
 * names match it (a shell pattern).
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

struct test {
	struct CMUnitTest unit;
	int line;
};

/*
 * The section holds pointers, not structs: compilers may align structs more
 * than their type asks for, which would leave holes in the array.
 */
#define TEST(name_)                                                                       \
	static void test_##name_(void **);                                                \
	static const struct test test_##name_##_def = {                                   \
		{ .name = #name_, .test_func = test_##name_ }, __LINE__                   \
	};                                                                                \
	static const struct test *test_##name_##_ref                                      \
			__attribute__((used, section("ov_tests"))) = &test_##name_##_def; \
	static void test_##name_(void **state_ __attribute__((unused)))

extern const struct test *__start_ov_tests[], *__stop_ov_tests[];

static inline int test_by_line(const void *a, const void *b)
{
	return (*(const struct test *const *)a)->line - (*(const struct test *const *)b)->line;
}

static inline int test_run_all(const char *group, const char *pattern)
{
	size_t n = (size_t)(__stop_ov_tests - __start_ov_tests);
	struct CMUnitTest *units = calloc(n, sizeof(*units));
	int failed;

	if (!units)
		abort();
	qsort(__start_ov_tests, n, sizeof(__start_ov_tests[0]), test_by_line);
	for (size_t i = 0; i < n; i++)
		units[i] = __start_ov_tests[i]->unit;
	if (!isatty(STDOUT_FILENO))
		cmocka_set_message_output(CM_OUTPUT_TAP);
	if (pattern)
		cmocka_set_test_filter(pattern);
	failed = _cmocka_run_group_tests(group, units, n, NULL, NULL);
	free(units);
	return failed != 0;
}

#define TEST_MAIN                                                        \
	int main(int argc, char **argv)                                  \
	{                                                                \
		return test_run_all(argv[0], argc > 1 ? argv[1] : NULL); \
	}
