/*
 * Calls, whether they came by socket or HTTP: each is checked against the table of operations and
 * answered from the state, by the engine, or here when it needs the daemon itself.
 */
#include <pwd.h>

#include "app/daemon/callers.h"
#include "app/daemon/daemon_impl.h"
#include "app/log/log.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "core/explain/explain.h"
#include "core/view/view.h"
#include "data/value/json.h"

enum { FOLLOW_CATCH_UP = 1000 };

/* A connection that wants every event. */
struct follower {
	struct daemon *d;
	struct list link;
	struct rpc_conn *conn;
};

/* A call of run.log that waits for output, the run's end, or its time. */
struct log_wait {
	struct daemon *d;
	struct list link;
	struct rpc_call *call;
	const struct op *op;
	struct loop_source *timer;
	int64_t until; /* monotonic milliseconds */
	str run_id;    /* in the call's arena */
};

/* A reading call that waits until what it will see is durable. */
struct pending_read {
	struct daemon *d;
	struct rpc_call *call;
	const struct op *op;
	int64_t until; /* as in struct log_wait; 0: it has not waited yet */
};

static struct op_ctx op_context(struct daemon *d, struct arena *a)
{
	d->self.unfenced = d->executor ? executor_unfenced(d->executor) : NULL;
	return (struct op_ctx){
		.arena = a,
		.state = engine_state(d->engine),
		.store = engine_store(d->engine),
		.config = d->config,
		.daemon = &d->self,
		.observations = d->executor ? executor_observations(d->executor) : NULL,
		.accounts = d->executor ? executor_accounts(d->executor) : NULL,
		.now = loop_now(d->loop),
	};
}

/*
 * "human:NAME" of the socket's peer; the token of the dashboard stands for the person who runs us.
 */
static str caller(struct daemon *d, const struct rpc_call *call)
{
	struct passwd pw, *found = NULL;
	char buf[1024];

	if (call->via == RPC_VIA_HTTP)
		return STR("human:http");
	/* The last caller is usually the next one; the lookup reads a file each time. */
	if (d->caller.n && d->caller_uid == call->uid)
		return d->caller;
	if (getpwuid_r(call->uid, &pw, buf, sizeof(buf), &found) == 0 && found)
		record_set_str(&d->caller, arena_printf(call->arena, "human:%s", pw.pw_name));
	else
		record_set_str(&d->caller,
				arena_printf(call->arena, "human:%u", (unsigned)call->uid));
	d->caller_uid = call->uid;
	return d->caller;
}

static void write_done(void *user, int r, const value *result, const struct ov_err *err)
{
	struct rpc_call *call = user;

	if (r < 0)
		rpc_call_error(call, err);
	else
		rpc_call_result(call, result);
}

static void read_ready(void *user, int r, const struct ov_err *commit_err);

/* The wait is over; that the run has ended is told when it is durable, like everything else. */
static void log_wait_end(struct log_wait *w)
{
	struct pending_read *p = arena_new(w->call->arena, struct pending_read);

	*p = (struct pending_read){ w->d, w->call, w->op, w->until };
	list_remove(&w->link);
	loop_source_free(w->timer);
	mem_free(w);
	engine_after_commit(p->d->engine, read_ready, p);
}

/* Its time is over: it is answered, whatever there is. */
static void log_wait_over(void *user)
{
	struct log_wait *w = user;

	w->until = 1;
	log_wait_end(w);
}

void server_run_changed(void *user, str run_id)
{
	struct daemon *d = user;

	list_each (it, &d->log_waits) {
		struct log_wait *w = list_entry(it, struct log_wait, link);

		if (str_eq(w->run_id, run_id))
			log_wait_end(w);
	}
}

/*
 * True when the answer has nothing new yet and the caller is willing to wait. What changed may be
 * something that he has read from the file already: then he waits on.
 */
