/* What agents do: files, git, ends. What they say is in script_say.c. */
#include "base/alloc.h"
#include "base/str.h"
#include "tests/sim/machine_impl.h"
#include "tests/sim/simgit.h"

enum {
	SIG_TERM = 15,
	EXIT_RATE_LIMITED = 75,
	EXIT_LOGIN = 77,
	OWN_FILES = 5,
};

void step_add(struct sim_run *r, ov_time wait, bool busy, act_fn *act, int64_t arg)
{
	vec_push(&r->steps, ((struct step){ wait, busy, act, arg }));
}

bool text_has(const struct sim_run *r, const char *what)
{
	return str_contains(buf_str(&r->text), str_from(what));
}

str text_conflict(const struct sim_run *r)
{
	static const str before = STR("what others have merged to "), after = STR(" meanwhile");
	str text = buf_str(&r->text), rest;
	size_t at = str_find(text, before);

	if (at == text.n)
		return STR("");
	rest = str_sub(text, at + before.n, text.n);
	return str_sub(rest, 0, str_find(rest, after));
}

void act_none(struct sim_run *r, int64_t arg)
{
	(void)r, (void)arg;
}

/* ---- files ---- */

str own_file(struct sim_run *r, struct arena *a, int64_t k)
{
	str goal = r->spec.goal_id;
	size_t from = goal.n > 6 ? goal.n - 6 : 0;

	return arena_printf(a, STR_FMT "-" STR_FMT "-%lld", STR_ARG(str_sub(goal, from, 6)),
			STR_ARG(r->spec.node_id), (long long)(k % OWN_FILES));
}

bool write_file(struct sim_run *r, str path)
{
	int code = simgit_agent_write(r->m->s->git, r->spec.worktree, path, r->spec.run_id);

	if (code < 0) {
		run_sayf(r, "error: cannot write " STR_FMT "\n", STR_ARG(path));
		return false;
	}
	r->files++;
	return true;
}

/* A negative number: without a word about it. */
void act_edit(struct sim_run *r, int64_t arg)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	int64_t k = arg < 0 ? -arg : arg;
	str path = own_file(r, &a, k);

	if (write_file(r, path) && arg >= 0)
		run_sayf(r, "edited " STR_FMT "\n", STR_ARG(path));
}

void act_write_shared(struct sim_run *r, int64_t arg)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	str path = machine_shared_file(&a, (size_t)arg);

	if (write_file(r, path))
		run_sayf(r, "edited " STR_FMT "\n", STR_ARG(path));
}

/* Looks finished, and does not pass the check. */
void act_write_bad(struct sim_run *r, int64_t arg)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	str path = own_file(r, &a, arg);
	struct bad_file bad;

	if (!write_file(r, path))
		return;
	bad.path = arena_str(&r->m->strings, path);
	bad.content = simgit_in_tree(r->m->s->git, r->spec.worktree, path);
	vec_push(&r->node->bad, bad);
	run_sayf(r, "edited " STR_FMT ", all tests pass\n", STR_ARG(path));
}

/* Makes good what the check found. */
void act_mend(struct sim_run *r, int64_t arg)
{
	(void)arg;
	for (size_t i = 0; i < r->node->bad.n; i++) {
		const struct bad_file *b = &r->node->bad.p[i];

		if (simgit_in_tree(r->m->s->git, r->spec.worktree, b->path) == b->content &&
				write_file(r, b->path))
			run_sayf(r, "mended " STR_FMT "\n", STR_ARG(b->path));
	}
}

void act_delete(struct sim_run *r, int64_t arg)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	str path = own_file(r, &a, arg);

	if (simgit_agent_delete(r->m->s->git, r->spec.worktree, path) == 0)
		run_sayf(r, "removed " STR_FMT "\n", STR_ARG(path));
}

/* ---- git ---- */

void act_commit(struct sim_run *r, int64_t arg)
{
	(void)arg;
	if (simgit_agent_commit(r->m->s->git, r->spec.worktree, r->spec.run_id) < 0) {
		run_say(r, STR("error: cannot commit\n"));
		return;
	}
	r->commits++;
	run_sayf(r, "[work %u] committed\n", r->commits);
}

static void rebase(struct sim_run *r, enum simgit_left left)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct simgit *g = r->m->s->git;
	str onto = arena_str(&a, text_conflict(r));
	int code;

	if (!onto.n)
		return;
	code = simgit_agent_rebase(g, r->spec.worktree, onto, r->spec.run_id, left);
	/* Not with merges in it: then it is merged once more. */
	if (code < 0)
		code = simgit_agent_merge(g, r->spec.worktree, onto, r->spec.run_id, left);
	run_sayf(r, "rebase onto " STR_FMT ": %s\n", STR_ARG(onto), code < 0 ? "failed" : "done");
}

void act_rebase(struct sim_run *r, int64_t arg)
{
	(void)arg;
	rebase(r, SIMGIT_FINISHED);
}

void act_leave_rebase(struct sim_run *r, int64_t arg)
{
	(void)arg;
	rebase(r, run_odds(r, 500) ? SIMGIT_UNFINISHED : SIMGIT_RESOLVED);
}

void act_detach(struct sim_run *r, int64_t arg)
{
	(void)arg;
	(void)simgit_agent_checkout(r->m->s->git, r->spec.worktree, STR(""));
	run_say(r, STR("HEAD is now detached\n"));
}

