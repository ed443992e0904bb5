/*
 * `escalation.test`: one notice through one channel, to see whether it arrives. It is no alarm:
 * nothing about it is recorded, and it is about nobody. A process of its own sends it, with the
 * daemon's environment where a daemon runs, so that what the daemon would lack is lacking here.
 */
#include "app/notify/notify.h"
#include "app/ops/ops.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/host/rand.h"
#include "sys/loop/loop.h"

struct trial {
	struct arena *a;
	struct loop *loop;
	value *answer;
	struct ov_err *err;
	int r;
};

static void tried(void *user, const struct notify_outcome *o)
{
	struct trial *t = user;

	value_put(t->a, t->answer, "ref", value_str(t->a, arena_str(t->a, o->ref)));
	t->r = o->ok ? 0
		     : ov_fail(t->err, o->permanent ? OV_ESTATE : OV_EUNAVAILABLE, STR_FMT,
				       STR_ARG(o->error));
	loop_quit(t->loop, 0);
}

static int try_channel(struct op_ctx *cx, struct trial *t, const struct notice_message *m)
{
	struct notifier *n;
	int r = loop_new(&t->loop, t->err);

	if (r < 0)
		return r;
	n = notify_new(&(struct notify_options){ .loop = t->loop,
			.dir = cx->daemon->dir,
			.repo = cx->daemon->repo });
	(void)notify_start(n, cx->config, m, tried, t);
	(void)loop_run(t->loop);
	notify_free(n);
	loop_free(t->loop);
	return t->r;
}

static int no_channel(struct op_ctx *cx, str name, struct ov_err *err)
{
	const struct config *c = cx->config;
	const char **names = arena_array(cx->arena, const char *, c->channels_n + 1), *near;

	for (size_t i = 0; i < c->channels_n; i++)
		names[i] = arena_cstr(cx->arena, c->channels[i].name);
	near = str_nearest(name, names, c->channels_n);
	ov_fail(err, OV_ENOTFOUND, "there is no channel \"" STR_FMT "\" in %s%s%s%s", STR_ARG(name),
			cx->daemon->config_file, near ? " (did you mean \"" : "", near ? near : "",
			near ? "\"?)" : "");
	return ov_next(err, "overseer config show --effective");
}

int op_escalation_test(struct op_ctx *cx, const struct pr_escalation_test *p, value **ret,
		struct ov_err *err)
{
	struct arena *a = cx->arena;
	str name = p->channel, level = p->level;
	const struct config_channel *ch = config_channel(cx->config, name);
	int urgency = status_parse(&urgencies, level.n ? level : STR("info"));
	struct trial t = { .a = a, .answer = value_object(a), .err = err };
	struct notice_message m = { .channel = name,
		.urgency = (enum urgency)MAX(urgency, 0),
		.reason = arena_printf(a,
				"This is a test of the channel \"" STR_FMT "\": nothing is wrong.",
				STR_ARG(name)),
		.fingerprint = STR("test"),
		.at = cx->now };
	int r;

	if (cx->daemon->config_problem)
		return ov_fail(err, OV_EINVALID, "%s: %s", cx->daemon->config_file,
				cx->daemon->config_problem);
	if (urgency < 0)
		return ov_fail(err, OV_EINVALID,
				"\"" STR_FMT "\" is no level; these are: info, warning, critical, "
				"emergency",
				STR_ARG(level));
	if (!ch)
		return no_channel(cx, name, err);
	m.id = arena_printf(a, "test_%016llx", (unsigned long long)rand_u64());
	value_put(a, t.answer, "channel", value_str(a, name));
	value_put(a, t.answer, "type", value_cstr(a, status_name(&channel_types, (int)ch->type)));
	value_put(a, t.answer, "level", value_cstr(a, status_name(&urgencies, urgency)));
	value_put(a, t.answer, "notice", value_str(a, m.id));
	r = try_channel(cx, &t, &m);
	if (r == 0)
		*ret = t.answer;
	return r;
}
