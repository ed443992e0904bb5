#include "core/oversight/iteration.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/life/update.h"
#include "core/model/limits.h"
#include "core/text/last_lines.h"
#include "core/text/signature.h"

enum {
	SAID_LIST = 16,   /* learnings and blockers: so many, */
	SAID_BYTES = 512, /* so long */
	CENTI = 100,
};

/* The number that an iteration of this run has, or will have. */
static int64_t iteration_number(const struct node *n, const struct run *r)
{
	/*
	 * A number that is not the newest cannot be replaced: what is judged so late is
	 * another one.
	 */
	return r->iteration && r->iteration == n->watch.iterations_n ? r->iteration
								     : n->watch.iterations_n + 1;
}

bool path_in_scope(const struct strs *scope, str file)
{
	for (size_t i = 0; i < scope->n; i++) {
		str path = scope->p[i];

		while (path.n && path.p[path.n - 1] == '/')
			path.n--;
		if (str_starts(path, STR("./")))
			path = str_sub(path, 2, SIZE_MAX);
		if (!path.n || str_is(path, ".") || str_is(path, "**"))
			return true;
		if (str_starts(file, path) && (file.n == path.n || file.p[path.n] == '/'))
			return true;
	}
	return false;
}

/* What our check failed by: names of tests stand first, since outputs differ in everything else. */
static str check_error(struct arena *a, const struct run *r)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	str told = error_pick(a, r->verification_detail);

	for (size_t i = 0; i < r->failing_tests.n && b.n < ERROR_MAX; i++)
		buf_addf(&b, "%s" STR_FMT, i ? ", " : "failing: ", STR_ARG(r->failing_tests.p[i]));
	if (told.n)
		buf_addf(&b, "%s" STR_FMT, b.n ? "\n" : "", STR_ARG(told));
	if (!b.n)
		buf_adds(&b, r->failure);
	return arena_str(a, utf8_truncate(buf_str(&b), ERROR_MAX));
}

/*
 * An exit status says next to nothing: two are the same error when what the agent wrote last is
 * the same, too.
 */
static bool says_nothing(const struct run *r)
{
	return r->cause == CAUSE_RUN && r->trouble == TROUBLE_NONE && !r->message.n && !r->signal;
}

static str error_of(struct arena *a, const struct run *r)
{
	str told, said = last_line(r->last_lines);

	switch (r->cause) {
	case CAUSE_NONE: return STR("");
	case CAUSE_CHECK: return check_error(a, r);
	default: told = error_pick(a, r->failure);
	}
	if (!told.n)
		told = r->failure;
	if (said.n && says_nothing(r))
		told = arena_printf(a, STR_FMT ": " STR_FMT, STR_ARG(told), STR_ARG(said));
	return arena_str(a, utf8_truncate(told, ERROR_MAX));
}

/* A list of what the agent says, cut to what can be kept. */
static struct strs said_list(struct arena *a, const value *list)
{
	struct strs s = { .p = arena_array(a, str, SAID_LIST) };

	for (size_t i = 0; i < value_count(list) && s.n < SAID_LIST; i++) {
		str text = str_trim(value_str_or(value_item(list, i), STR("")));

		if (text.n)
			s.p[s.n++] = arena_str(a, utf8_truncate(text, SAID_BYTES));
	}
	return s;
}

/* What this run said of its work; what one before it said holds for that one. */
static struct update report_of(struct arena *a, const struct node *n, const struct run *r)
{
	return update_stored(a, n->report.at < r->created_at ? STR("") : n->report.merged);
}

static void take_words(struct arena *a, const struct node *n, const struct update *report,
		struct iteration *it)
{
	/*
	 * A long objective has more words than any summary: what the task is called counts as well.
	 */
	const str aims[] = { n->def.objective, n->def.name, n->goal->title };
	str texts[SAID_LIST + 1];
	size_t count = 0;

	it->learnings = said_list(a, report->learnings);
	it->blockers = said_list(a, report->blockers);
	for (size_t i = 0; i < it->learnings.n; i++)
		texts[count++] = it->learnings.p[i];
	if (report->summary.n)
		texts[count++] = report->summary;
	for (size_t i = 0; i < ARRAY_LEN(aims); i++) {
		int64_t milli;

		if (!words_similarity(aims[i], texts, count, &milli))
			continue;
		it->similarity_milli = MAX(it->similarity_milli, milli);
		it->has_similarity = true;
	}
}

static void take_completion(const struct node *n, const struct run *r, const struct update *report,
		struct iteration *it)
{
	int64_t centi;

	if (r->cause == CAUSE_NONE && r->verification == VERIFY_PASSED && n->def.acceptance.n) {
		it->completion_source = COMPLETION_ACCEPTED;
		it->completion_centi = (int64_t)100 * CENTI;
	} else if (update_completion(report->doc, &centi)) {
		it->completion_source = COMPLETION_REPORTED;
		it->completion_centi = centi;
	}
}

static void take_scope(const struct node *n, struct iteration *it)
{
	for (size_t i = 0; n->def.scope_paths.n && i < it->files.n; i++) {
		if (path_in_scope(&n->def.scope_paths, it->files.p[i]))
			it->inside++;
		else
			it->outside++;
	}
}

static void take_check(const struct run *r, struct iteration *it)
{
	it->tests = r->tests;
	it->tests_format = r->tests_format;
	it->tests_passed = r->tests_passed;
	it->tests_failed = r->tests_failed;
	it->tests_skipped = r->tests_skipped;
	it->failing_tests = r->failing_tests;
	it->coverage_format = r->coverage_format;
	it->coverage_centi = r->coverage_centi;
}

void iteration_make(struct arena *a, const struct state *s, const struct node *n,
		const struct run *r, struct iteration *ret)
{
	const struct assignment *as = state_assignment(s, r->assignment_id);
	const struct update report = report_of(a, n, r);
	ov_time from = r->started_at ? r->started_at : r->created_at;

	*ret = (struct iteration){
		.agent = r->agent,
		.number = iteration_number(n, r),
		.failed = r->cause != CAUSE_NONE,
		.failure_class = r->cause != CAUSE_NONE
				? str_from(status_name(&causes, (int)r->cause))
				: STR(""),
		.error = error_of(a, r),
		.tree = as ? as->tree : STR(""),
		.files = r->touched,
		.tokens = r->tokens,
		.cost_microusd = r->cost_microusd,
		.duration_ms = MAX(r->ended_at - from - r->frozen_ms - r->slept_ms, (ov_time)0),
		.tool = r->tool,
		.tool_digest = r->tool_digest,
		.tool_repeats = r->tool_repeats,
	};
	ret->signature = ret->error.n ? error_signature(a, ret->error) : STR("");
	take_check(r, ret);
	take_scope(n, ret);
	take_completion(n, r, &report, ret);
	take_words(a, n, &report, ret);
}
