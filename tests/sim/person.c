#include "tests/sim/person.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "tests/sim/person_impl.h"

static const struct temper tempers[] = {
	{ .name = "eager",
			.look = { 2 * OV_MINUTE, 15 * OV_MINUTE },
			.meddle = { OV_HOUR, 8 * OV_HOUR },
			.read = { 30 * OV_MINUTE, 4 * OV_HOUR },
			.answers = 950,
			.nonsense = 40,
			.twice = 60,
			.dismisses = 30,
			.careful = 700 },
	{ .name = "late",
			.look = { 2 * OV_HOUR, 14 * OV_HOUR },
			.read = { 2 * OV_HOUR, 12 * OV_HOUR },
			.answers = 800,
			.nonsense = 80,
			.twice = 100,
			.dismisses = 80,
			.careful = 900 },
	{ .name = "forgetful",
			.read = { 12 * OV_HOUR, 48 * OV_HOUR },
			.look = { 2 * OV_HOUR, 6 * OV_HOUR },
			.careful = 500 },
	{ .name = "busybody",
			.look = { 5 * OV_MINUTE, 40 * OV_MINUTE },
			.meddle = { OV_MINUTE, 25 * OV_MINUTE },
			.read = { 5 * OV_MINUTE, OV_HOUR },
			.answers = 600,
			.nonsense = 150,
			.twice = 200,
			.dismisses = 150,
			.careful = 300 },
};
/* Who is there when only the work is to be measured. */
static const struct temper steady = { .name = "steady",
	.look = { 10 * OV_MINUTE, 30 * OV_MINUTE },
	.read = { 2 * OV_HOUR, 4 * OV_HOUR },
	.answers = 1000,
	.careful = 1000 };

/* Who gave goals in the evening, and looks again in the morning of the third day. */
static const struct temper asleep = { .name = "asleep",
	.look = { 10 * OV_DAY, 11 * OV_DAY },
	.read = { 2 * OV_HOUR, 4 * OV_HOUR },
	.answers = 1000,
	.careful = 1000 };

static const char *const names[PEOPLE_MAX] = { "human:ann", "human:bob", "human:cleo" };

/* When all is quiet nobody waits long any more. */
static const ov_time quiet_look[2] = { 10 * OV_MINUTE, 45 * OV_MINUTE };

/* ---- turns ---- */

enum turn { TURN_LOOK, TURN_MEDDLE, TURN_READ, TURN_COUNT };

struct turn_block {
	int who;
	enum turn turn;
};

static const ov_time *turn_times(const struct people *p, int who, enum turn turn)
{
	const struct temper *t = p->person[who].temper;

	switch (turn) {
	case TURN_LOOK: return sim_quiet(p->s) ? quiet_look : t->look;
	case TURN_MEDDLE: return t->meddle;
	case TURN_READ: return t->read;
	case TURN_COUNT: break;
	}
	return NULL;
}

static void take_turn(struct sim *s, void *arg);

static void next_turn(struct people *p, int who, enum turn turn)
{
	const ov_time *times = turn_times(p, who, turn);
	ov_time wait = times[1] ? sim_between(p->s, RNG_PERSON, times[0], times[1]) : 0,
		quiet = p->s->setup.quiet_at - p->s->t;
	struct turn_block *b;

	if (!wait)
		return;
	/* Whoever would look in a day looks when it has become quiet. */
	if (turn == TURN_LOOK && quiet > 0 && wait > quiet + quiet_look[1])
		wait = quiet + quiet_look[0];
	b = sim_in(p->s, wait, 0, take_turn, sizeof(*b));
	*b = (struct turn_block){ who, turn };
}

static void take_turn(struct sim *s, void *arg)
{
	static void (*const acts[TURN_COUNT])(struct people * p, int who) = {
		[TURN_LOOK] = act_look,
		[TURN_MEDDLE] = act_meddle,
		[TURN_READ] = act_browse,
	};
	const struct turn_block *b = arg;

	acts[b->turn](s->people, b->who);
	if (b->turn == TURN_LOOK || !sim_quiet(s))
		next_turn(s->people, b->who, b->turn);
}

/* ---- goals ---- */

static void give(struct sim *s, void *arg);

static void give_later(struct people *p, size_t wish, ov_time lo, ov_time hi)
{
	size_t *at = sim_in(p->s, sim_between(p->s, RNG_PERSON, lo, hi), 0, give, sizeof(*at));

	*at = wish;
}

/* The title tells which wish it was: so one who heard no answer can look for it. */
static str title_of(struct arena *a, size_t wish)
{
	return arena_printf(a, "wish %zu", wish + 1);
}

struct later {
	int who;
	size_t nodes;
	char goal[SIM_NAME_MAX];
};

static void plan_follows(struct sim *s, void *arg)
{
	const struct later *l = arg;
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *params = params_about(&a, "goal", str_from(l->goal));

	value_put(&a, params, "plan", plan_draw(s->people, &a, l->nodes));
	ask(s->people, l->who, "plan.apply", params, NULL, 0);
}

static void plan_later(struct people *p, const struct wish *w, str goal)
{
	struct later *l = sim_in(p->s, sim_between(p->s, RNG_PERSON, OV_SECOND, 30 * OV_MINUTE), 0,
			plan_follows, sizeof(*l));

	l->who = w->who;
	l->nodes = w->nodes;
	sim_name(l->goal, goal);
}

static void goals_searched(struct people *p, const struct asked *q, int r, const value *result)
{
	const value *goals = value_at(result, "goals");
	size_t wish = (size_t)q->ref;
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	str title = title_of(&a, wish);

	for (size_t i = 0; r == 0 && i < value_count(goals); i++)
		if (str_eq(value_str_at(value_item(goals, i), "title"), title))
			p->wishes.p[wish].taken = true;
	if (!p->wishes.p[wish].taken)
		give_later(p, wish, OV_SECOND, 10 * OV_MINUTE);
}

