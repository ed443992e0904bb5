#include "core/inbox/notices.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/inbox/inbox.h"
#include "core/model/limits.h"
#include "core/policy/quiet_hours.h"
#include "core/text/redact.h"

enum urgency urgency_of(enum level level, enum severity severity)
{
	switch (level) {
	case LEVEL_REDIRECT:
		return severity == SEVERITY_CRITICAL ? URGENCY_CRITICAL : URGENCY_WARNING;
	case LEVEL_PAUSE: return URGENCY_CRITICAL;
	case LEVEL_ABORT: return URGENCY_EMERGENCY;
	default: return URGENCY_INFO;
	}
}

bool alarm_wanted(const struct policy *p, enum level level)
{
	return level == LEVEL_ABORT || (p->notify && level != LEVEL_NONE);
}

const struct policy_channel *notice_channel(const struct policy *p, const struct notice *x)
{
	for (size_t i = 0; i < p->channels_n; i++)
		if (str_eq(p->channels[i].name, x->channel))
			return &p->channels[i];
	return NULL;
}

bool notice_is_needless(const struct state *s, const struct notice *x)
{
	const struct escalation *asked = x->escalation ? state_escalation(s, x->escalation) : NULL;

	return x->escalation && (!asked || asked->status != ESC_OPEN || asked->snoozed_until);
}

ov_time notice_due(const struct policy *p, const struct notice *x, ov_time now)
{
	ov_time at = MAX(x->not_before, now);

	return x->urgency == URGENCY_EMERGENCY ? at : MAX(at, quiet_until(p, at));
}

ov_time notice_backoff(const struct policy *p, int64_t attempts)
{
	ov_time wait = p->notice_retry;

	for (int64_t i = 1; i < attempts && wait < p->notice_retry_max; i++)
		wait *= 2;
	return MIN(wait, p->notice_retry_max);
}

/* ---- alarms ---- */

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
				? value_at(cx->out->p[i]->data, "notice")
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
	struct event *e;

	if (waiting_count(cx, channel, x->urgency) >= NOTICES_WAITING) {
		n.status = NOTICE_FAILED;
		n.error = arena_printf(a, "%d notices wait for this channel already",
				NOTICES_WAITING);
	}
	n.not_before = notice_due(cx->policy, &n, cx->now);
	e = emit(cx, EV_NOTICE_OPENED, x->about);
	value_put(a, e->data, "notice", record_pack(a, &notice_record, &n));
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

/* ---- entries of the inbox ---- */

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
	str kind = str_from(x->kind);

	/* An intervention knows best how urgent it is. */
	if (x->detection.n)
		return;
	raise_alarm(cx,
			(struct raising){ .about = { .goal = s.goal, .node = s.node },
					.fingerprint = entry_fingerprint(cx, s, kind, number),
					.subject = x->question,
					.escalation = number,
					.urgency = inbox_urgency(kind, s.node.n > 0) });
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

/* ---- attempts ---- */

static struct subject about_notice(const struct notice *x)
{
	return (struct subject){ .goal = x->goal_id, .node = x->node_id };
}

/* What came of an attempt, or of none. */
struct tried {
	enum notice_status status;
	int64_t attempts;
	str ref, error;
	ov_time not_before;
};

static void emit_tried(struct decide_ctx *cx, const struct notice *x, const struct tried *t)
{
	struct event *e = emit(cx, EV_NOTICE_TRIED, about_notice(x));

	ev_str(cx, e, "notice", x->id);
	ev_str(cx, e, "channel", x->channel);
	ev_cstr(cx, e, "status", status_name(&notice_statuses, (int)t->status));
	ev_int(cx, e, "attempts", t->attempts);
	if (t->ref.n)
		ev_str(cx, e, "ref", t->ref);
	if (t->error.n)
		ev_note(cx, e, "error", t->error);
	if (t->not_before)
		ev_int(cx, e, "not_before_ms", t->not_before);
}

static void withdraw(struct decide_ctx *cx, const struct notice *x)
{
	struct event *e = emit(cx, EV_NOTICE_WITHDRAWN, about_notice(x));

	ev_str(cx, e, "notice", x->id);
	ev_str(cx, e, "channel", x->channel);
	ev_str(cx, e, "reason",
			arena_printf(cx->arena, "#%lld in the inbox is settled, or put off",
					(long long)x->escalation));
}

