/* The HTTP side: JSON-RPC, live events, metrics and health. */
#include <unistd.h>

#include "app/daemon/callers.h"
#include "app/daemon/daemon_impl.h"
#include "app/vital/watchdog.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "core/explain/explain.h"
#include "core/model/limits.h"
#include "core/state/usage.h"
#include "core/view/view.h"
#include "data/id/sha256.h"
#include "data/value/json.h"
#include "net/rpchttp.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"
#include "sys/host/rand.h"
#include "version.h"

enum { TOKEN_BYTES = 32 };

static void handle_rpc(void *user, struct http_req *req)
{
	rpchttp_handle(req, callers_http(user, req), server_call, user);
}

static void handle_events(void *user, struct http_req *req)
{
	struct daemon *d = user;

	ssehub_subscribe(d->hub, req);
}

static void handle_health(void *user, struct http_req *req)
{
	struct daemon *d = user;
	value *v = value_object(req->arena);

	value_put(req->arena, v, "ok", value_bool(req->arena, !d->store_failing));
	value_put(req->arena, v, "version", value_cstr(req->arena, OV_VERSION));
	value_put(req->arena, v, "instance", value_cstr(req->arena, d->self.instance));
	value_put(req->arena, v, "degraded", value_bool(req->arena, d->safe.on));
	if (d->safe.on)
		value_put(req->arena, v, "reason", value_cstr(req->arena, d->refusal.msg));
	if (d->store_failing)
		value_put(req->arena, v, "reason",
				value_cstr(req->arena, "the store refuses to be written"));
	http_answer_json(req, d->store_failing ? 503 : 200, v);
}

static void metric(struct buf *b, const char *name, const char *type, const char *help, int64_t v)
{
	buf_addf(b, "# HELP overseer_%s %s\n# TYPE overseer_%s %s\noverseer_%s %lld\n", name, help,
			name, type, name, (long long)v);
}

/* One time series per status of a table. */
static void metric_counts(struct buf *b, const char *name, const char *help,
		const struct status_table *t, const size_t *counts)
{
	buf_addf(b, "# HELP overseer_%s %s\n# TYPE overseer_%s gauge\n", name, help, name);
	for (int i = 0; i < t->n; i++)
		buf_addf(b, "overseer_%s{status=\"%s\"} %zu\n", name, t->names[i], counts[i]);
}

static int64_t resident_bytes(void)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	str text, field;
	uint64_t pages = 0;

	if (file_read(&a, "/proc/self/statm", 4096, &text, NULL) < 0)
		return 0;
	(void)str_split(&text, ' ', &field);
	if (str_split(&text, ' ', &field))
		(void)str_to_u64(field, &pages);
	return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

/* As the text format wants the value of a label. */
static void add_label(struct buf *b, str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '"' || s.p[i] == '\\')
			buf_addc(b, '\\');
		buf_addc(b, s.p[i] == '\n' ? ' ' : s.p[i]);
	}
}

/* What has ended, by agent: what runs is counted at its end, so that a counter never falls. */
static void metric_usage(struct buf *b, const struct state *s)
{
	static const struct {
		const char *key, *name, *help;
	} counters[] = {
		{ "runs", "agent_runs_total", "Runs that have ended." },
		{ "tokens", "agent_tokens_total", "Tokens of runs that have ended." },
		{ "cost_microusd", "agent_cost_microusd_total",
				"Known cost of runs that have ended, in millionths of a dollar." },
		{ "unpriced_runs", "agent_unpriced_runs_total",
				"Runs that have ended whose cost is not known." },
	};
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct usage_query q = { .by = USAGE_AGENT, .ended = true };
	const value *rows = value_at(usage_view(&a, s, &q), "rows");

	for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
		buf_addf(b, "# HELP overseer_%s %s\n# TYPE overseer_%s counter\n", counters[i].name,
				counters[i].help, counters[i].name);
		for (size_t k = 0; k < value_count(rows); k++) {
			buf_addf(b, "overseer_%s{agent=\"", counters[i].name);
			add_label(b, value_str_at(value_item(rows, k), "key"));
			buf_addf(b, "\"} %lld\n",
					(long long)value_int_at(value_item(rows, k),
							counters[i].key));
		}
	}
}

