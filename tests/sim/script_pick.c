/* Which script an agent follows, and what comes of what it is told. */
#include "base/str.h"
#include "tests/sim/machine_impl.h"

enum {
	FEEDBACK_DIV = 3, /* who was told what went wrong does better */
	BAD_WHEN_QUIET = 40,
	BAD_IN_FLEET = 40,
};

const struct script *script_named(const char *name)
{
	for (size_t i = 0; i < scripts_n; i++)
		if (strcmp(scripts[i].name, name) == 0)
			return &scripts[i];
	assert(false);
	return NULL;
}

void script_draw(struct machine *m)
{
	m->badness = m->s->o.fleet ? BAD_IN_FLEET : 50 + (unsigned)sim_below(m->s, RNG_AGENT, 550);
	for (size_t i = 0; i < scripts_n; i++)
		if (scripts[i].honest || (scripts[i].weight && sim_odds(m->s, RNG_AGENT, 500)))
			m->on |= (uint64_t)1 << i;
}

size_t script_choose(struct sim_run *r, const unsigned *weights, size_t n)
{
	size_t sum = 0, at;

	for (size_t i = 0; i < n; i++)
		sum += weights[i];
	at = run_below(r, sum);
	for (size_t i = 0; i < n; i++) {
		if (at < weights[i])
			return i;
		at -= weights[i];
	}
	assert(false);
	return 0;
}

static const struct script *pick_among(struct sim_run *r, bool honest)
{
	unsigned weights[SIM_SCRIPTS_MAX] = { 0 };
	bool any = false;

	for (size_t i = 0; i < scripts_n; i++)
		if (scripts[i].honest == honest && r->m->on >> i & 1) {
			weights[i] = scripts[i].weight;
			any = true;
		}
	return any ? &scripts[script_choose(r, weights, scripts_n)] : &scripts[0];
}

/* ---- two nights with four agents: setup_night.c ---- */

/* a4 is out of quota for four hours of each night; the seed says from when. */
static bool night_limits(struct sim_run *r)
{
	const struct sim *s = r->m->s;
	ov_time from = (1 + (ov_time)(s->o.seed % 5)) * OV_HOUR, at = s->t % OV_DAY;

	if (at < from || at >= from + 4 * OV_HOUR)
		return false;
	run_lane(r)->limited_until = s->t - at + from + 4 * OV_HOUR;
	return true;
}

/* a1 is good, a2 crashes now and then, a3 changes nothing; in the morning all are well again. */
static const struct script *night_pick(struct sim_run *r)
{
	str agent = r->spec.agent;

	if (sim_quiet(r->m->s))
		return pick_among(r, true);
	if (str_is(agent, "a2") && run_odds(r, 333))
		return script_named("crash");
	if (str_is(agent, "a3"))
		return script_named("no_changes");
	if (str_is(agent, "a4") && night_limits(r))
		return script_named("rate_limited");
	return pick_among(r, true);
}

const struct script *script_pick(struct sim_run *r)
{
	const struct sim *s = r->m->s;
	const struct script *habit;
	unsigned bad = sim_quiet(s) ? MIN(r->m->badness, (unsigned)BAD_WHEN_QUIET) : r->m->badness;

	if (s->o.night)
		return night_pick(r);
	if (run_lane(r)->limited_until > s->t)
		return script_named("rate_limited");
	if (run_lane(r)->logged_out_until > s->t)
		return script_named("logged_out");
	if (r->node->flaps > 0)
		return script_named("flap");
	habit = habit_pick(r);
	if (habit)
		return habit;
	if (text_has(r, "Since your last attempt") || text_has(r, "A person answered"))
		bad /= FEEDBACK_DIV;
	return pick_among(r, !run_odds(r, bad));
}

/* ---- told something ---- */

struct reply_due {
	char run[SIM_NAME_MAX];
	char nonce[NONCE_MAX];
	enum reply reply;
};

static void reply_due(struct sim *s, void *arg)
{
	const struct reply_due *d = arg;
	struct sim_run *r = machine_find(s->machine, str_from(d->run));

	if (!r->alive || r->stopping)
		return;
	run_sayf(r, "Request %s: received.\n", d->nonce);
	if (d->reply == REPLY_UPDATE || d->reply == REPLY_LATE || d->reply == REPLY_WORK)
		act_progress(r, 0);
	if (d->reply == REPLY_WORK)
		run_recast(r, compose_finish);
	else if (d->reply == REPLY_END)
		run_recast(r, compose_end);
	run_tell(r);
}

void script_reply(struct sim_run *r, enum reply reply, str nonce)
{
	ov_time wait = reply == REPLY_LATE ? run_between(r, 10 * OV_MINUTE, 2 * OV_HOUR)
					   : run_between(r, 500, 90 * OV_SECOND);
	struct reply_due *d;

	if (reply == REPLY_NONE)
		return;
	d = sim_in(r->m->s, wait, 0, reply_due, sizeof(*d));
	sim_name(d->run, r->spec.run_id);
	nonce = str_sub(nonce, 0, NONCE_MAX - 1);
	memcpy(d->nonce, nonce.p, nonce.n);
	d->reply = reply;
}
