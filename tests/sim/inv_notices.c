/* People outside: who is said to have been told was told, and who is to be told is, in time. */
#include "base/str.h"
#include "core/inbox/notices.h"
#include "tests/sim/check_impl.h"

/*
 * So long a notice that may go now may lie about: a few at a time go, and the daemon may be down.
 */
#define NOTICE_PATIENCE (2 * OV_HOUR)

static bool was_taken(const struct checker *c, str notice)
{
	for (size_t i = 0; i < c->s->told.n; i++)
		if (str_eq(str_from(c->s->told.p[i].notice), notice))
			return true;
	return false;
}

static void told_event(struct checker *c, const struct event *e)
{
	str id = value_str_at(e->data, "notice");
	int64_t attempts = value_int_at(e->data, "attempts"),
		most = c->s->config->policy.notice_attempts;
	int status;

	if (e->kind != EV_NOTICE_TRIED)
		return;
	status = event_status(e, "status", &notice_statuses);
	if (status == NOTICE_SENT && !was_taken(c, id))
		sim_violated(c->s, inv_told_means_told.name,
				EV_FMT ": " STR_FMT " is called sent, and no channel took it",
				EV_ARG(e), STR_ARG(id));
	if (attempts > most || (status == NOTICE_WAITING && attempts == most))
		sim_violated(c->s, inv_told_means_told.name,
				EV_FMT ": attempt %lld of " STR_FMT ", where %lld are allowed",
				EV_ARG(e), (long long)attempts, STR_ARG(id), (long long)most);
	if (status == NOTICE_WAITING &&
			value_int_at(e->data, "not_before_ms") <
					e->at + notice_backoff(&c->s->config->policy, attempts))
		sim_violated(c->s, inv_told_means_told.name,
				EV_FMT ": " STR_FMT " is tried again too early", EV_ARG(e),
				STR_ARG(id));
}

/* Its channel has had its share of this hour. */
static bool is_limited(const struct checker *c, const struct notice *x)
{
	int64_t sent = 0;

	for (size_t i = 0; i < c->state->notices.n; i++)
		sent += c->state->notices.p[i]->status == NOTICE_SENT &&
				str_eq(c->state->notices.p[i]->channel, x->channel) &&
				c->state->notices.p[i]->settled_at > c->state->at - OV_HOUR;
	return x->urgency != URGENCY_EMERGENCY && sent >= c->s->config->policy.notices_per_hour;
}

static void told_end(struct checker *c)
{
	const struct policy *p = &c->s->config->policy;

	for (size_t i = 0; c->state && i < c->state->notices.n; i++) {
		const struct notice *x = c->state->notices.p[i];

		if (x->status == NOTICE_WAITING && !x->effect && !is_limited(c, x) &&
				notice_due(p, x, x->not_before) + NOTICE_PATIENCE < c->state->at)
			sim_violated(c->s, inv_told_means_told.name,
					"notice " STR_FMT " to " STR_FMT
					" could have gone %lld ms ago",
					STR_ARG(x->id), STR_ARG(x->channel),
					(long long)(c->state->at - x->not_before));
	}
}

static bool told_sabotage(struct checker *c)
{
	struct event *e;

	if (!c->node_list.n)
		return false;
	e = forge(c, EV_NOTICE_TRIED, c->node_list.p[0]);
	forge_text(c, e, "notice", STR("N_unheard_of"));
	forge_text(c, e, "status", STR("sent"));
	forge_int(c, e, "attempts", 1);
	forge_show(c, e);
	return true;
}

const struct invariant inv_told_means_told = {
	.name = "told_means_told",
	.sentence = "a notice is called sent only when its channel took it, is tried as often as "
		    "allowed with its waits, and none that may go lies about",
	.event = told_event,
	.end = told_end,
	.sabotage = told_sabotage,
};