static bool log_must_wait(const struct pending_read *p, const value *result)
{
	int64_t now = (int64_t)(loop_mono_us(p->d->loop) / 1000);
	const struct pr_run_log *asked = op_fill(p->call->arena, OP_run_log, p->call->params);
	int64_t until = p->until ? p->until : now + asked->wait_ms;
	struct log_wait *w;

	if (until <= now || value_str_at(result, "text").n || value_bool_at(result, "ended"))
		return false;
	w = mem_zalloc(1, sizeof(*w));
	w->d = p->d;
	w->call = p->call;
	w->op = p->op;
	w->until = until;
	w->run_id = arena_str(p->call->arena, value_str_at(result, "run"));
	w->timer = loop_timer(p->d->loop, log_wait_over, w);
	loop_timer_in(w->timer, until - now);
	list_append(&p->d->log_waits, &w->link);
	return true;
}

static void read_ready(void *user, int r, const struct ov_err *commit_err)
{
	struct pending_read *p = user;
	struct op_ctx cx = op_context(p->d, p->call->arena);
	struct ov_err err = { 0 };
	value *result = NULL;

	/* A refused write is no longer in the state: then reading is none of its business. */
	if (r == 0 || engine_head(p->d->engine) == cx.state->seq) {
		r = op_handler(p->op)(&cx, p->call->params, &result, &err);
		commit_err = &err;
	}
	if (r < 0)
		rpc_call_error(p->call, commit_err);
	else if (op_id(p->op) != OP_run_log || !log_must_wait(p, result))
		rpc_call_result(p->call, result);
}

static void call_read(struct daemon *d, struct rpc_call *call, const struct op *op)
{
	struct pending_read *p = arena_new(call->arena, struct pending_read);

	*p = (struct pending_read){ .d = d, .call = call, .op = op };
	engine_after_commit(d->engine, read_ready, p);
}

static void follower_gone(void *user)
{
	struct follower *f = user;

	list_remove(&f->link);
	mem_free(f);
}

static bool notify_event(struct rpc_conn *conn, const struct event *e)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *v = event_view(&a, e);

	value_put(&a, v, "text", value_str(&a, explain_event(&a, e)));
	return rpc_conn_notify(conn, STR("event"), v);
}

/*
 * Events since `after`, as far as one page goes; a caller further behind reads events.list first.
 */
static int follow_catch_up(struct daemon *d, struct rpc_conn *conn, uint64_t after,
		struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct store_record *recs;
	struct event e;
	size_t n;
	int r;

	if (engine_head(d->engine) > after + FOLLOW_CATCH_UP) {
		ov_fail(err, OV_ELIMIT, "event %llu is more than %d events ago",
				(unsigned long long)after, FOLLOW_CATCH_UP);
		return ov_next(err, "overseer events --after %llu", (unsigned long long)after);
	}
	r = store_read(engine_store(d->engine), after, FOLLOW_CATCH_UP, &a, &recs, &n, err);
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = event_decode(&a, recs[i].seq, recs[i].at, recs[i].kind, recs[i].body, &e, err);
		if (r == 0 && !notify_event(conn, &e))
			return ov_fail(err, OV_ELIMIT, "the connection is too slow to follow");
	}
	return r;
}

static bool follows(const struct daemon *d, const struct rpc_conn *conn)
{
	list_each (it, &d->followers)
		if (list_entry(it, struct follower, link)->conn == conn)
			return true;
	return false;
}

/* What is staged is not part of the head: it comes when it is durable, as any other event. */
static void call_events_follow(struct daemon *d, struct rpc_call *call,
		const struct pr_events_follow *p)
{
	uint64_t head = engine_head(d->engine);
	uint64_t after = p->has_after ? (uint64_t)p->after : head;
	struct rpc_conn *conn = call->conn;
	struct ov_err err = { 0 };
	value *v = value_object(call->arena);
	struct follower *f;

	if (!conn) {
		ov_fail(&err, OV_EINVALID,
				"events are followed over the socket, or at GET /events");
		rpc_call_error(call, &err);
		return;
	}
	if (follows(d, conn)) {
		ov_fail(&err, OV_ECONFLICT, "this connection follows the events already");
		rpc_call_error(call, &err);
		return;
	}
	value_put(call->arena, v, "head", value_int(call->arena, (int64_t)head));
	if (follow_catch_up(d, conn, MIN(after, head), &err) < 0) {
		rpc_call_error(call, &err);
		return;
	}
	f = mem_zalloc(1, sizeof(*f));
	f->d = d;
	f->conn = conn;
	list_append(&d->followers, &f->link);
	rpc_conn_watch(conn, follower_gone, f);
	rpc_call_result(call, v);
}

