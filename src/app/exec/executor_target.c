/*
 * The target branch, as steps of git find it. Where it is not where the state knows it, git is
 * asked who moved it, and that is reported before the outcome of the step, which may be a
 * consequence of it.
 */
#include "app/engine/engine.h"
#include "app/exec/executor_impl.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/state/state.h"
#include "drive/accept/git_accept.h"
#include "drive/git/git.h"

static const char *const movers[] = {
	[GIT_MOVER_UNKNOWN] = "unknown",
	[GIT_MOVER_PERSON] = "person",
	[GIT_MOVER_REMOTE] = "remote",
	[GIT_MOVER_UNRECORDED] = "unrecorded",
};

static str known_head(const struct task *t)
{
	const struct state *s = engine_state(t->x->engine);

	return str_eq(s->target_branch, t->x->o.config->policy.target_branch) ? s->target_head
									      : STR("");
}

static value *commits_value(struct task *t, const struct git_result *res)
{
	struct arena *a = &t->arena;
	value *list = value_array(a);

	for (size_t i = 0; i < res->news_n; i++) {
		const struct git_new_commit *x = &res->news[i];
		struct pt_commit c = { .commit = utf8_clean(a, x->commit),
			.accept_key = utf8_clean(a, x->accept_key),
			.revert_key = utf8_clean(a, x->revert_key),
			.author = utf8_clean(a, x->author),
			.subject = utf8_clean(a, x->subject) };

		value_push(a, list, part_data(a, PART_commit, &c));
	}
	return list;
}

/* res: NULL where it was not known before. */
static void target_report(struct task *t, str from, str to, const struct git_result *res)
{
	struct msg_target_report m = { .target = t->x->o.config->policy.target_branch,
		.from = from,
		.to = to };

	if (res) {
		m.how = str_from(movers[res->mover]);
		m.commits = commits_value(t, res);
		m.lost = res->commits;
	}
	tell_target_report(t->x->engine, &m);
}

/* That it could not be found out stops nothing: the next step sees the same. */
static void looked(void *user, int r, const struct git_result *res,
		const struct ov_err *err _unused_)
{
	struct task *t = user;

	if (r == 0 && res->target_seen.n)
		target_report(t, t->target_known, res->target_seen, res);
	task_report(t);
}

void target_look(struct task *t, str seen)
{
	str known = known_head(t);

	if (!seen.n || str_eq(seen, known)) {
		task_report(t);
		return;
	}
	if (!known.n) {
		target_report(t, STR(""), seen, NULL);
		task_report(t);
		return;
	}
	t->target_known = arena_str(&t->arena, known);
	git_moved(t->x->git, t->x->o.config->policy.target_branch, t->target_known, looked, t);
}
