/* The planner, as a model that answers well, badly, late or not at all. */
#include <stdio.h>

#include "base/err.h"
#include "base/str.h"
#include "data/value/json.h"
#include "tests/sim/exec_impl.h"

enum { TASKS_MAX = 5 };

/* A plan for a goal: a chain, a fan, or something between. */
static void add_plan(struct sim *s, struct buf *b)
{
	size_t n = 1 + sim_below(s, RNG_EXEC, TASKS_MAX);

	buf_adds(b, STR("{\"phases\": [{\"id\": \"P1\", \"name\": \"work\", \"tasks\": ["));
	for (size_t i = 1; i <= n; i++) {
		buf_addf(b,
				"%s{\"id\": \"T1.%zu\", \"name\": \"task %zu\", \"acceptance\": "
				"[\"it works\"]",
				i > 1 ? ", " : "", i, i);
		if (i > 1 && sim_odds(s, RNG_EXEC, 500))
			buf_addf(b, ", \"deps\": [\"T1.%zu\"]", 1 + sim_below(s, RNG_EXEC, i - 1));
		/* More than a model may say: nothing of such a plan is used. */
		if (sim_odds(s, RNG_EXEC, 50))
			buf_adds(b, STR(", \"priority\": 1"));
		buf_addc(b, '}');
	}
	buf_adds(b, STR("]}]}"));
}

/* The node split into parts, whose ids are new. */
static void add_split(struct exec_task *t, struct buf *b)
{
	size_t n = 1 + sim_below(t->x->s, RNG_EXEC, 3);

	buf_addf(b,
			"{\"phases\": [{\"id\": \"P1\", \"name\": \"p\", \"tasks\": [{\"id\": "
			"\"" STR_FMT
			"\", \"name\": \"x\", \"acceptance\": [\"x\"], \"subtasks\": [",
			STR_ARG(t->node_id));
	for (size_t i = 0; i < n; i++)
		buf_addf(b,
				"%s{\"id\": \"S%llu.%zu\", \"name\": \"part\", \"acceptance\": "
				"[\"x\"]}",
				i ? ", " : "",
				(unsigned long long)sim_below(t->x->s, RNG_EXEC, 1000000), i);
	buf_adds(b, STR("]}]}]}"));
}

void exec_plan(struct exec_task *t)
{
	static const char *const advices[] = { "nudge", "resend", "replan", "reassign",
		"escalate" };
	struct sim *s = t->x->s;
	const struct goal *g = state_goal(exec_state(t->x), t->goal_id);
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	value *data;
	int r;

	if (!g || sim_odds(s, RNG_EXEC, 150)) {
		exec_tell(t, "error", STR("the model did not answer"), NULL);
		return;
	}
	buf_addf(&b,
			"{\"template_id\": \"t\", \"template_hash\": \"h\", \"model_ref\": \"m\", "
			"\"tokens_in\": 500, \"tokens_out\": 600, \"plan_version\": %lld, "
			"\"actions\": [{\"type\": \"%s\", \"message\": \"go on\", \"question\": "
			"\"which?\", \"options\": [\"done\", \"other\"]}], \"plan\": ",
			(long long)g->plan_version,
			advices[sim_below(s, RNG_EXEC, ARRAY_LEN(advices))]);
	if (str_is(t->purpose, "create"))
		add_plan(s, &b);
	else
		add_split(t, &b);
	buf_addc(&b, '}');
	r = json_parse(&t->arena, buf_str(&b), NULL, &data, NULL);
	assert(r == 0);
	exec_tell(t, "ok", STR(""), data);
}
