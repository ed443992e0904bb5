/*
 * What runs do and how long they are silent, as app/watch/observe hears it: for core/state/habit to
 * learn from. The steps of a script are few and long; the many short calls and thoughts that a real
 * run has besides are noted when it begins, so that a handful of runs is enough to know an
 * agent by.
 */
#include "base/str.h"
#include "core/life/process_life.h"
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

void exec_doing(struct exec_run *er, const struct sim_run *r)
{
	struct observation *o = &er->seen;
	bool had = o->tool_in_flight;

	if (er->x->s->o.seed % 2)
		return;
	o->doing = machine_doing(r, &o->tool);
	o->tool_in_flight = o->doing == ACTIVITY_TOOL;
	if (o->tool_in_flight != had)
		o->tool_since = o->tool_in_flight ? sim_now(er->x->s) : 0;
}

void exec_silence_heard(struct exec_run *er, const struct sim_run *r)
{
	exec_doing(er, r);
	if (er->x->s->o.seed % 2 == 0)
		silence_hear(&er->silences, er->x->s->t, er->seen.doing, er->seen.tool);
}

/* As app/watch/observe judges it; what an agent idles at is learned of each run alone. */
bool exec_process_lives(struct exec_run *er, const struct sim_run *r, bool compares)
{
	ov_time now = er->x->s->t;
	int64_t own, tool;
	struct process_use use;
	struct process_rule rule = { .speaks = er->seen.doing != ACTIVITY_UNSAID,
		.tool_in_flight = er->seen.tool_in_flight,
		.idle_permille = er->idle_permille ? er->idle_permille : IDLE_UNKNOWN };
	bool life;

	machine_use(r, &own, &tool);
	use = (struct process_use){ .passed_ms = now - er->used_t,
		.own_cpu_ms = own - er->own_ms,
		.tool_cpu_ms = tool - er->tool_ms,
		.tool_lives = er->seen.tool_in_flight };
	life = compares && process_is_life(&rule, &use);
	if (compares && !life && !er->seen.tool_in_flight)
		er->idle_permille = process_idle(rule.idle_permille, &use);
	er->own_ms = own;
	er->tool_ms = tool;
	er->used_t = now;
	return life;
}
