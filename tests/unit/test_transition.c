#include "tests/test.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "core/model/model.h"
#include "core/model/transition.h"

/* The tables of the design, written out once more, as "from: to to (override)". */
struct row {
	const char *from, *to, *by_override;
};

static const struct row node_rows[] = {
	{ "todo", "queued blocked cancelled", "done" },
	{ "queued", "todo in_progress blocked cancelled", "done" },
	{ "in_progress", "queued blocked done cancelled", "done" },
	{ "blocked", "todo queued in_progress cancelled", "done" },
	{ "done", "", "queued" },
	{ "cancelled", "", "" },
};
static const struct row as_rows[] = {
	{ "queued", "dispatched blocked cancelled", "" },
	{ "dispatched", "queued active stalled blocked done cancelled", "" },
	{ "active", "queued stalled blocked done cancelled", "" },
	{ "stalled", "queued dispatched active blocked done cancelled", "" },
	{ "blocked", "queued dispatched active done cancelled", "" },
	{ "done", "", "" },
	{ "cancelled", "", "" },
};
static const struct row goal_rows[] = {
	{ "active", "paused completed cancelled", "" },
	{ "paused", "active completed cancelled", "" },
	{ "completed", "archived", "active" },
	{ "cancelled", "archived", "" },
	{ "archived", "", "" },
};
static const struct row worker_rows[] = {
	{ "offline", "idle error", "" },
	{ "idle", "offline working error", "" },
	{ "working", "offline idle needs_review rebasing no_changes error", "" },
	{ "needs_review", "offline idle reviewing rejected rebasing no_changes error", "" },
	{ "reviewing", "offline idle needs_review rejected rebasing error", "" },
	{ "rejected", "offline idle working needs_review error", "" },
	{ "rebasing", "offline idle working needs_review no_changes error", "" },
	{ "no_changes", "offline idle working error", "" },
	{ "error", "offline idle", "" },
};
static const struct row run_rows[] = {
	{ "starting", "running ended", "" },
	{ "running", "ended", "" },
	{ "ended", "", "" },
};
static const struct row esc_rows[] = {
	{ "open", "answered expired dismissed", "" },
	{ "answered", "", "" },
	{ "expired", "", "" },
	{ "dismissed", "", "" },
};

static const struct row notice_rows[] = {
	{ "waiting", "sent failed withdrawn", "" },
	{ "sent", "", "" },
	{ "failed", "", "waiting" },
	{ "withdrawn", "", "" },
};

#define ROWS(table, rows) &(table), rows, ARRAY_LEN(rows)
static const struct {
	const struct status_table *table;
	const struct row *rows;
	size_t n;
} tables[] = {
	{ ROWS(node_statuses, node_rows) },
	{ ROWS(notice_statuses, notice_rows) },
	{ ROWS(as_statuses, as_rows) },
	{ ROWS(goal_statuses, goal_rows) },
	{ ROWS(worker_statuses, worker_rows) },
	{ ROWS(run_statuses, run_rows) },
	{ ROWS(esc_statuses, esc_rows) },
};

static bool has_word(const char *words, const char *word)
{
	str rest = str_from(words), part;

	while (str_split(&rest, ' ', &part))
		if (str_is(part, word))
			return true;
	return false;
}

/* Every word after the colon of a refusal is one that is legal, and none is left out. */
static void check_message(const char *msg, const char *legal)
{
	const char *list = strstr(msg, "it can become: ");
	struct buf shown = BUF_INIT;
	str rest, word;

	assert_non_null(list);
	list += strlen("it can become: ");
	if (!legal[0]) {
		assert_string_equal(list, "nothing, it is final");
		return;
	}
	rest = str_from(list);
	while (str_split(&rest, ',', &word))
		buf_addf(&shown, "%s" STR_FMT, shown.n ? " " : "", STR_ARG(str_trim(word)));
	assert_string_equal(buf_cstr(&shown), legal);
	buf_done(&shown);
}

