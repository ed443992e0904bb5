/*
 * Requests on their way to whatever daemon is up, the daemon's side of them as app/daemon/server
 * has it, and the way back. Bytes travel, as over the socket; a daemon that dies answers
 * nothing any more.
 */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "data/value/json.h"
#include "tests/sim/daemon.h"
#include "tests/sim/disk.h"
#include "tests/sim/exec.h"
#include "tests/sim/person_impl.h"
#include "tests/sim/tape.h"

enum { TRIES_MAX = 4, WAY_MS = 20 };

/*
 * In the queue: a request or an answer. Whole, since it may come when the asker has forgotten it.
 */
struct letter {
	uint64_t id;
	char op[SIM_NAME_MAX];
	int who, r;
	size_t n;
	char bytes[];
};

static struct asked *asked_find(struct people *p, uint64_t id, size_t *ret_at)
{
	for (size_t i = 0; i < p->asked.n; i++)
		if (p->asked.p[i]->id == id) {
			*ret_at = i;
			return p->asked.p[i];
		}
	return NULL;
}

static void asked_free(struct asked *q)
{
	mem_free((char *)q->params.p);
	mem_free(q);
}

static void call_free(struct call *c)
{
	list_remove(&c->link);
	arena_done(&c->arena);
	mem_free(c);
}

void calls_free(struct people *p)
{
	list_each (it, &p->calls)
		call_free(list_entry(it, struct call, link));
	for (size_t i = 0; i < p->asked.n; i++)
		asked_free(p->asked.p[i]);
	vec_done(&p->asked);
}

/* What a daemon that is no more was asked stays unanswered. */
static void bury_calls(struct people *p)
{
	list_each (it, &p->calls) {
		struct call *c = list_entry(it, struct call, link);

		if (!daemon_of(p->s, c->life))
			call_free(c);
	}
}

/* ---- the daemon's side ---- */

static void reply_arrives(struct sim *s, void *arg);

static void reply(struct people *p, uint64_t id, int r, const value *result)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct letter *l;

	if (r == 0 && result)
		json_write(&text, result);
	l = sim_post(p->s, CHANNEL_REPLY, sim_between(p->s, RNG_PERSON, 1, WAY_MS), 0,
			reply_arrives, sizeof(*l) + text.n);
	l->id = id;
	l->r = r;
	l->n = text.n;
	if (text.n)
		memcpy(l->bytes, text.p, text.n);
}

static void check_code(struct people *p, const char *op, int r, const struct ov_err *err)
{
	if (r == OV_EINTERNAL || p->sabotage == PEOPLE_TOLD_INTERNAL)
		sim_violated(p->s, "no_internal_error", "%s: %s", op, err ? err->msg : "");
}

static struct promise promise_of(const struct call *c, const struct sim_daemon *d,
		const value *result)
{
	struct promise m = { .head = engine_head(d->engine) };
	str goal = value_str_at(result, "goal"), node = value_str_at(result, "node");
	size_t slash = str_find_byte(node, '/');

	if (slash < node.n) {
		goal = str_sub(node, 0, slash);
		node = str_sub(node, slash + 1, node.n);
	}
	sim_name(m.op, str_from(c->op->name));
	/* What is done to a worker is no event of the task that its answer names. */
	if (!str_starts(str_from(m.op), STR("worker.")) || str_is(str_from(m.op), "worker.start")) {
		sim_name(m.goal, goal);
		sim_name(m.node, node);
	}
	m.escalation = value_int_at(result, "escalation");
	return m;
}

static void write_done(void *user, int r, const value *result, const struct ov_err *err)
{
	struct call *c = user;
	struct people *p = c->p;
	const struct sim_daemon *d = daemon_of(p->s, c->life);

	if (d) {
		check_code(p, c->op->name, r, err);
		if (r < 0)
			/* The store's words name its folder, which is another one each time. */
			sim_trace(p->s, "daemon %d refuses %s: %s", c->life, c->op->name,
					r == OV_EIO ? "the store cannot be written" : err->msg);
		if (r == 0)
			vec_push(&p->promises, promise_of(c, d, result));
		reply(p, c->id, r, result);
	}
	call_free(c);
}