void tick_notify(struct decide_ctx *cx, const struct decision *d)
{
	const struct notice *x = d->notice;
	struct event *e;

	if (notice_is_needless(cx->state, x) || escalation_is_closing(cx, x->escalation)) {
		withdraw(cx, x);
	} else if (!notice_channel(cx->policy, x)) {
		emit_tried(cx, x,
				&(struct tried){ .status = NOTICE_FAILED,
						.attempts = x->attempts,
						.error = STR("this channel is not configured any "
							     "more") });
	} else {
		e = effect_intend(cx, FX_NOTIFY, make_id(cx, "X_"), (struct subject){ 0 });
		ev_str(cx, e, "purpose", x->id);
	}
}

/* The other side may ask for more time than we would give it, but not for ever. */
static ov_time next_attempt(const struct decide_ctx *cx, const struct notice *x, int64_t attempts,
		const value *data)
{
	ov_time asked = value_int_at(data, "retry_after_ms");
	ov_time wait = notice_backoff(cx->policy, attempts);
	struct notice next = { .urgency = x->urgency };

	next.not_before = cx->now + MAX(wait, MIN(asked, OV_DAY));
	return notice_due(cx->policy, &next, cx->now);
}

void notify_ended(struct decide_ctx *cx, const struct effect *fx, const struct outcome *o)
{
	const struct notice *x = state_notice(cx->state, fx->purpose);
	struct tried t = { .status = NOTICE_SENT };

	if (!x || x->status != NOTICE_WAITING)
		return;
	t.attempts = x->attempts + 1;
	if (o->ok) {
		t.ref = utf8_truncate(value_str_at(o->data, "ref"), LIMIT_NOTE);
	} else {
		t.error = o->detail.n ? o->detail : STR("it was not sent");
		t.status = NOTICE_FAILED;
		if (!value_bool_at(o->data, "permanent") &&
				t.attempts < cx->policy->notice_attempts) {
			t.status = NOTICE_WAITING;
			t.not_before = next_attempt(cx, x, t.attempts, o->data);
		}
	}
	emit_tried(cx, x, &t);
}

int decide_notice_retry(struct decide_ctx *cx, const value *params, value **ret_result,
		struct ov_err *err)
{
	str reason = str_trim(value_str_at(params, "reason"));
	struct notice *x, now;
	struct event *e;
	int r = state_find_notice(cx->state, value_str_at(params, "notice"), &x, err);

	if (r == 0)
		r = text_check(STR("reason"), reason, LIMIT_NOTE, err);
	if (r == 0 && x->status != NOTICE_WAITING)
		r = status_check(&notice_statuses, x->id, (int)x->status, NOTICE_WAITING, true,
				err);
	if (r == 0 && x->effect)
		r = ov_fail(err, OV_ESTATE, "notice " STR_FMT " is being sent right now",
				STR_ARG(x->id));
	if (r == 0 && notice_is_needless(cx->state, x))
		r = ov_fail(err, OV_ESTATE,
				"notice " STR_FMT
				" is about #%lld in the inbox, which is settled or put off: nobody "
				"needs to hear of it now",
				STR_ARG(x->id), (long long)x->escalation);
	if (r < 0)
		return r;
	e = emit(cx, EV_NOTICE_RETRIED, about_notice(x));
	ev_str(cx, e, "notice", x->id);
	ev_str(cx, e, "channel", x->channel);
	ev_note(cx, e, "reason", reason.n ? reason : STR("no reason was given"));
	*ret_result = value_object(cx->arena);
	value_put(cx->arena, *ret_result, "notice",
			value_str(cx->arena, arena_str(cx->arena, x->id)));
	value_put(cx->arena, *ret_result, "channel",
			value_str(cx->arena, arena_str(cx->arena, x->channel)));
	now = *x;
	now.not_before = cx->now;
	value_put(cx->arena, *ret_result, "due_at",
			value_time(cx->arena, notice_due(cx->policy, &now, cx->now)));
	return 0;
}