struct pending_auto {
	struct daemon *d;
	struct rpc_call *call;
};

/* A tick's decisions, shown once they are durable. */
struct pending_tick {
	struct rpc_call *call;
	const value *decisions;
};

static void tick_ready(void *user, int r, const struct ov_err *err)
{
	struct pending_tick *p = user;

	if (r < 0)
		rpc_call_error(p->call, err);
	else
		rpc_call_result(p->call, p->decisions);
}

static void call_tick_now(struct daemon *d, struct rpc_call *call, const struct pr_tick_now *p)
{
	struct pending_tick *tick = arena_new(call->arena, struct pending_tick);

	if (d->safe.on && !p->dry_run) {
		rpc_call_error(call, &d->refusal);
		return;
	}
	tick->call = call;
	if (p->dry_run)
		tick->decisions = engine_tick_dry(d->engine, call->arena);
	else
		tick->decisions = engine_tick_now(d->engine, call->arena);
	engine_after_commit(d->engine, tick_ready, tick);
}

static void call_config_reload(struct daemon *d, struct rpc_call *call,
		const struct pr_config_reload *p _unused_)
{
	struct ov_err err = { 0 };
	value *v = value_object(call->arena);

	if (daemon_reload(d, &err) < 0) {
		rpc_call_error(call, &err);
		return;
	}
	value_put(call->arena, v, "reloaded", value_bool(call->arena, true));
	rpc_call_result(call, v);
}

static void call_daemon_stop(struct daemon *d, struct rpc_call *call,
		const struct pr_daemon_stop *p)
{
	enum ending ending = p->stop_runs ? ENDING_STOP : ENDING_LEAVE;
	/* What was asked goes with the answer. */
	const char *why = p->stop_runs ? "asked to, with its agents" : "asked to";
	value *v = value_object(call->arena);

	value_put(call->arena, v, "stopping", value_bool(call->arena, true));
	value_put(call->arena, v, "pid", value_int(call->arena, d->self.pid));
	value_put(call->arena, v, "stopping_runs",
			value_int(call->arena,
					(int64_t)ending_left(engine_state(d->engine), ending)));
	value_put(call->arena, v, "drain_timeout_ms",
			value_int(call->arena, d->config->drain_timeout));
	if (!d->stop_reason)
		health_say(&d->health, HEALTH_REQUESTED, "by " STR_FMT, STR_ARG(caller(d, call)));
	rpc_call_result(call, v);
	daemon_end(d, why, ending);
}

/* What is known after the change is the answer. */
static void auto_switched(void *user, int r, const value *result _unused_, const struct ov_err *err)
{
	struct pending_auto *p = user;
	const struct world w = { engine_state(p->d->engine), &p->d->config->policy };

	if (r < 0)
		rpc_call_error(p->call, err);
	else
		rpc_call_result(p->call,
				view_auto_whole(p->call->arena, &w, NULL, loop_now(p->d->loop)));
}

static void switch_auto(struct daemon *d, struct rpc_call *call, enum message m, const void *is)
{
	struct pending_auto *p = arena_new(call->arena, struct pending_auto);

	*p = (struct pending_auto){ d, call };
	engine_submit(d->engine, str_from(message_name(m)), message_data(call->arena, m, is),
			caller(d, call), auto_switched, p);
}