static struct op_ctx op_context(struct call *c, const struct sim_daemon *d)
{
	static const struct op_daemon self = { .dir = "/sim/.overseer",
		.repo = "/sim",
		.shim = "overseer-run",
		.store_url = "sqlite:store.db",
		.instance = "sim",
		.config_file = "/sim/.overseer/config.toml",
		.config_problem = "",
		.pid = 1 };

	return (struct op_ctx){ .arena = &c->arena,
		.state = engine_state(d->engine),
		.store = engine_store(d->engine),
		.config = c->p->s->config,
		.daemon = &self,
		.observations = d->exec ? exec_observations(d->exec) : NULL,
		.now = sim_now(c->p->s) };
}

static void read_done(void *user, int r, const struct ov_err *commit_err)
{
	struct call *c = user;
	struct people *p = c->p;
	const struct sim_daemon *d = daemon_of(p->s, c->life);
	struct ov_err err = { 0 };
	value *result = NULL;

	if (d) {
		struct op_ctx cx = op_context(c, d);

		disk_set_life(p->s->disk, (unsigned)c->life);

		if (r == 0 && engine_head(d->engine) != cx.state->seq)
			sim_violated(p->s, "reads_show_saved",
					"%s is answered from event %llu, but only %llu are saved",
					c->op->name, (unsigned long long)cx.state->seq,
					(unsigned long long)engine_head(d->engine));
		/* As app/daemon/server: a refused write is no longer in the state. */
		if (r == 0 || engine_head(d->engine) == cx.state->seq) {
			r = op_handler(c->op)(&cx, c->params, &result, &err);
			commit_err = &err;
		}
	}
	/* The disk may have been its end just now. */
	if (daemon_of(p->s, c->life)) {
		check_code(p, c->op->name, r, commit_err);
		reply(p, c->id, r, result);
	}
	call_free(c);
}

/* Its decisions, shown once they are durable. */
static void tick_done(void *user, int r, const struct ov_err *err)
{
	struct call *c = user;

	if (daemon_of(c->p->s, c->life)) {
		check_code(c->p, c->op->name, r, err);
		reply(c->p, c->id, r, c->decisions);
	}
	call_free(c);
}

/* As a daemon would that answers before it has written. */
static void serve_unsaved(struct sim_daemon *d, struct call *c)
{
	engine_submit(d->engine, STR("goal.create"),
			params_about(&c->arena, "title", STR("unsaved")), STR("human:mole"), NULL,
			NULL);
	read_done(c, 0, NULL);
}

static void serve(struct sim_daemon *d, struct people *p, const struct letter *l)
{
	struct call *c = mem_zalloc(1, sizeof(*c));
	struct ov_err err = { 0 };
	int r;

	*c = (struct call){ .p = p, .life = d->life, .id = l->id, .arena = ARENA_INIT };
	list_append(&p->calls, &c->link);
	p->s->stats.operations++;
	/* The socket keeps the bytes that came until it has answered. */
	r = json_parse(&c->arena, arena_str(&c->arena, (str){ l->bytes, l->n }), NULL, &c->params,
			&err);
	if (r == 0)
		r = op_find(str_from(l->op), c->params, &c->op, &err);
	if (r == 0 && d->stopping)
		r = ov_fail(&err, OV_EUNAVAILABLE, "the daemon is stopping");
	if (r < 0) {
		reply(p, l->id, r, NULL);
		call_free(c);
	} else if (c->op->kind == OP_WRITE) {
		tape_submit(d->tape, d->engine, str_from(c->op->name), c->params,
				str_from(p->person[l->who].name), write_done, c);
	} else if (c->op->kind == OP_DAEMON) {
		assert(str_is(str_from(c->op->name), "tick.now"));
		c->decisions = tape_tick(d->tape, d->engine, value_bool_at(c->params, "dry_run"),
				&c->arena);
		tape_after_commit(d->tape, d->engine, tick_done, c);
	} else if (p->sabotage == PEOPLE_TOLD_UNSAVED) {
		serve_unsaved(d, c);
	} else {
		assert(c->op->kind == OP_READ);
		tape_after_commit(d->tape, d->engine, read_done, c);
	}
}