void act_branch(struct sim_run *r, int64_t arg)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	str id = r->spec.run_id;

	(void)arg;
	(void)simgit_agent_checkout(r->m->s->git, r->spec.worktree,
			arena_printf(&a, "mine-" STR_FMT, STR_ARG(id)));
	run_say(r, STR("switched to a new branch\n"));
}

void act_reset(struct sim_run *r, int64_t arg)
{
	(void)arg;
	(void)simgit_agent_reset(r->m->s->git, r->spec.worktree);
	run_say(r, STR("HEAD is now at the commit before\n"));
}

void act_nested(struct sim_run *r, int64_t arg)
{
	(void)arg;
	(void)simgit_agent_nested(r->m->s->git, r->spec.worktree, r->spec.run_id);
	run_say(r, STR("initialized a repository\n"));
}

void act_lock(struct sim_run *r, int64_t arg)
{
	(void)arg;
	(void)simgit_agent_lock(r->m->s->git, r->spec.worktree);
}

void act_vanish(struct sim_run *r, int64_t arg)
{
	(void)arg;
	(void)simgit_agent_vanish(r->m->s->git, r->spec.worktree);
	run_say(r, STR("cleaned up\n"));
}

/* ---- ends ---- */

void act_exit(struct sim_run *r, int64_t arg)
{
	/* What an agent that says how it went may say when that was not well. */
	static const char *const bad_ends[] = { "other", "unfinished", "network", "max_turns",
		"context", "refused", "overloaded" };

	if (arg == 0 && !r->stopping && run_takes_laid(r))
		return;
	if (r->spec.keeps && arg != 0)
		r->end.trouble = str_from(r->stopping
						? "interrupted"
						: bad_ends[run_below(r, ARRAY_LEN(bad_ends))]);
	run_tell(r);
	run_end(r, arg, 0, false, STR(""));
}

void act_signal(struct sim_run *r, int64_t arg)
{
	run_tell(r);
	run_end(r, -1, arg ? arg : SIG_TERM, false, STR(""));
}

struct orphan {
	char run[SIM_NAME_MAX];
};

/* What a dead shim left goes on, until somebody sweeps. */
static void orphan_writes(struct sim *s, void *arg)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct sim_run *r = machine_find(s->machine, str_from(((const struct orphan *)arg)->run));

	if (r->orphans)
		(void)simgit_agent_write(s->git, r->spec.worktree, own_file(r, &a, 1),
				r->spec.run_id);
}

/* The shim dies: nobody knows how the agent ended. */
void act_lost(struct sim_run *r, int64_t arg)
{
	struct orphan *o;

	r->orphans = (size_t)arg;
	if (arg) {
		o = sim_in(r->m->s, run_between(r, 20, OV_MINUTE), 0, orphan_writes, sizeof(*o));
		sim_name(o->run, r->spec.run_id);
	}
	run_end(r, -1, 0, true, STR("the run's shim ended without an exit record"));
}

/* It started processes that stay when it ends. */
void act_orphans(struct sim_run *r, int64_t arg)
{
	r->orphans = (size_t)arg;
	run_say(r, STR("started a server in the background\n"));
}

void act_unstartable(struct sim_run *r, int64_t arg)
{
	(void)arg;
	run_end(r, -1, 0, false, STR("cannot execute agent: no such file or directory"));
}

/* The others of the account will find out soon. */
static void limit_others(struct sim_run *r)
{
	for (size_t i = 0; i < r->m->live.n; i++) {
		struct sim_run *other = r->m->live.p[i];

		if (other != r && !other->stopping && str_eq(other->spec.agent, r->spec.agent) &&
				run_odds(other, 500))
			run_recast(other, compose_rate_limited);
	}
}

/*
 * Out of quota for `arg`, if its account was not before: by its exit code, by its own words,
 * or both.
 */
void act_limit(struct sim_run *r, int64_t arg)
{
	struct lane_memory *l = run_lane(r);
	struct sim *s = r->m->s;
	size_t how = run_below(r, 3);

	if (l->limited_until <= s->t) {
		l->limited_until = s->t + arg;
		limit_others(r);
	}
	run_say(r, STR("You have hit your usage limit.\n"));
	if (how > 0) {
		r->end.limit = STR("rate_limited");
		/* As its clock shows; some say nothing. */
		if (run_odds(r, 700))
			r->end.resets_at = sim_now(s) + l->limited_until - s->t;
		/* Others are wrong, or lie: days that are none. */
		if (r->end.resets_at && run_odds(r, 150))
			r->end.resets_at = sim_now(s) + run_between(r, 13 * OV_HOUR, 39 * OV_DAY);
	}
	run_tell(r);
	run_end(r, how < 2 ? EXIT_RATE_LIMITED : 1, 0, false, STR(""));
}

void act_login(struct sim_run *r, int64_t arg)
{
	struct lane_memory *l = run_lane(r);
	size_t how = run_below(r, 3);

	if (l->logged_out_until <= r->m->s->t)
		l->logged_out_until = r->m->s->t + arg;
	run_say(r, STR("Please log in.\n"));
	if (how > 0)
		r->end.limit = STR("login");
	run_tell(r);
	run_end(r, how < 2 ? EXIT_LOGIN : 1, 0, false, STR(""));
}
