#include "app/exec/executor_check.h"

#include "base/str.h"
#include "base/utf8.h"
#include "core/config/config.h"
#include "data/report/coverage.h"
#include "data/report/testsum.h"
#include "sys/file/beneath.h"

/* Of one report, and of all of a kind: they are read in one go, and the loop waits for it. */
enum { REPORT_MAX = 4 << 20, REPORTS_MAX = 8 << 20 };

struct check_reports {
	struct task *t;
	size_t left; /* bytes that may still be read */
	struct testsum *tests;
	struct coverage *coverage;
};

/* A report of an earlier check, or of the agent's own, says nothing about this one. */
static void read_report(void *user, const struct beneath_file *f)
{
	struct check_reports *r = user;
	_cleanup_(arena_done) struct arena scratch = ARENA_INIT;
	struct testsum tests;
	struct coverage coverage;
	str text;

	if (f->modified_at < r->t->command.started_at || f->size > r->left ||
			beneath_read(&scratch, f, MIN(r->left, (size_t)REPORT_MAX), &text, NULL) <
					0)
		return;
	r->left -= text.n;
	if (r->tests && testsum_parse(&r->t->arena, text, &tests))
		testsum_add(r->tests, &tests);
	if (r->coverage && coverage_parse(text, &coverage))
		coverage_add(r->coverage, &coverage);
}

static void read_reports(struct task *t, const str *patterns, size_t n, struct testsum *tests,
		struct coverage *coverage)
{
	struct check_reports r = { .t = t,
		.left = REPORTS_MAX,
		.tests = tests,
		.coverage = coverage };

	for (size_t i = 0; i < n; i++)
		(void)beneath_find(t->command.cwd.p, patterns[i], read_report, &r, NULL);
}

void check_evidence(struct task *t, struct out_command *ret, str output, bool passed)
{
	const struct config *c = t->x->o.config;
	struct testsum tests = { 0 };
	struct coverage coverage = { 0 };

	read_reports(t, c->workspace_test_report, c->workspace_test_report_n, &tests, NULL);
	if (!tests.format)
		(void)testsum_parse(&t->arena, output, &tests);
	ret->tests = passed && !testsum_is_bad(&tests) ? TESTS_PASSING : TESTS_FAILING;
	ret->tests_format = str_from(tests.format ? tests.format : "exit");
	ret->tests_passed = tests.passed;
	ret->tests_failed = tests.failed;
	ret->tests_skipped = tests.skipped;
	ret->failing_tests = clean_texts(t, tests.names, tests.names_n);
	read_reports(t, c->workspace_coverage_report, c->workspace_coverage_report_n, NULL,
			&coverage);
	if (!coverage.format)
		return;
	ret->coverage_format = str_from(coverage.format);
	ret->coverage_centi = coverage.centi;
}