/* What oversight found and did, how the goals are, and whether people could be told. */
static void metric_oversight(struct buf *b, const struct state *s)
{
	size_t healths[GOAL_HEALTH_COUNT] = { 0 }, told[NOTICE_STATUS_COUNT] = { 0 };

	metric(b, "iterations_total", "counter", "Runs that were analysed.", s->tally.iterations);
	buf_addf(b,
			"# HELP overseer_detections_total Patterns found in iterations.\n"
			"# TYPE overseer_detections_total counter\n");
	for (int i = 0; i < DETECTOR_COUNT; i++)
		for (int k = SEVERITY_LOW; k < SEVERITY_COUNT; k++)
			buf_addf(b, "overseer_detections_total{type=\"%s\",severity=\"%s\"} %d\n",
					status_name(&detectors, i), status_name(&severities, k),
					(int)s->tally.found[k][i]);
	buf_addf(b,
			"# HELP overseer_interventions_total Answers to detections.\n"
			"# TYPE overseer_interventions_total counter\n");
	for (int i = LEVEL_LOG; i < LEVEL_COUNT; i++)
		buf_addf(b, "overseer_interventions_total{level=\"%s\"} %d\n",
				status_name(&levels, i), (int)s->tally.answered[i]);
	for (size_t i = 0; i < s->notices.n; i++)
		told[s->notices.p[i]->status]++;
	metric_counts(b, "notices", "Notices to people outside, the newest, by status.",
			&notice_statuses, told);
	for (size_t i = 0; i < s->goals.n; i++)
		healths[s->goals.p[i]->health] += s->goals.p[i]->status == GOAL_ACTIVE ||
				s->goals.p[i]->status == GOAL_PAUSED;
	metric_counts(b, "goal_health", "Open goals by health.", &goal_healths, healths);
}

static void metric_watch(struct buf *b, const char *dir)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const value *w = watchdog_view(&a, dir, clock_wall());

	metric(b, "watchdog_up", "gauge", "1 while a watchdog looks after the daemon.",
			value_bool_at(w, "alive"));
	metric(b, "watchdog_restarts", "gauge", "Starts of the daemon after failures, in 24 hours.",
			value_int_at(w, "restarts_24h"));
}

static void metric_loop(struct buf *b, const struct loop *l)
{
	static const char *const names[LOOP_CAUSES] = { "io", "timer", "signal", "exit", "file",
		"deferred" };

	metric(b, "loop_iterations_total", "counter", "Iterations of the event loop.",
			(int64_t)loop_iterations(l));
	buf_addf(b,
			"# HELP overseer_loop_callbacks_total What the event loop woke up for.\n"
			"# TYPE overseer_loop_callbacks_total counter\n");
	for (int i = 0; i < LOOP_CAUSES; i++)
		buf_addf(b, "overseer_loop_callbacks_total{cause=\"%s\"} %llu\n", names[i],
				(unsigned long long)loop_callbacks(l, (enum loop_cause)i));
}

static void handle_metrics(void *user, struct http_req *req)
{
	struct daemon *d = user;
	const struct state *s = engine_state(d->engine);
	size_t goals[GOAL_STATUS_COUNT] = { 0 }, nodes[NODE_STATUS_COUNT] = { 0 },
	       runs[RUN_STATUS_COUNT] = { 0 };
	size_t open_escalations = 0;
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	for (size_t i = 0; i < s->goals.n; i++) {
		goals[s->goals.p[i]->status]++;
		for (size_t k = 0; k < s->goals.p[i]->nodes.n; k++)
			if (node_is_leaf(s->goals.p[i]->nodes.p[k]))
				nodes[s->goals.p[i]->nodes.p[k]->status]++;
	}
	list_each (it, &s->runs)
		runs[list_entry(it, struct run, link)->status]++;
	for (size_t i = 0; i < s->escalations.n; i++)
		open_escalations += s->escalations.p[i]->status == ESC_OPEN;
	metric(&b, "events_total", "counter", "Events in the log.", (int64_t)s->seq);
	metric_counts(&b, "goals", "Goals by status.", &goal_statuses, goals);
	metric_counts(&b, "nodes", "Nodes without children by status.", &node_statuses, nodes);
	metric_counts(&b, "runs", "Runs of live assignments by status.", &run_statuses, runs);
	metric_usage(&b, s);
	metric_oversight(&b, s);
	metric(&b, "escalations_open", "gauge", "Questions that wait for a person.",
			(int64_t)open_escalations);
	metric(&b, "jobs_running", "gauge", "Git and check jobs under way.",
			(int64_t)executor_busy(d->executor));
	metric_loop(&b, d->loop);
	metric(&b, "resident_bytes", "gauge", "Resident memory.", resident_bytes());
	metric(&b, "store_failing", "gauge", "1 while the store refuses to be written.",
			d->store_failing);
	metric(&b, "safe_mode", "gauge", "1 while the store is damaged and nothing is written.",
			d->safe.on);
	metric_watch(&b, d->o->dir);
	http_answer(req, 200, "text/plain; version=0.0.4; charset=utf-8", buf_str(&b));
}

