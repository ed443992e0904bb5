/*
 * Calls that take their time on the store's files, or that must not disturb our own connection to
 * them: each is handed to a process of its own, and its answer handed back. A caller that hangs up
 * does not end the process: a backup that was begun is finished.
 */
#include "app/daemon/daemon_impl.h"
#include "app/log/log.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "core/event/event.h"
#include "data/message/jsonrpc.h"
#include "data/value/json.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"
#include "sys/loop/job.h"

enum { CHILDREN_MAX = 4, CHILD_MS = 60 * 60 * 1000, ANSWER_MAX = 4 * 1024 * 1024 };

struct child {
	struct daemon *d;
	struct list link;
	struct rpc_call *call; /* NULL: our own question */
	struct job *job;
};

static void answer_failed(struct child *c, const struct job_result *r)
{
	struct ov_err err = { 0 };
	str said = str_trim(r->err);

	ov_fail(&err, OV_EUNAVAILABLE, "the process for " STR_FMT " %s: " STR_FMT,
			STR_ARG(c->call->method), r->timed_out ? "took too long" : "gave no answer",
			STR_ARG(str_sub(said, 0, 400)));
	rpc_call_error(c->call, &err);
}

static void child_answered(void *user, const struct job_result *r)
{
	struct child *c = user;
	struct arena *a = c->call->arena;
	struct rpc_msg m = { 0 };
	struct ov_err err = { 0 };
	int rpc_code;
	value *doc;

	list_remove(&c->link);
	if (r->out_cut || json_parse(a, arena_str(a, str_trim(r->out)), NULL, &doc, NULL) < 0 ||
			rpc_parse(doc, &m, &rpc_code, NULL) < 0) {
		answer_failed(c, r);
	} else if (m.kind == RPC_ERROR) {
		rpc_to_err(&m, &err);
		rpc_call_error(c->call, &err);
	} else {
		rpc_call_result(c->call, m.result);
	}
	mem_free(c);
}

static size_t children(const struct daemon *d)
{
	size_t n = 0;

	list_each (it, &d->children)
		n++;
	return n;
}

static int start(struct child *c, str method, const value *params, job_done_fn *done,
		struct ov_err *err)
{
	struct daemon *d = c->d;
	const char *const argv[] = { "/proc/self/exe", "--once", "--dir", d->o->dir, "--repo",
		d->o->repo, "--shim", d->o->shim, NULL };
	struct job_spec spec = { .proc = PROC_SPEC_INIT,
		.timeout_ms = CHILD_MS,
		.max_output = ANSWER_MAX };
	value id = { .kind = V_INT, .i = 1 };
	_cleanup_(buf_done) struct buf request = BUF_INIT;

	if (children(d) >= CHILDREN_MAX)
		return ov_fail(err, OV_ELIMIT, "%d such calls are under way: try again later",
				CHILDREN_MAX);
	rpc_write_request(&request, &id, method, params);
	buf_addc(&request, '\n');
	spec.proc.argv = argv;
	spec.input = buf_str(&request);
	return job_start(d->loop, &spec, done, c, &c->job, err);
}

void child_call(struct daemon *d, struct rpc_call *call)
{
	struct child *c = mem_zalloc(1, sizeof(*c));
	struct ov_err err = { 0 };

	c->d = d;
	c->call = call;
	if (start(c, call->method, call->params, child_answered, &err) < 0) {
		mem_free(c);
		rpc_call_error(call, &err);
		return;
	}
	list_append(&d->children, &c->link);
}

/* The answer to a question of our own, whose child is then forgotten; NULL with what went wrong. */
static const value *own_answer(struct child *c, struct arena *a, const struct job_result *r,
		str *ret_problem)
{
	struct rpc_msg m = { 0 };
	int rpc_code;
	value *doc;

	list_remove(&c->link);
	mem_free(c);
	*ret_problem = str_sub(str_trim(r->err), 0, 400);
	if (r->out_cut || json_parse(a, str_trim(r->out), NULL, &doc, NULL) < 0 ||
			rpc_parse(doc, &m, &rpc_code, NULL) < 0)
		return NULL;
	*ret_problem = m.error_message;
	return m.kind == RPC_ERROR ? NULL : m.result;
}

static void own_question(struct daemon *d, str method, job_done_fn *done, const char *what)
{
	static const struct caller_facts own = { .own = true };
	struct child *c = mem_zalloc(1, sizeof(*c));
	struct ov_err err = { 0 };
	const struct op *op;

	c->d = d;
	if (op_find(method, NULL, &op, &err) < 0 ||
			caller_check(op->callers, op->name, caller_judge(&own), STR(""), &err) <
					0 ||
			start(c, method, NULL, done, &err) < 0) {
		log_warn("%s: %s", what, err.msg);
		mem_free(c);
		return;
	}
	list_append(&d->children, &c->link);
}

static void verified(void *user, const struct job_result *r)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct child *c = user;
	struct daemon *d = c->d;
	str problem;
	const value *v = own_answer(c, &a, r, &problem);

	if (!v)
		log_warn("the store could not be verified: " STR_FMT, STR_ARG(problem));
	else if (!value_bool_at(v, "ok"))
		daemon_damaged(d, value_str_at(v, "reason"));
	else {
		log_info("the store was verified up to event %lld",
				(long long)value_int_at(v, "last_seq"));
		daemon_snapshot_again(d);
	}
}

void child_verify(struct daemon *d)
{
	own_question(d, STR("store.verify"), verified, "the store could not be verified");
}

static void pruned(void *user, const struct job_result *r)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	str problem;
	const value *v = own_answer(user, &a, r, &problem);

	if (!v)
		log_warn("what was rescued long ago was not pruned: " STR_FMT, STR_ARG(problem));
	else if (value_int_at(v, "removed") || value_int_at(v, "failed"))
		log_info("of what was rescued, %lld old refs were removed and %lld are kept; %lld "
			 "could not be removed",
				(long long)value_int_at(v, "removed"),
				(long long)value_int_at(v, "kept"),
				(long long)value_int_at(v, "failed"));
}

/*
 * When it was done last is remembered by a file, so that restarts do not repeat it. Where there is
 * none, nothing can be old enough yet.
 */
static bool prune_due(struct daemon *d, ov_time now)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const char *file;
	bool due = true;
	str text;

	if (d->pruned_at && d->pruned_at <= now && now - d->pruned_at < OV_DAY)
		return false;
	file = path_join(&a, d->o->dir, "rescue-pruned");
	if (!d->pruned_at) {
		due = file_read(&a, file, 100, &text, NULL) == 0 &&
				time_parse(str_trim(text), &d->pruned_at);
		if (due && d->pruned_at <= now && now - d->pruned_at < OV_DAY)
			return false;
	}
	d->pruned_at = now;
	(void)file_write_atomic(file, time_format(&a, now), 0600, NULL);
	return due;
}

void child_published(struct daemon *d, const struct event *const *events, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (events[i]->kind == EV_WORKSPACE_READY && !d->stopping &&
				prune_due(d, clock_wall()))
			own_question(d, STR("rescue.prune"), pruned,
					"what was rescued long ago was not pruned");
}

void child_done(struct daemon *d)
{
	struct ov_err err = { 0 };

	ov_fail(&err, OV_EUNAVAILABLE, "the daemon is stopping");
	list_each (it, &d->children) {
		struct child *c = list_entry(it, struct child, link);

		list_remove(&c->link);
		job_abandon(c->job);
		if (c->call)
			rpc_call_error(c->call, &err);
		mem_free(c);
	}
}
