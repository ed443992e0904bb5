#include "base/err.h"
#include "base/str.h"
#include "core/state.h"

/* Collects what matches a text: an exact id wins over prefixes; two prefixes are ambiguous. */
struct match {
	str text;
	void *found;
	size_t count;
	bool exact;
};

static void match_try(struct match *m, str id, void *object)
{
	if (m->exact || !str_starts(id, m->text))
		return;
	m->exact = id.n == m->text.n;
	m->count = m->exact ? 1 : m->count + 1;
	m->found = object;
}

static int match_end(const struct match *m, const char *noun, const char *list_command,
		struct ov_err *err)
{
	if (m->count == 1 && m->text.n)
		return 0;
	if (m->count == 0 || m->text.n == 0)
		ov_fail(err, OV_ENOTFOUND, "there is no %s \"" STR_FMT "\"", noun,
				STR_ARG(m->text));
	else
		ov_fail(err, OV_ECONFLICT, "\"" STR_FMT "\" fits %zu %ss; give more of the id",
				STR_ARG(m->text), m->count, noun);
	ov_next(err, "%s", list_command);
	return m->count == 0 || m->text.n == 0 ? OV_ENOTFOUND : OV_ECONFLICT;
}

int state_find_goal(const struct state *s, str text, struct goal **ret, struct ov_err *err)
{
	struct match m = { .text = text };
	int r;

	for (size_t i = 0; i < s->goals.n; i++)
		match_try(&m, s->goals.p[i]->id, s->goals.p[i]);
	r = match_end(&m, "goal", "overseer goal list", err);
	if (r == 0)
		*ret = m.found;
	return r;
}

/* A node id of one known goal. */
static int find_in_goal(const struct state *s, const struct goal *g, str id, struct node **ret,
		struct ov_err *err)
{
	struct node *n = state_node(s, g->id, id);

	if (!n) {
		ov_fail(err, OV_ENOTFOUND, "goal " STR_FMT " has no node \"" STR_FMT "\"",
				STR_ARG(g->id), STR_ARG(id));
		ov_next(err, "overseer plan show " STR_FMT, STR_ARG(g->id));
		return OV_ENOTFOUND;
	}
	*ret = n;
	return 0;
}

int state_find_node(const struct state *s, str goal, str text, struct node **ret,
		struct ov_err *err)
{
	size_t slash = str_find_byte(text, '/'), open_count = 0, count = 0;
	struct node *found = NULL, *found_open = NULL;
	struct goal *g;
	int r;

	if (slash < text.n) {
		goal = str_sub(text, 0, slash);
		text = str_sub(text, slash + 1, text.n);
	}
	if (goal.n) {
		r = state_find_goal(s, goal, &g, err);
		return r < 0 ? r : find_in_goal(s, g, text, ret, err);
	}
	/* Without a goal, one that is still open is meant before one that is over. */
	for (size_t i = 0; i < s->goals.n; i++) {
		struct node *n = state_node(s, s->goals.p[i]->id, text);
		bool open = s->goals.p[i]->status == GOAL_ACTIVE ||
				s->goals.p[i]->status == GOAL_PAUSED;

		if (!n)
			continue;
		count++;
		found = n;
		open_count += open;
		found_open = open ? n : found_open;
	}
	if (open_count == 1 || count == 1) {
		*ret = open_count == 1 ? found_open : found;
		return 0;
	}
	if (count == 0)
		ov_fail(err, OV_ENOTFOUND, "no goal has a node \"" STR_FMT "\"", STR_ARG(text));
	else
		ov_fail(err, OV_ECONFLICT,
				"%zu goals have a node \"" STR_FMT "\"; write GOAL/" STR_FMT
				" or add --goal",
				count, STR_ARG(text), STR_ARG(text));
	ov_next(err, "overseer work list");
	return count == 0 ? OV_ENOTFOUND : OV_ECONFLICT;
}

int state_find_run(const struct state *s, str text, struct run **ret, struct ov_err *err)
{
	struct match m = { .text = text };
	int r;

	list_each (it, &s->runs)
		match_try(&m, list_entry(it, struct run, link)->id,
				list_entry(it, struct run, link));
	list_each (it, &s->retired_runs)
		match_try(&m, list_entry(it, struct run, link)->id,
				list_entry(it, struct run, link));
	r = match_end(&m, "run", "overseer run list", err);
	if (r == 0)
		*ret = m.found;
	return r;
}

int state_find_assignment(const struct state *s, str text, struct assignment **ret,
		struct ov_err *err)
{
	const struct list *lists[] = { &s->live, &s->finished };
	struct match m = { .text = text };
	int r;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		list_each (it, lists[i])
			match_try(&m, list_entry(it, struct assignment, link)->id,
					list_entry(it, struct assignment, link));
	r = match_end(&m, "assignment", "overseer work list", err);
	if (r == 0)
		*ret = m.found;
	return r;
}

int state_find_notice(const struct state *s, str text, struct notice **ret, struct ov_err *err)
{
	struct match m = { .text = text };
	int r;

	for (size_t i = 0; i < s->notices.n; i++)
		match_try(&m, s->notices.p[i]->id, s->notices.p[i]);
	r = match_end(&m, "notice", "overseer notice list --all", err);
	if (r == 0)
		*ret = m.found;
	return r;
}

int state_find_dispatch(const struct state *s, str text, struct dispatch **ret, struct ov_err *err)
{
	const struct list *lists[] = { &s->live, &s->finished };
	struct match m = { .text = text };
	int r;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		list_each (it, lists[i]) {
			const struct assignment *as = list_entry(it, struct assignment, link);

			for (size_t k = 0; k < as->dispatches.n; k++)
				match_try(&m, as->dispatches.p[k]->id, as->dispatches.p[k]);
		}
	r = match_end(&m, "dispatch", "overseer work list", err);
	if (r == 0)
		*ret = m.found;
	return r;
}
