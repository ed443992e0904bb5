/*
 * What is learned of agents: from runs that ended well alone, from silences that were the agent's
 * own, so many of one run. Counted a second time from the log, so that it is known after which
 * silence a run may be asked (inv_harm.c judges by it).
 */
#include "base/str.h"
#include "tests/sim/check_impl.h"
#include "tests/sim/exec_impl.h"
#include "tests/sim/machine.h"

/* As docs/timeline.md says it. */
enum { RUNS = 5, SAMPLES = 50, OF_ONE_RUN = 10, QUARTERS = 9, HALVED_AT = 1000 };

static struct habit_book *book_habit(const struct checker *c, str agent, str model, int activity,
		str tool)
{
	for (size_t i = 0; i < c->habits.n; i++) {
		struct habit_book *h = c->habits.p[i];

		if (h->activity == activity && str_eq(h->agent, agent) && str_eq(h->model, model) &&
				str_eq(h->tool, tool))
			return h;
	}
	return NULL;
}

ov_time habit_book_asked(const struct checker *c, str agent, str model, int activity, str tool)
{
	const struct habit_book *h = book_habit(c, agent, model, activity, tool);
	int64_t sum = 0;
	int i = 0;

	if (!h || h->runs < RUNS || h->samples < SAMPLES)
		return 0;
	for (; i < SILENCE_BUCKETS - 1; i++) {
		sum += h->counts[i];
		if (sum * 1000 >= h->samples * 995)
			break;
	}
	return silence_end(i) * QUARTERS / 4;
}

static int64_t take_counts(struct habit_book *h, const value *counts, int *ret_longest)
{
	int64_t sum = 0;

	for (int i = 0; i < SILENCE_BUCKETS; i++) {
		int64_t n = value_int_at(counts, silence_ends.names[i]);

		h->counts[i] += n;
		sum += n;
		if (n)
			*ret_longest = MAX(*ret_longest, i);
	}
	h->samples += sum;
	/* What is old counts less and less. */
	for (int i = 0; i < SILENCE_BUCKETS && h->samples >= HALVED_AT; i++)
		h->counts[i] /= 2;
	if (h->samples >= HALVED_AT) {
		h->samples = 0;
		for (int i = 0; i < SILENCE_BUCKETS; i++)
			h->samples += h->counts[i];
	}
	return sum;
}

static struct habit_book *habit_made(struct checker *c, const struct event *e, const value *v)
{
	str agent = value_str_at(e->data, "agent"), model = value_str_at(e->data, "model"),
	    tool = value_str_at(v, "tool");
	int activity = status_parse(&activities, value_str_at(v, "activity"));
	struct habit_book *h = book_habit(c, agent, model, activity, tool);

	if (h)
		return h;
	h = arena_new(&c->kept, struct habit_book);
	h->agent = arena_str(&c->kept, agent);
	h->model = arena_str(&c->kept, model);
	h->tool = arena_str(&c->kept, tool);
	h->activity = activity;
	vec_push(&c->habits, h);
	return h;
}

/* What the machine knows of the run. */
static void learned_from(struct checker *c, const struct event *e, int longest)
{
	const struct as_book *as = book_as(c, e->assignment);
	struct sim_run *r = machine_find(c->s->machine, e->run);
	const struct machine_end *end = r && !machine_lives(r) ? machine_end_of(r) : NULL;
	ov_time usual = exec_silence_usual(c->s, value_str_at(e->data, "agent")) + OV_SECOND,
		own = r ? MAX(machine_longest_silence(r), usual) : usual;

	if (!end || !as)
		return;
	if (end->lost || end->exit_code || end->signal || (end->speaks && !end->result) ||
			as->stopping)
		sim_violated(c->s, inv_learned_rightly.name,
				EV_FMT ": run " STR_FMT " did not end well by itself (exit %lld)",
				EV_ARG(e), STR_ARG(e->run), (long long)end->exit_code);
	/* Words are heard a little after they are said, and some only with the next. */
	if (silence_bucket(own + OV_MINUTE) < longest && !c->s->setup.faults)
		sim_violated(c->s, inv_learned_rightly.name,
				EV_FMT ": run " STR_FMT
				       " was silent by itself for %lld s at most, and is said to "
				       "have been for %lld s",
				EV_ARG(e), STR_ARG(e->run), (long long)(own / OV_SECOND),
				(long long)(silence_end(longest) / OV_SECOND));
}

/*
 * A person is told of a tool that is at work for longer than this one usually is, and not before.
 */
static void told_of_tool(struct checker *c, const struct event *e)
{
	const struct as_book *as = book_as(c, e->assignment);
	const struct run *r = as && as->run ? state_run(c->shadow, as->run->id) : NULL;
	const struct observation *o = r && !is_blind(c, e)
			? map_get(exec_observations(c->up->exec), r->id)
			: NULL;
	ov_time least = c->s->config->policy.mute_after, learned, heard;

	if (!o || !str_is(value_str_at(e->data, "kind"), "mute") || !o->tool_in_flight)
		return;
	learned = habit_book_asked(c, r->agent, r->model, ACTIVITY_TOOL, o->tool);
	heard = e->at - MAX(MAX(o->output_at, o->tree_at), as->run->started_at);
	if (heard < (learned ? MIN(learned, least) : least))
		sim_violated(c->s, inv_learned_rightly.name,
				EV_FMT ": `" STR_FMT "` is at work for %lld s, and usual is %lld s",
				EV_ARG(e), STR_ARG(o->tool), (long long)(heard / OV_SECOND),
				(long long)(learned / OV_SECOND));
}

static void learned_event(struct checker *c, const struct event *e)
{
	const value *list = e->kind == EV_SILENCE_LEARNED ? value_at(e->data, "silences") : NULL;
	int longest = 0;

	if (e->kind == EV_ESCALATION_OPENED)
		told_of_tool(c, e);
	if (!list)
		return;
	for (size_t i = 0; i < value_count(list); i++) {
		const value *v = value_item(list, i);
		struct habit_book *h = habit_made(c, e, v);

		h->runs++;
		if (take_counts(h, value_at(v, "counts"), &longest) > OF_ONE_RUN)
			sim_violated(c->s, inv_learned_rightly.name,
					EV_FMT ": more than %d silences of one run", EV_ARG(e),
					(int)OF_ONE_RUN);
	}
	learned_from(c, e, longest);
}

/* Something is learned from a run that is asked to stop. */
static bool learned_sabotage(struct checker *c)
{
	for (size_t i = 0; i < c->as_list.n; i++) {
		struct as_book *as = c->as_list.p[i];
		struct sim_run *r = as->run ? machine_find(c->s->machine, as->run->id) : NULL;
		struct event *e;

		if (!r || machine_lives(r) || as->node->as != as)
			continue;
		as->stopping = true;
		e = forge(c, EV_SILENCE_LEARNED, as->node);
		forge_text(c, e, "agent", as->agent);
		value_put(&c->scratch, e->data, "silences", value_array(&c->scratch));
		forge_show(c, e);
		return c->s->violated;
	}
	return false;
}

const struct invariant inv_learned_rightly = {
	.name = "learned_rightly",
	.sentence = "how long an agent is silent is learned from runs that ended well by "
		    "themselves, "
		    "from few silences of each, and only from the agent's own; nobody is told of a "
		    "tool before it takes longer than usual",
	.event = learned_event,
	.sabotage = learned_sabotage,
};