static void goal_answered(struct people *p, const struct asked *q, int r, const value *result)
{
	struct wish *w = &p->wishes.p[q->ref];
	const struct temper *t = p->person[q->who].temper;

	if (r == 0 && w->bare && !w->taken)
		plan_later(p, w, value_str_at(result, "goal"));
	if (r == 0)
		w->taken = true;
	else if (r == OV_EINVALID || r == OV_EINVALID_PLAN)
		sim_violated(p->s, "good_plans_are_taken", "wish %lld was refused",
				(long long)q->ref + 1);
	else if (r == OV_EUNAVAILABLE && sim_odds(p->s, RNG_PERSON, t->careful))
		ask(p, q->who, "goal.list", NULL, goals_searched, q->ref);
	else
		give_later(p, (size_t)q->ref, OV_SECOND, 10 * OV_MINUTE);
}

/* What some say of their goals beyond the title. */
static void define(struct people *p, struct arena *a, value *params)
{
	value *list = value_array(a), *budget = value_object(a);

	if (sim_odds(p->s, RNG_PERSON, 200))
		params_text(a, params, "priority",
				sim_odds(p->s, RNG_PERSON, 500) ? "urgent" : "low");
	if (sim_odds(p->s, RNG_PERSON, 300)) {
		value_push(a, list, value_cstr(a, "it works, and somebody has seen it"));
		value_put(a, params, "success_criteria", list);
		value_put(a, params, "tags", list);
		params_text(a, params, "owner", "ann");
		params_text(a, params, "origin_session", "session-1");
	}
	if (sim_odds(p->s, RNG_PERSON, 80)) {
		value_put(a, budget, "iterations",
				value_int(a, 2 + (int64_t)sim_below(p->s, RNG_PERSON, 60)));
		value_put(a, params, "budget", budget);
	}
}

static void give(struct sim *s, void *arg)
{
	struct people *p = s->people;
	size_t at = *(const size_t *)arg;
	const struct wish *w = &p->wishes.p[at];
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *params;

	if (w->taken)
		return;
	params = params_about(&a, "title", title_of(&a, at));
	if (!s->o.night)
		define(p, &a, params);
	if (w->bare)
		value_put(&a, params, "no_plan", value_bool(&a, true));
	else if (w->nodes)
		value_put(&a, params, "plan", plan_draw(p, &a, w->nodes));
	else
		params_text(&a, params, "problem_statement", "somebody has to think about it");
	ask_once(p, w->who, "goal.create", params, goal_answered, (int64_t)at);
}

/* The nodes of all goals together are shared out; some come with none, for the planner. */
static void wishes_draw(struct people *p)
{
	const struct sim_setup *u = &p->s->setup;
	size_t left = (size_t)MAX(u->nodes, u->goals);

	for (int64_t i = 0; i < u->goals; i++) {
		size_t others = (size_t)(u->goals - i - 1), most = left - others;
		size_t fair = MAX(left / (others + 1), (size_t)1);
		struct wish w = { .who = (int)sim_below(p->s, RNG_PERSON, p->person_n) };

		w.nodes = 1 + sim_below(p->s, RNG_PERSON, MIN(2 * fair, most));
		if (others == 0)
			w.nodes = most;
		left -= w.nodes;
		if (u->planner && sim_odds(p->s, RNG_PERSON, 600))
			w.nodes = 0;
		w.bare = w.nodes && !p->s->o.fleet && !p->s->o.night &&
				sim_odds(p->s, RNG_PERSON, 60);
		vec_push(&p->wishes, w);
	}
}

/* ---- all of them ---- */

struct people *people_new(struct sim *s)
{
	struct people *p = mem_zalloc(1, sizeof(*p));

	p->s = s;
	list_init(&p->calls);
	map_init(&p->answered, 0);
	p->person_n = s->o.fleet || s->o.night ? 1 : 1 + sim_below(s, RNG_PERSON, PEOPLE_MAX);
	for (size_t i = 0; i < p->person_n; i++) {
		p->person[i].name = names[i];
		p->person[i].temper = s->o.fleet ? &steady
				: s->o.night
				? &asleep
				: &tempers[sim_below(s, RNG_PERSON, ARRAY_LEN(tempers))];
	}
	wishes_draw(p);
	p->user = user_new(s);
	return p;
}

void people_free(struct people *p)
{
	if (!p)
		return;
	calls_free(p);
	user_free(p->user);
	vec_done(&p->wishes);
	vec_done(&p->promises);
	map_done(&p->answered);
	arena_done(&p->keys);
	mem_free(p);
}

void people_begin(struct people *p)
{
	ov_time last = MAX(p->s->setup.quiet_at / 2, OV_MINUTE);

	for (size_t i = 0; i < p->person_n; i++) {
		sim_trace(p->s, "%s is %s", p->person[i].name, p->person[i].temper->name);
		for (int turn = 0; turn < TURN_COUNT; turn++)
			next_turn(p, (int)i, (enum turn)turn);
	}
	for (size_t i = 0; i < p->wishes.n; i++)
		give_later(p, i, OV_SECOND, i ? last : OV_MINUTE);
	user_begin(p->user);
}

bool people_are_done(const struct people *p)
{
	for (size_t i = 0; i < p->wishes.n; i++)
		if (!p->wishes.p[i].taken)
			return false;
	return user_is_done(p->user);
}

void people_sabotage(struct people *p, enum people_sabotage what)
{
	p->sabotage = what;
}

size_t people_promises(const struct people *p, const struct promise **ret)
{
	*ret = p->promises.p;
	return p->promises.n;
}
