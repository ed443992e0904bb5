/*
 * What runs do and how long they are silent, as app/observe hears it: for core/habit to learn from. The
 * steps of a script are few and long; the many short calls and thoughts that a real run has besides are
 * noted when it begins, so that a handful of runs is enough to know an agent by.
 */
#include "base/str.h"
#include "tests/sim/exec_impl.h"

/* In every second world something is learned; in some of them agents that are silent for long. */
ov_time exec_silence_usual(const struct sim *s, str agent)
{
	uint64_t drawn = str_hash(agent, s->o.seed);

	if (s->o.seed % 2)
		return 0;
	return drawn % 4 ? (20 + (ov_time)(drawn % 80)) * OV_SECOND
			 : (2 + (ov_time)(drawn % 20)) * OV_MINUTE;
}

static void note_usual(struct exec_run *er, enum activity doing, const char *tool, ov_time most)
{
	ov_time at = 0;

	silence_hear(&er->silences, at, doing, str_from(tool));
	for (int i = 0; i < SILENCE_SAMPLES; i++) {
		at += OV_SECOND +
				(ov_time)(str_hash(er->id, (uint64_t)(i + (int)doing)) %
						(uint64_t)most);
		silence_hear(&er->silences, at, doing, str_from(tool));
	}
	silence_spoil(&er->silences);
}

void exec_silence_begin(struct exec_run *er, bool fresh)
{
	struct sim_exec *x = er->x;
	const struct run *run = state_run(exec_state(x), er->id);
	const struct policy_agent *agent = run ? policy_agent(&x->s->config->policy, run->agent)
					       : NULL;
	ov_time most = run ? exec_silence_usual(x->s, run->agent) : 0;

	if (!(x->s->o.seed % 2) && agent && agent->format && agent->format->structured)
		er->seen.doing = ACTIVITY_STARTING;
	if (!fresh || !most)
		return;
	if (er->seen.doing == ACTIVITY_STARTING) {
		note_usual(er, ACTIVITY_THINKING, "", most);
		note_usual(er, ACTIVITY_TOOL, "Bash", most);
	} else {
		note_usual(er, ACTIVITY_UNSAID, "", most);
	}
}

void exec_silence_heard(struct exec_run *er, const struct sim_run *r)
{
	struct observation *o = &er->seen;
	str tool;

	if (er->x->s->o.seed % 2)
		return;
	o->doing = machine_doing(r, &tool);
	o->tool_in_flight = o->doing == ACTIVITY_TOOL;
	o->tool = tool;
	o->tool_since = o->tool_in_flight ? sim_now(er->x->s) : 0;
	silence_hear(&er->silences, er->x->s->t, o->doing, tool);
}
