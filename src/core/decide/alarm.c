#include "core/decide/alarm.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/inbox/inbox.h"
#include "core/model/limits.h"
#include "core/text/redact.h"

static bool route_names(const struct policy_route *r, const struct policy_channel *c)
{
	for (size_t i = 0; i < r->n; i++)
		if (str_is(r->to[i], "*") || str_eq(r->to[i], c->name) ||
				str_is(r->to[i], status_name(&channel_types, (int)c->type)))
			return true;
	return false;
}

/* What an alarm is about, by ids: its goal may be made by this very batch. */
struct raising {
	struct subject about;
	str detection, fingerprint, subject;
	int64_t escalation;
	enum urgency urgency;
};

static bool is_told_already(const struct decide_ctx *cx, const struct raising *x, str channel)
{
	for (size_t i = 0; i < cx->state->notices.n; i++) {
		const struct notice *n = cx->state->notices.p[i];

		if (n->status == NOTICE_WAITING && n->urgency >= x->urgency &&
				str_eq(n->channel, channel) &&
				str_eq(n->fingerprint, x->fingerprint))
			return true;
	}
	return false;
}

/* Those of this batch are not in the state yet. */
static size_t waiting_count(const struct decide_ctx *cx, str channel, enum urgency urgency)
{
	size_t count = 0;

	for (size_t i = 0; i < cx->state->notices.n; i++) {
		const struct notice *n = cx->state->notices.p[i];

		count += n->status == NOTICE_WAITING && n->urgency >= urgency &&
				str_eq(n->channel, channel);
	}
	for (size_t i = 0; i < cx->out->n; i++) {
		const value *n = cx->out->p[i]->kind == EV_NOTICE_OPENED
				? as_notice_opened(cx->out->p[i])->notice
				: NULL;

		count += n && str_is(value_str_at(n, "status"), "waiting") &&
				str_eq(value_str_at(n, "channel"), channel) &&
				status_parse(&urgencies, value_str_at(n, "urgency")) >=
						(int)urgency;
	}
	return count;
}

static void notice_open(struct decide_ctx *cx, const struct raising *x, str channel)
{
	struct arena *a = cx->arena;
	struct notice n = { .id = make_id(cx, "N_"),
		.detection_id = arena_str(a, x->detection),
		.escalation = x->escalation,
		.channel = arena_str(a, channel),
		.urgency = x->urgency,
		.fingerprint = arena_str(a, x->fingerprint),
		.subject = arena_str(a, x->subject) };
	if (waiting_count(cx, channel, x->urgency) >= NOTICES_WAITING) {
		n.status = NOTICE_FAILED;
		n.error = arena_printf(a, "%d notices wait for this channel already",
				NOTICES_WAITING);
	}
	n.not_before = notice_due(cx->policy, &n, cx->now);
	emit_notice_opened(cx, x->about)->notice = record_pack(a, &notice_record, &n);
}

/* One line, without secrets, of which half would not be recognised after the cut. */
static str subject_line(struct decide_ctx *cx, str text)
{
	str line = str_trim(redact(cx->arena, text));

	line = str_sub(line, 0, str_find_byte(line, '\n'));
	return utf8_truncate(utf8_clean(cx->arena, str_trim(line)), LIMIT_TITLE);
}

static void raise_alarm(struct decide_ctx *cx, struct raising x)
{
	const struct policy *p = cx->policy;

	if (!p->notify && x.urgency != URGENCY_EMERGENCY)
		return;
	x.subject = subject_line(cx, x.subject);
	for (size_t i = 0; i < p->channels_n; i++)
		if (route_names(&p->routes[x.urgency], &p->channels[i]) &&
				!is_told_already(cx, &x, p->channels[i].name))
			notice_open(cx, &x, p->channels[i].name);
}

void alarm_raise(struct decide_ctx *cx, const struct alarm *x)
{
	struct raising raising = { .detection = x->detection,
		.fingerprint = x->fingerprint,
		.subject = x->subject,
		.escalation = x->escalation,
		.urgency = x->urgency };

	if (x->goal)
		raising.about = about_goal(x->goal);
	if (x->node)
		raising.about = about_node(x->node);
	raise_alarm(cx, raising);
}

/* The same entry is the same question, however often it is asked. */
static str entry_fingerprint(struct decide_ctx *cx, struct subject s, str kind, int64_t number)
{
	return arena_printf(cx->arena, "inbox:" STR_FMT ":" STR_FMT "%s" STR_FMT ":%lld",
			STR_ARG(kind), STR_ARG(s.goal), s.node.n ? "/" : "", STR_ARG(s.node),
			(long long)number);
}

void alarm_opened(struct decide_ctx *cx, struct subject s, int64_t number,
		const struct escalation_spec *x)
{
	str kind = str_from(status_name(&ask_kinds, (int)x->ask));

	/* An intervention knows best how urgent it is. */
	if (x->detection.n)
		return;
	raise_alarm(cx,
			(struct raising){ .about = { .goal = s.goal, .node = s.node },
					.fingerprint = entry_fingerprint(cx, s, kind, number),
					.subject = x->question,
					.escalation = number,
					.urgency = inbox_kind_for(x->ask, s.node.n > 0)->urgency });
}

void alarm_again(struct decide_ctx *cx, const struct escalation *x)
{
	struct subject about = { .goal = x->goal_id, .node = x->node_id };

	raise_alarm(cx,
			(struct raising){ .about = about,
					.detection = x->detection,
					.fingerprint = x->fingerprint.n
							? x->fingerprint
							: entry_fingerprint(cx, about, x->kind,
									  x->number),
					.subject = x->question,
					.escalation = x->number,
					.urgency = inbox_kind_of(x)->urgency });
}
