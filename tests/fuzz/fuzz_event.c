/*
 * Lines of "kind body" as a log: each is decoded and applied, or refused whole. Whatever was taken,
 * the state can be written, read back as it was, ticked, shown and freed.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/explain/explain.h"
#include "core/explain/explain_state.h"
#include "core/fold/apply.h"
#include "core/state/snapshot.h"
#include "core/tick/reconcile.h"
#include "core/view/view.h"
#include "data/value/json.h"

static const struct policy_agent agents[] = { { .name = STR("a"), .concurrency = 256 } };

static void look_at(struct arena *a, const struct state *s)
{
	struct policy policy = { .default_agent = STR("a"),
		.agents = agents,
		.agents_n = 1,
		.workers_max = 2,
		.retry_max_attempts = 3,
		.plan = PLAN_LIMITS_DEFAULT };
	struct world w = { s, &policy };
	struct telemetry none = { 0 };
	struct explain x = { a, s, &policy, NULL, s->at, STR("") };
	struct decisions d;

	oversight_preset(&policy.oversight, PRESET_DEFAULT);
	d = reconcile(a, &w, &none, s->at);
	(void)json_text(a, decisions_view(a, &d));
	(void)json_text(a, view_status(a, &w, STR(""), s->at));
	(void)json_text(a, view_queue(a, s, &policy, STR(""), s->at));
	for (size_t g = 0; g < s->goals.n; g++) {
		(void)json_text(a, explain_goal(&x, s->goals.p[g]));
		for (size_t i = 0; i < s->goals.p[g]->nodes.n; i++) {
			(void)json_text(a, explain_node(&x, s->goals.p[g]->nodes.p[i]));
			(void)view_node(a, s, s->goals.p[g]->nodes.p[i]);
		}
	}
	list_each (it, &s->live)
		(void)json_text(a, explain_assignment(&x, list_entry(it, struct assignment, link)));
	list_each (it, &s->runs)
		(void)json_text(a, explain_run(&x, list_entry(it, struct run, link)));
}

static void round_trip(const struct state *s)
{
	struct buf first = BUF_INIT, second = BUF_INIT;
	struct state *back;

	snapshot_write(&first, s);
	if (snapshot_read(buf_str(&first), 2, &back, NULL) == 0) {
		snapshot_write(&second, back);
		state_free(back);
	}
	buf_done(&first);
	buf_done(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	str rest = { (const char *)data, size }, line;
	struct arena a = ARENA_INIT;
	struct state *s = state_new(1);

	while (rest.n && str_split(&rest, '\n', &line)) {
		size_t space = str_find_byte(line, ' ');
		struct ov_err err = { 0 };
		struct event e;
		int r = event_decode(&a, s->seq + 1, 1800000000000, str_sub(line, 0, space),
				str_sub(line, space + 1, line.n), &e, &err);

		if (r == 0) {
			(void)explain_event(&a, &e);
			r = apply(s, &e, &err);
		}
		if (r < 0 && (err.code != r || !err.msg[0]))
			abort();
	}
	look_at(&a, s);
	round_trip(s);
	state_free(s);
	arena_done(&a);
	return 0;
}
