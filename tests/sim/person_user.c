/*
 * The user at work in the checkout, beside everything else: in good order, in a mess, or not at
 * all. He knows nothing of the daemon. When all is quiet he leaves a clean checkout on the
 * target branch.
 */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "tests/sim/daemon.h"
#include "tests/sim/person_impl.h"
#include "tests/sim/simgit.h"

enum { OWN_FILES = 12, SHARED_FILES = 4, BRANCHES_MAX = 6 };

struct user_habit {
	const char *name;
	ov_time turns[2]; /* 0: he is not there */
	bool messy;
};

static const struct user_habit habits[] = {
	{ "absent", { 0, 0 }, false },
	{ "careful", { 20 * OV_MINUTE, 5 * OV_HOUR }, false },
	{ "messy", { 5 * OV_MINUTE, 3 * OV_HOUR }, true },
};
/* Who is at work while others sleep. */
static const struct user_habit restless = { "restless", { 5 * OV_MINUTE, OV_HOUR }, true };

struct user {
	struct sim *s;
	const struct user_habit *habit;
	size_t branches; /* of his own so far */
	bool tidied;
};

static size_t below(struct user *u, size_t n)
{
	return sim_below(u->s, RNG_PERSON, n);
}

static bool odds(struct user *u, unsigned per_mille)
{
	return sim_odds(u->s, RNG_PERSON, per_mille);
}

/* Mostly files of his own, now and then one that agents write too. */
static str path_draw(struct user *u, struct arena *a)
{
	if (odds(u, 250))
		return arena_printf(a, "shared-%zu", below(u, SHARED_FILES));
	return arena_printf(a, "user-%zu", below(u, OWN_FILES));
}

static str target(const struct user *u)
{
	return u->s->config->policy.target_branch;
}

static bool on_target(const struct user *u)
{
	return str_eq(simgit_head(u->s->git, STR(SIM_REPO)), target(u));
}

/* ---- single things ---- */

static int do_write(struct user *u, struct arena *a)
{
	return simgit_user_write(u->s->git, path_draw(u, a));
}

static int do_delete(struct user *u, struct arena *a)
{
	return simgit_user_delete(u->s->git, path_draw(u, a));
}

static int do_rename(struct user *u, struct arena *a)
{
	str from = path_draw(u, a), to = path_draw(u, a);

	return simgit_user_rename(u->s->git, from, to);
}

static int do_stage(struct user *u, struct arena *a)
{
	(void)a;
	return simgit_user_stage(u->s->git);
}

static int do_commit(struct user *u, struct arena *a)
{
	(void)a;
	return simgit_user_commit(u->s->git);
}

static int do_branch(struct user *u, struct arena *a)
{
	if (u->branches >= BRANCHES_MAX)
		return do_write(u, a);
	return simgit_user_branch(u->s->git, arena_printf(a, "user-branch-%zu", ++u->branches));
}

static int do_switch(struct user *u, struct arena *a)
{
	if (!on_target(u) || u->branches == 0 || odds(u, 300))
		return simgit_user_switch(u->s->git, target(u));
	return simgit_user_switch(u->s->git,
			arena_printf(a, "user-branch-%zu", 1 + below(u, u->branches)));
}

/* The target goes on: as by a pull, or by a push of somebody else's while he is elsewhere. */
static int do_commit_on(struct user *u, struct arena *a)
{
	if (on_target(u)) {
		(void)do_write(u, a);
		return simgit_user_commit(u->s->git);
	}
	return simgit_user_commit_on(u->s->git, target(u), path_draw(u, a));
}

static int do_lock(struct user *u, struct arena *a)
{
	(void)a;
	return simgit_user_lock(u->s->git);
}

static int do_rebase(struct user *u, struct arena *a)
{
	(void)a;
	return simgit_user_rebase(u->s->git);
}

static int do_clean(struct user *u, struct arena *a)
{
	(void)a;
	return simgit_user_clean(u->s->git);
}