static const struct httpd_route routes[] = {
	{ .method = "POST",
			.path = "/rpc",
			.max_body = LIMIT_REQUEST_BYTES,
			.handler = handle_rpc },
	{ .method = "GET", .path = "/events", .handler = handle_events },
	{ .method = "GET", .path = "/metrics", .handler = handle_metrics },
	{ .method = "GET", .path = "/healthz", .flags = HTTPD_OPEN, .handler = handle_health },
};

/* The token is made once per store and stays, so that scripts and open pages survive a restart. */
static int load_token(struct daemon *d, struct ov_err *err)
{
	const char *path = path_join(&d->arena, d->o->dir, "token");
	uint8_t random[TOKEN_BYTES];
	char hex[2 * TOKEN_BYTES + 1];
	int r = file_read(&d->arena, path, 4096, &d->token, err);

	if (r == 0) {
		d->token = str_trim(d->token);
		return d->token.n ? 0
				  : ov_fail(err, OV_EINVALID,
						    "%s is empty; remove it to get a new token",
						    path);
	}
	if (r != OV_ENOTFOUND)
		return r;
	rand_bytes(random, sizeof(random));
	hex_format(random, sizeof(random), hex);
	d->token = arena_str(&d->arena, str_from(hex));
	return file_write_atomic(path, d->token, 0600, err);
}

static int replay(void *user, uint64_t after, size_t max, struct arena *a,
		struct ssehub_event **ret, size_t *ret_n, struct ov_err *err)
{
	struct daemon *d = user;
	struct store_record *recs;
	size_t n;
	int r = store_read(engine_store(d->engine), after, max, a, &recs, &n, err);

	if (r < 0)
		return r;
	*ret = arena_array(a, struct ssehub_event, n + 1);
	for (size_t i = 0; i < n; i++) {
		struct event e;
		value *v;

		r = event_decode(a, recs[i].seq, recs[i].at, recs[i].kind, recs[i].body, &e, err);
		if (r < 0)
			return r;
		v = event_view(a, &e);
		value_put(a, v, "text", value_str(a, explain_event(a, &e)));
		(*ret)[i] = (struct ssehub_event){ e.seq, str_from(event_name(e.kind)),
			json_text(a, v) };
	}
	*ret_n = n;
	return 0;
}

int http_open(struct daemon *d, struct ov_err *err)
{
	struct httpd_options o = {
		.port = (uint16_t)d->config->http_port,
		.routes = routes,
		.route_count = ARRAY_LEN(routes),
		.user = d,
	};
	struct ssehub_options hub = { .head = engine_state(d->engine)->seq,
		.replay = replay,
		.user = d };
	int r;

	d->hub = ssehub_new(d->loop, &hub);
	if (!d->config->http_enabled)
		return 0;
	r = load_token(d, err);
	o.token = d->token;
	if (r == 0)
		r = httpd_open(d->loop, &o, &d->httpd, err);
	if (r < 0)
		return ov_wrap(err, r, "http");
	d->self.http_port = httpd_port(d->httpd);
	return 0;
}

void http_close(struct daemon *d)
{
	if (d->httpd)
		httpd_close(d->httpd);
	d->httpd = NULL;
	d->hub = ssehub_free(d->hub);
}
