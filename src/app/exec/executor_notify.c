/* One attempt to tell a person outside: what there is to say, out of the state as it stands. */
#include "app/exec/executor_impl.h"

#include "app/engine/engine.h"
#include "app/notify/notify.h"
#include "base/err.h"
#include "base/str.h"
#include "core/state/state.h"
#include "core/view/view.h"
#include "data/value/json.h"

static const struct detection *detection_of(const struct goal *g, str id)
{
	for (size_t i = 0; g && id.n && i < g->detections.n; i++)
		if (str_eq(g->detections.p[i]->id, id))
			return g->detections.p[i];
	return NULL;
}

static void say_detection(struct arena *a, const struct detection *d, struct notice_message *m)
{
	value *v = value_object(a), *did = value_object(a), *evidence;

	if (json_parse(a, d->evidence, NULL, &evidence, NULL) < 0)
		evidence = value_object(a);
	value_put(a, v, "type", value_cstr(a, status_name(&detectors, (int)d->type)));
	value_put(a, v, "severity", value_cstr(a, status_name(&severities, (int)d->severity)));
	value_put(a, v, "message", value_str(a, d->message));
	value_put(a, v, "evidence", evidence);
	value_put(a, v, "recommendations", strs_to_value(a, &d->recommendations));
	value_put(a, v, "fingerprint", value_str(a, d->fingerprint));
	value_put(a, did, "level", value_cstr(a, status_name(&levels, (int)d->level)));
	value_put(a, did, "reason", value_str(a, d->reason));
	value_put(a, did, "did", value_str(a, d->did));
	m->detection = v;
	m->intervention = did;
	m->iteration = d->iteration;
}

/* How it is answered, where somebody is asked; else where to look. */
static void say_commands(struct arena *a, const struct state *s, struct notice_message *m)
{
	const struct escalation *x = m->escalation ? state_escalation(s, m->escalation) : NULL;
	const value *list = x ? value_at(view_escalation(a, s, x, s->at), "commands") : NULL;
	size_t n = value_count(list);
	str *commands = arena_array(a, str, n + 1);

	for (size_t i = 0; i < n; i++)
		commands[m->commands_n++] = value_str_or(value_item(list, i), STR(""));
	if (n == 0 && m->goal_id.n)
		commands[m->commands_n++] = arena_printf(a,
				"overseer explain " STR_FMT "%s" STR_FMT, STR_ARG(m->goal_id),
				m->node_id.n ? "/" : "", STR_ARG(m->node_id));
	m->commands = commands;
}

/* What the first notice about the same became on this channel. */
static str first_ref(const struct state *s, const struct notice *x)
{
	for (size_t i = 0; i < s->notices.n; i++) {
		const struct notice *n = s->notices.p[i];

		if (n->status == NOTICE_SENT && n->ref.n && str_eq(n->channel, x->channel) &&
				x->fingerprint.n && str_eq(n->fingerprint, x->fingerprint))
			return n->ref;
	}
	return STR("");
}

static struct notice_message message_of(struct arena *a, const struct state *s,
		const struct notice *x)
{
	const struct goal *g = x->goal_id.n ? state_goal(s, x->goal_id) : NULL;
	const struct node *n = g && x->node_id.n ? state_node(s, x->goal_id, x->node_id) : NULL;
	const struct detection *d = detection_of(g, x->detection_id);
	struct notice_message m = { .id = x->id,
		.channel = x->channel,
		.urgency = x->urgency,
		.goal_id = x->goal_id,
		.goal_title = g ? g->title : STR(""),
		.node_id = x->node_id,
		.node_name = n ? n->def.name : STR(""),
		.escalation = x->escalation,
		.reason = x->subject,
		.fingerprint = x->fingerprint.n ? x->fingerprint : x->id,
		.again = first_ref(s, x),
		.at = x->created_at };

	if (d)
		say_detection(a, d, &m);
	say_commands(a, s, &m);
	return m;
}

static void told(void *user, const struct notify_outcome *o)
{
	struct task *t = user;
	struct out_notify told = { .ref = o->ref,
		.permanent = o->permanent,
		.retry_after_ms = o->retry_after };

	t->notify = NULL;
	outcome_set(t,
			&(struct outcome){ .is = o->ok ? ENDED_OK : ENDED_ERROR,
					.detail = o->error,
					.notify = &told });
	task_report(t);
}

void perform_notify(struct task *t, const struct assignment *none _unused_)
{
	struct executor *x = t->x;
	const struct state *s = engine_state(x->engine);
	const struct effect *fx = state_effect(s, t->effect_id);
	const struct notice *notice = state_notice(s, fx->purpose);
	struct ov_err err = { 0 };
	struct notice_message m;

	if (!notice) {
		ov_fail(&err, OV_ENOTFOUND, "there is no such notice any more");
		fail_later(t, &err);
		return;
	}
	m = message_of(&t->arena, s, notice);
	t->notify = notify_start(x->notifier, x->o.config, &m, told, t);
}