static const struct doing {
	const char *name;
	int (*act)(struct user *u, struct arena *a);
	unsigned weight;
} doings[] = {
	{ "writes", do_write, 40 },
	{ "deletes", do_delete, 5 },
	{ "renames", do_rename, 4 },
	{ "stages", do_stage, 10 },
	{ "commits", do_commit, 25 },
	{ "branches", do_branch, 4 },
	{ "switches", do_switch, 12 },
	{ "moves the target", do_commit_on, 8 },
	{ "leaves a lock", do_lock, 2 },
	{ "rebases", do_rebase, 2 },
	{ "cleans up", do_clean, 12 },
};

static void act(struct user *u, const struct doing *d)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	int r = d->act(u, &a);

	sim_trace(u->s, "the user %s%s", d->name, r < 0 ? ", in vain" : "");
	daemon_checkout_changed(u->s);
}

static const struct doing *doing_draw(struct user *u)
{
	size_t all = 0, at, i = 0;

	for (size_t k = 0; k < ARRAY_LEN(doings); k++)
		all += doings[k].weight;
	at = below(u, all);
	while (at >= doings[i].weight)
		at -= doings[i++].weight;
	return &doings[i];
}

static const struct doing *doing_of(int (*fn)(struct user *u, struct arena *a))
{
	for (size_t i = 0; i < ARRAY_LEN(doings); i++)
		if (doings[i].act == fn)
			return &doings[i];
	return doings;
}

/* ---- his day ---- */

static void leave_clean(struct user *u)
{
	act(u, doing_of(do_clean));
	if (!on_target(u))
		(void)simgit_user_switch(u->s->git, target(u));
}

static void finish(struct sim *s, void *arg)
{
	struct user *u = s->people->user;

	(void)arg;
	act(u, doing_of(do_commit));
	if (!on_target(u))
		leave_clean(u);
}

static void take_turn(struct sim *s, void *arg);

static void next_turn(struct user *u)
{
	const ov_time *t = u->habit->turns;
	ov_time wait = sim_between(u->s, RNG_PERSON, t[0], t[1]);

	sim_in(u->s, MIN(wait, MAX(u->s->setup.quiet_at - u->s->t, OV_MINUTE)), 0, take_turn, 0);
}

static void take_turn(struct sim *s, void *arg)
{
	struct user *u = s->people->user;

	(void)arg;
	if (sim_quiet(s)) {
		leave_clean(u);
		u->tidied = true;
		return;
	}
	if (u->habit->messy) {
		for (size_t n = 1 + below(u, 3); n > 0; n--)
			act(u, doing_draw(u));
	} else {
		if (odds(u, 200))
			act(u, doing_of(do_branch));
		for (size_t n = 1 + below(u, 3); n > 0; n--)
			act(u, doing_of(do_write));
		sim_in(s, sim_between(s, RNG_PERSON, OV_SECOND, 15 * OV_MINUTE), 0, finish, 0);
	}
	next_turn(u);
}

/* Between two steps of a git command of ours: how a target moves under an accept. */
static void meanwhile(void *user, int step)
{
	struct user *u = user;

	(void)step;
	if (sim_quiet(u->s) || !u->habit->turns[1])
		return;
	if (u->habit->messy && odds(u, 15))
		act(u, doing_draw(u));
	else if (odds(u, 5))
		act(u, doing_of(do_commit_on));
}

struct user *user_new(struct sim *s)
{
	struct user *u = mem_zalloc(1, sizeof(*u));

	u->s = s;
	u->habit = s->o.fleet        ? &habits[0]
			: s->o.night ? &restless
				     : &habits[below(u, ARRAY_LEN(habits))];
	return u;
}

void user_free(struct user *u)
{
	mem_free(u);
}

void user_begin(struct user *u)
{
	sim_trace(u->s, "the user is %s", u->habit->name);
	simgit_between(u->s->git, meanwhile, u);
	if (u->habit->turns[1])
		next_turn(u);
}

bool user_is_done(const struct user *u)
{
	return !u->habit->turns[1] || u->tidied;
}