static void call_auto_start(struct daemon *d, struct rpc_call *call, const struct pr_auto_start *p)
{
	struct msg_auto_start m = { .instance = str_from(d->self.instance), .person = true };
	struct ov_err err = { 0 };

	if (d->safe.on || daemon_auto_allow(d, p, &err) < 0) {
		rpc_call_error(call, d->safe.on ? &d->refusal : &err);
		return;
	}
	switch_auto(d, call, MESSAGE_auto_start, &m);
}

static void call_auto_stop(struct daemon *d, struct rpc_call *call, const struct pr_auto_stop *p)
{
	struct msg_auto_stop m = { .reason = p->reason.n ? p->reason : STR("switched off"),
		.person = true };

	if (d->safe.on) {
		rpc_call_error(call, &d->refusal);
		return;
	}
	switch_auto(d, call, MESSAGE_auto_stop, &m);
}

#define HANDLER_READ(sym)
#define HANDLER_CHILD(sym)
#undef HANDLER_DAEMON
#define HANDLER_DAEMON(sym)                                                        \
	static void run_##sym(struct daemon *d, struct rpc_call *call)             \
	{                                                                          \
		call_##sym(d, call, op_fill(call->arena, OP_##sym, call->params)); \
	}
#define OP(sym, needs, ...) HANDLER_##needs(sym)
#include "core/op/rows.def"

#undef HANDLER_DAEMON
#define HANDLER_DAEMON(sym) [OP_##sym] = run_##sym,
static void (*const daemon_calls[OP_COUNT])(struct daemon *d, struct rpc_call *call) = {
#include "core/op/rows.def"
};

void server_call(void *user, struct rpc_call *call)
{
	struct daemon *d = user;
	struct ov_err err = { 0 };
	const struct op *op;

	if (d->stopping) {
		ov_fail(&err, OV_EUNAVAILABLE, "the daemon is stopping");
		rpc_call_error(call, &err);
		return;
	}
	if (op_find(call->method, call->params, &op, &err) < 0) {
		rpc_call_error(call, &err);
		return;
	}
	if (callers_check(d, op, &call->who, &err) < 0) {
		rpc_call_error(call, &err);
		return;
	}
	switch (op->kind) {
	case OP_READ: call_read(d, call, op); break;
	case OP_WRITE:
		engine_submit(d->engine, str_from(op->name), call->params, caller(d, call),
				write_done, call);
		break;
	case OP_DAEMON: daemon_calls[op_id(op)](d, call); break;
	case OP_CHILD: child_call(d, call); break;
	case OP_NOTHING: assert(!"it is no operation");
	}
}

/* What a person who looks into the daemon's log wants to find there; everything is in `events`. */
static void log_event(const struct event *e)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	if (e->kind == EV_ESCALATION_OPENED || e->kind == EV_GOAL_STATUS)
		log_info(STR_FMT " " STR_FMT ": " STR_FMT, STR_ARG(e->goal), STR_ARG(e->node),
				STR_ARG(explain_event(&a, e)));
}

void server_published(struct daemon *d, const struct event *const *events, size_t n)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	_cleanup_(buf_done) struct buf json = BUF_INIT;
	bool heard = ssehub_subscribers(d->hub) || !list_empty(&d->followers);

	if (!heard)
		ssehub_skip(d->hub, events[n - 1]->seq);
	for (size_t i = 0; i < n; i++) {
		value *v;

		log_event(events[i]);
		if (!heard)
			continue;
		v = event_view(&a, events[i]);
		value_put(&a, v, "text", value_str(&a, explain_event(&a, events[i])));
		buf_clear(&json);
		json_write(&json, v);
		ssehub_publish(d->hub, events[i]->seq, str_from(event_name(events[i]->kind)),
				buf_str(&json));
		list_each (it, &d->followers)
			(void)rpc_conn_notify(list_entry(it, struct follower, link)->conn,
					STR("event"), v);
		arena_reset(&a);
	}
}

void server_done(struct daemon *d)
{
	list_each (it, &d->log_waits)
		log_wait_over(list_entry(it, struct log_wait, link));
	record_set_str(&d->caller, STR(""));
}
