#include "tests/sim/dump.h"

#include "base/err.h"
#include "base/str.h"
#include "core/export/rescue_owner.h"
#include "data/value/json.h"
#include "tests/sim/daemon.h"
#include "tests/sim/disk.h"
#include "tests/sim/exec.h"
#include "tests/sim/simgit.h"

enum { PAGE = 512, MOMENTS = 3 };

struct dump {
	struct sim *s;
	struct sim_daemon *d;
	FILE *f;
	struct arena arena;
	struct rescue_owners *owners;
	ov_time moments[MOMENTS]; /* at which periods begin: the times of events on the way */
};

static void line_of(struct dump *d, const value *v)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	json_write(&b, v);
	buf_addc(&b, '\n');
	fwrite(b.p, 1, b.n, d->f);
}

static value *pair(struct dump *d, const char *key, value *v)
{
	value *o = value_object(&d->arena);

	value_put(&d->arena, o, key, v);
	return o;
}

static void put(struct dump *d, value *v, const char *key, str s)
{
	value_put(&d->arena, v, key, value_str(&d->arena, s));
}

/* ---- the log ---- */

static void dump_record(struct dump *d, const struct store_record *rec)
{
	value *v = value_object(&d->arena), *body;
	struct event e;

	if (json_parse(&d->arena, rec->body, NULL, &body, NULL) < 0)
		return;
	value_put(&d->arena, v, "seq", value_int(&d->arena, (int64_t)rec->seq));
	value_put(&d->arena, v, "at", value_int(&d->arena, rec->at));
	put(d, v, "type", rec->kind);
	value_put(&d->arena, v, "body", body);
	line_of(d, pair(d, "event", v));
	if (rescue_owners_wants(rec->kind) &&
			event_decode(&d->arena, rec->seq, rec->at, rec->kind, rec->body, &e,
					NULL) == 0)
		rescue_owners_add(d->owners, &e);
}

static void dump_log(struct dump *d)
{
	struct store *store = engine_store(d->d->engine);
	uint64_t head = engine_head(d->d->engine), after = 0;
	size_t n = 1;

	while (after < head && n > 0) {
		struct store_record *recs;

		if (store_read(store, after, PAGE, &d->arena, &recs, &n, NULL) < 0)
			return;
		for (size_t i = 0; i < n; i++) {
			after = recs[i].seq;
			dump_record(d, &recs[i]);
			for (uint64_t m = 0; m < MOMENTS; m++)
				if (after == 1 + head * m / MOMENTS)
					d->moments[m] = recs[i].at;
		}
		arena_reset(&d->arena);
	}
}

/* ---- what the operations say of it ---- */

static void dump_answer(struct dump *d, const char *name, enum op_id op, const value *params)
{
	const char *url = arena_printf(&d->arena, "sqlite:%s/store.db", disk_dir(d->s->disk)).p;
	struct op_daemon self = { .dir = "/sim/.overseer",
		.repo = "/sim",
		.store_url = url,
		.instance = "sim",
		.config_problem = "" };
	struct op_ctx cx = { .arena = &d->arena,
		.config = d->s->config,
		.daemon = &self,
		.now = sim_now(d->s) };
	value *v = value_object(&d->arena), *doc = NULL;
	struct ov_err err = { 0 };

	put(d, v, "report", str_from(name));
	value_put(&d->arena, v, "params", value_copy(&d->arena, params));
	if (op_handler(&op_rows[op])(&cx, params, &doc, &err) == 0)
		value_put(&d->arena, v, "doc", doc);
	else
		put(d, v, "error", str_from(err.msg));
	line_of(d, v);
	arena_reset(&d->arena);
}

static void dump_goal(struct dump *d, str id)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *params = value_object(&a);

	value_put(&a, params, "goal", value_str(&a, id));
	dump_answer(d, "goal", OP_report_goal, params);
	dump_answer(d, "detectors", OP_report_detectors, params);
}

static void dump_periods(struct dump *d)
{
	for (int m = 0; m < MOMENTS; m++) {
		_cleanup_(arena_done) struct arena a = ARENA_INIT;
		value *params = value_object(&a);

		value_put(&a, params, "since", value_time(&a, d->moments[m]));
		dump_answer(d, "period", OP_report_period, params);
	}
}

/* ---- rescue refs ---- */

static value *owner_view(struct dump *d, str ref, str commit)
{
	struct rescue_owner o;
	value *v = value_object(&d->arena);
	str rest = ref, id = STR("");

	while (str_split(&rest, '/', &id))
		;
	if (!rescue_owners_find(d->owners, id, commit, &o))
		return v;
	put(d, v, "goal", o.goal);
	put(d, v, "node", o.node);
	put(d, v, "assignment", o.assignment);
	put(d, v, "run", o.run);
	put(d, v, "base", o.base);
	put(d, v, "why", str_from(o.why));
	return v;
}

static void dump_rescued(struct dump *d)
{
	struct simgit_rescued *list;
	size_t n;

	simgit_rescued(d->s->git, &d->arena, &list, &n);
	for (size_t i = 0; i < n; i++) {
		value *v = value_object(&d->arena), *runs = value_array(&d->arena);

		put(d, v, "ref", list[i].ref);
		put(d, v, "commit", list[i].commit);
		value_put(&d->arena, v, "on_target", value_bool(&d->arena, list[i].on_target));
		value_put(&d->arena, v, "changed", value_int(&d->arena, (int64_t)list[i].changed));
		for (size_t j = 0; j < list[i].runs_n; j++)
			value_push(&d->arena, runs, value_str(&d->arena, list[i].runs[j]));
		value_put(&d->arena, v, "runs", runs);
		value_put(&d->arena, v, "owner", owner_view(d, list[i].ref, list[i].commit));
		line_of(d, pair(d, "rescued", v));
	}
}

void dump_reports(struct sim *s, FILE *f)
{
	struct dump d = { .s = s, .d = daemon_up(s), .f = f };
	value *seed = value_object(&d.arena);

	value_put(&d.arena, seed, "number", value_int(&d.arena, (int64_t)s->o.seed));
	value_put(&d.arena, seed, "now", value_int(&d.arena, sim_now(s)));
	line_of(&d, pair(&d, "seed", seed));
	arena_reset(&d.arena);
	if (d.d) {
		const struct state *state = engine_state(d.d->engine);

		disk_set_life(s->disk, (unsigned)d.d->life);
		d.owners = rescue_owners_new(1);
		dump_log(&d);
		for (size_t i = 0; i < state->goals.n; i++)
			dump_goal(&d, state->goals.p[i]->id);
		dump_answer(&d, "detectors", OP_report_detectors, value_object(&d.arena));
		dump_periods(&d);
		dump_rescued(&d);
		rescue_owners_free(d.owners);
	}
	arena_done(&d.arena);
}
