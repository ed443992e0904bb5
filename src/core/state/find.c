#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/state/state.h"

/*
 * Of tasks with one id in several goals: how many are told in a message, and how much of
 * their titles.
 */
enum { CANDIDATES_TOLD = 4, CANDIDATE_TITLE = 40 };

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
		ov_fail(err, OV_ECONFLICT, "\"" STR_FMT "\" fits %zu %s%s; give more of the id",
				STR_ARG(m->text), m->count, noun,
				str_ends(str_from(noun), STR("ch")) ? "es" : "s");
	return ov_next(err, "%s", list_command);
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
		return ov_next(err, "overseer plan show " STR_FMT, STR_ARG(g->id));
	}
	*ret = n;
	return 0;
}

/* The nodes of this id in all goals. */
struct same_id {
	str id;
	struct node *open, *first;
	size_t count, open_count;
	struct buf told;
};

/* "GOAL/t1 (NAME; TITLE, STATUS)"; the others are only counted. */
static void same_id_tell(struct same_id *x, const struct node *n)
{
	const struct goal *g = n->goal;

	if (x->count > CANDIDATES_TOLD)
		return;
	buf_addf(&x->told, "%s" STR_FMT " (" STR_FMT "; " STR_FMT ", %s)", x->count > 1 ? ", " : "",
			STR_ARG(n->key), STR_ARG(utf8_truncate(n->def.name, CANDIDATE_TITLE)),
			STR_ARG(utf8_truncate(g->title, CANDIDATE_TITLE)),
			status_name(&goal_statuses, (int)g->status));
}

static void same_id_find(const struct state *s, struct same_id *x)
{
	for (size_t i = 0; i < s->goals.n; i++) {
		const struct goal *g = s->goals.p[i];
		struct node *n = state_node(s, g->id, x->id);
		bool open = g->status == GOAL_ACTIVE || g->status == GOAL_PAUSED;

		if (!n)
			continue;
		x->count++;
		x->first = x->first ? x->first : n;
		x->open_count += open;
		x->open = open ? n : x->open;
		same_id_tell(x, n);
	}
}

static int same_id_conflict(struct same_id *x, struct ov_err *err)
{
	const struct node *likely = x->open ? x->open : x->first;

	if (x->count > CANDIDATES_TOLD)
		buf_addf(&x->told, " and %zu more", x->count - CANDIDATES_TOLD);
	ov_fail(err, OV_ECONFLICT,
			"%zu goals have a task \"" STR_FMT "\": " STR_FMT ". Write GOAL/" STR_FMT
			" or add --goal",
			x->count, STR_ARG(x->id), STR_ARG(buf_str(&x->told)), STR_ARG(x->id));
	return ov_next(err, "overseer explain " STR_FMT, STR_ARG(likely->key));
}

/* To read, the one in the open goal will do; a change of the wrong one would cost too much. */
static int find_node(const struct state *s, struct same_id *x, bool reads, struct node **ret,
		struct ov_err *err)
{
	same_id_find(s, x);
	if (x->count == 0) {
		ov_fail(err, OV_ENOTFOUND, "no goal has a node \"" STR_FMT "\"", STR_ARG(x->id));
		return ov_next(err, "overseer work list");
	}
	if (x->count > 1 && !(reads && x->open_count == 1))
		return same_id_conflict(x, err);
	*ret = x->count == 1 ? x->first : x->open;
	return 0;
}

static int find_named(const struct state *s, str goal, str text, bool reads, struct node **ret,
		struct ov_err *err)
{
	size_t slash = str_find_byte(text, '/');
	struct same_id x = { .told = BUF_INIT };
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
	x.id = text;
	r = find_node(s, &x, reads, ret, err);
	buf_done(&x.told);
	return r;
}

int state_find_node(const struct state *s, str goal, str text, struct node **ret,
		struct ov_err *err)
{
	return find_named(s, goal, text, false, ret, err);
}

int state_find_node_to_read(const struct state *s, str goal, str text, struct node **ret,
		struct ov_err *err)
{
	return find_named(s, goal, text, true, ret, err);
}

/* Whoever names a task means its newest run: what to do with it is theirs to say. */
static int no_such_run(const struct state *s, str text, int r, struct ov_err *err)
{
	const struct list *lists[] = { &s->runs, &s->retired_runs };
	const struct run *newest = NULL;
	struct node *n;

	if (r != OV_ENOTFOUND || !text.n || state_find_node_to_read(s, STR(""), text, &n, NULL) < 0)
		return r;
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		list_each (it, lists[i]) {
			const struct run *x = list_entry(it, struct run, link);

			if (str_eq(x->goal_id, n->goal->id) && str_eq(x->node_id, n->id) &&
					(!newest || x->created_at >= newest->created_at))
				newest = x;
		}
	if (!newest) {
		ov_fail(err, OV_ENOTFOUND, STR_FMT " is a task, which has no run yet",
				STR_ARG(n->id));
		return ov_next(err, "overseer explain " STR_FMT, STR_ARG(n->key));
	}
	ov_fail(err, OV_ENOTFOUND, STR_FMT " is a task; its newest run is " STR_FMT, STR_ARG(n->id),
			STR_ARG(newest->id));
	return ov_next(err, "overseer run show " STR_FMT, STR_ARG(newest->id));
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
	if (r < 0)
		return no_such_run(s, text, r, err);
	*ret = m.found;
	return 0;
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

const struct assignment *newest_assignment(const struct state *s, const struct node *n)
{
	const struct assignment *found = n->assignment;

	if (found)
		return found;
	list_each (it, &s->finished) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		if (as->node == n && as->epoch == n->work.epoch)
			found = as;
	}
	return found;
}
