/* What really happened, and what a check of the work would find: for the invariants. */
#include "base/str.h"
#include "tests/sim/machine_impl.h"
#include "tests/sim/simgit.h"

unsigned machine_taken(const struct machine *m, str dispatch_id)
{
	const struct taken *t = map_get(&m->taken, dispatch_id);

	return t ? t->times : 0;
}

unsigned machine_agents_at(const struct machine *m, str goal_id, str node_id)
{
	unsigned n = 0;

	for (size_t i = 0; i < m->live.n; i++)
		if (str_eq(m->live.p[i]->spec.node_id, node_id) &&
				str_eq(m->live.p[i]->spec.goal_id, goal_id))
			n += 1 + m->live.p[i]->copies;
	return n;
}

unsigned machine_agents_in(const struct machine *m, str worktree)
{
	unsigned n = 0;

	for (size_t i = 0; i < m->live.n; i++)
		if (str_eq(m->live.p[i]->spec.worktree, worktree))
			n += 1 + m->live.p[i]->copies;
	return n;
}

unsigned machine_alive(const struct machine *m)
{
	return (unsigned)m->live.n;
}

bool machine_strong_life(const struct machine *m, str run_id, ov_time within)
{
	const struct sim_run *r = map_get(&m->runs, run_id);

	return r && (r->busy || r->strong_at + within > m->s->t);
}

/* Whoever keeps sessions tells what it does; what it calls takes its processor. */
enum activity machine_doing(const struct sim_run *r, str *ret_tool)
{
	static const char *const tools[] = { "Bash", "Read" };

	*ret_tool = STR("");
	if (!r->spec.keeps)
		return ACTIVITY_UNSAID;
	if (!r->busy || r->spec.late)
		return r->spoken_at ? ACTIVITY_THINKING : ACTIVITY_STARTING;
	*ret_tool = str_from(tools[r->at % ARRAY_LEN(tools)]);
	return ACTIVITY_TOOL;
}

ov_time machine_busy_since(const struct sim_run *r)
{
	return r->alive && r->busy ? r->busy_since : 0;
}

ov_time machine_still_since(const struct sim_run *r)
{
	return r->busy || !r->alive || r->held ? 0
					       : MAX(MAX(r->acted_at, r->strong_at), r->started_at);
}

ov_time machine_longest_silence(const struct sim_run *r)
{
	return r->longest_silence;
}

unsigned machine_wait_number(const struct sim_run *r)
{
	return r->waits_n;
}

ov_time machine_waits_since(const struct sim_run *r)
{
	return r->waits_since;
}

unsigned machine_orphans(const struct machine *m)
{
	return m->orphans;
}

void machine_sabotage_second(struct machine *m, str run_id)
{
	struct sim_run *r = map_get(&m->runs, run_id);

	if (!r || !r->alive)
		return;
	r->copies++;
	taken_of(m, r->spec.dispatch_id)->times++;
}

void machine_sabotage_deafness(struct machine *m, bool no_dedupe)
{
	m->no_dedupe = no_dedupe;
}

bool machine_check_passes(struct machine *m, str worktree)
{
	const struct sim_run *r = map_get(&m->places, worktree);

	for (size_t i = 0; r && i < r->node->bad.n; i++)
		if (simgit_in_tree(m->s->git, worktree, r->node->bad.p[i].path) ==
				r->node->bad.p[i].content)
			return false;
	return true;
}

str machine_shared_file(struct arena *a, size_t i)
{
	return arena_printf(a, "shared-%zu", i % MACHINE_SHARED_FILES);
}