/* ---- the person's side ---- */

static void send(struct people *p, struct asked *q);

static void settle(struct people *p, size_t at, int r, const value *result)
{
	struct asked *q = p->asked.p[at];

	vec_remove(&p->asked, at);
	if (q->heard)
		q->heard(p, q, r, result);
	asked_free(q);
}

/* Nothing was heard, or nobody is there: again, or given up. */
static void try_again(struct people *p, size_t at)
{
	struct asked *q = p->asked.p[at];

	if (q->once || q->tries >= TRIES_MAX)
		settle(p, at, OV_EUNAVAILABLE, NULL);
	else
		send(p, q);
}

struct patience {
	uint64_t id;
	unsigned tries;
};

static void no_answer(struct sim *s, void *arg)
{
	const struct patience *w = arg;
	size_t at;
	const struct asked *q = asked_find(s->people, w->id, &at);

	if (!q || q->tries != w->tries)
		return;
	sim_trace(s, "%s hears nothing of #%llu %s", s->people->person[q->who].name,
			(unsigned long long)q->id, q->op);
	try_again(s->people, at);
}

static void request_arrives(struct sim *s, void *arg)
{
	const struct letter *l = arg;
	struct sim_daemon *d = daemon_up(s);

	bury_calls(s->people);
	if (d)
		serve(d, s->people, l);
}

static void send(struct people *p, struct asked *q)
{
	struct sim *s = p->s;
	struct patience *w;
	struct letter *l = sim_post(s, CHANNEL_REQUEST, sim_between(s, RNG_PERSON, 1, WAY_MS), 0,
			request_arrives, sizeof(*l) + q->params.n);

	q->tries++;
	sim_trace(s, "%s asks #%llu %s " STR_FMT, p->person[q->who].name, (unsigned long long)q->id,
			q->op, STR_ARG(str_sub(q->params, 0, 120)));
	l->id = q->id;
	l->who = q->who;
	sim_name(l->op, str_from(q->op));
	l->n = q->params.n;
	memcpy(l->bytes, q->params.p, q->params.n);
	w = sim_in(s, sim_between(s, RNG_PERSON, 10 * OV_SECOND, 2 * OV_MINUTE), 0, no_answer,
			sizeof(*w));
	*w = (struct patience){ q->id, q->tries };
}

static void reply_arrives(struct sim *s, void *arg)
{
	const struct letter *l = arg;
	struct people *p = s->people;
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *result = NULL;
	size_t at;
	const struct asked *q = asked_find(p, l->id, &at);

	if (!q)
		return;
	sim_trace(s, "%s hears of #%llu %s: %s, %zu bytes", p->person[q->who].name,
			(unsigned long long)q->id, q->op, l->r ? ov_code_info(l->r)->name : "ok",
			l->n);
	if (l->n && json_parse(&a, (str){ l->bytes, l->n }, NULL, &result, NULL) < 0)
		sim_violated(s, "answers_are_json", "%s", q->op);
	settle(p, at, l->r, result);
}

static void ask_as(struct people *p, struct asked spec, const value *params)
{
	struct asked *q = mem_zalloc(1, sizeof(*q));
	struct buf text = BUF_INIT;

	*q = spec;
	q->id = ++p->ids;
	if (params)
		json_write(&text, params);
	else
		buf_adds(&text, STR("{}"));
	q->params = buf_str(&text);
	vec_push(&p->asked, q);
	send(p, q);
}

void ask(struct people *p, int who, const char *op, const value *params, heard_fn *heard,
		int64_t ref)
{
	ask_as(p, (struct asked){ .who = who, .op = op, .heard = heard, .ref = ref }, params);
}

void ask_once(struct people *p, int who, const char *op, const value *params, heard_fn *heard,
		int64_t ref)
{
	ask_as(p, (struct asked){ .who = who, .op = op, .heard = heard, .ref = ref, .once = true },
			params);
}