static void walk(const struct status_table *t, const struct row *row, int from)
{
	for (int to = 0; to < t->n; to++) {
		bool legal = has_word(row->to, t->names[to]);
		bool forced = legal || has_word(row->by_override, t->names[to]);
		struct ov_err err = { 0 };

		if (status_may(t, from, to, false) != legal ||
				status_may(t, from, to, true) != forced)
			fail_msg("%s: %s -> %s", t->noun, row->from, t->names[to]);
		assert_int_equal(status_check(t, STR("X9"), from, to, true, NULL),
				forced ? 0 : OV_ESTATE);
		if (status_check(t, STR("X9"), from, to, false, &err) == 0) {
			assert_true(legal);
			continue;
		}
		assert_false(legal);
		assert_int_equal(err.code, OV_ESTATE);
		assert_non_null(strstr(err.msg, "X9"));
		assert_non_null(strstr(err.msg, row->from));
		check_message(err.msg, row->to);
	}
}

TEST(every_pair_of_every_table)
{
	size_t pairs = 0;

	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		const struct status_table *t = tables[i].table;

		assert_int_equal(t->n, tables[i].n);
		for (int from = 0; from < t->n; from++) {
			assert_string_equal(t->names[from], tables[i].rows[from].from);
			walk(t, &tables[i].rows[from], from);
			pairs += (size_t)t->n;
		}
	}
	assert_int_equal(pairs, 36 + 9 + 49 + 25 + 81 + 16 + 16);
}

/* Words by which the log and the API know them: changing one breaks every store. */
TEST(names)
{
	static const struct {
		const struct status_table *table;
		const char *names;
	} sets[] = {
		{ &goal_healths, "healthy warning critical paused aborted" },
		{ &verifications, "pending running passed failed skipped refused" },
		{ &node_tiers, "phase task subtask" },
		{ &stages,
				"none waiting workspace start running stop harvest check review "
				"rebase gate accept post_accept revert" },
		{ &causes,
				"none workspace start run lost harvest no_changes check verify "
				"accept "
				"conflict "
				"dirty moved gate post_accept review" },
		{ &effect_kinds,
				"workspace run_start run_stop send plan harvest check accept "
				"rebase "
				"gate post_accept revert pool worker notify" },
		{ &detectors, "stuck oscillation deviation scope_creep resource_burn regression" },
		{ &severities, "none low medium high critical" },
		{ &levels, "none log warn redirect pause abort" },
		{ &effectivenesses, "open helpful unhelpful unknown" },
		{ &urgencies, "info warning critical emergency" },
		{ &channel_types, "desktop gitea github webhook slack discord hook" },
		{ &tests_states, "unknown passing failing" },
		{ &completion_sources, "unknown accepted reported" },
		{ &worker_kinds, "pool manual auto" },
		{ &patrol_facts,
				"session_gone process_gone undelivered stale_rebase no_worktree "
				"stray_worktree orphaned_claim missing_worker" },
	};

	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		struct buf names = BUF_INIT;

		for (int k = 0; k < sets[i].table->n; k++)
			buf_addf(&names, "%s%s", k ? " " : "", sets[i].table->names[k]);
		assert_string_equal(buf_cstr(&names), sets[i].names);
		assert_false(sets[i].table->allowed);
		buf_done(&names);
	}
}

TEST(names_parse_back)
{
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		for (int s = 0; s < tables[i].table->n; s++) {
			const char *name = status_name(tables[i].table, s);

			assert_int_equal(status_parse(tables[i].table, str_from(name)), s);
		}
	assert_int_equal(status_parse(&node_statuses, STR("")), -1);
	assert_int_equal(status_parse(&node_statuses, STR("Todo")), -1);
	assert_int_equal(status_parse(&node_statuses, STR("todo ")), -1);
	assert_int_equal(status_parse(&node_statuses, STR("tod")), -1);
}

TEST_MAIN
