/*
 * Commands of the user's that are not about one worktree: the pool that gives out tasks, and what
 * runs after an accept. What the pool has given out, and what the file of an answer holds, is the
 * world's and outlives daemons: s->pool.
 */
#include "base/str.h"
#include "tests/sim/exec_impl.h"

#define REPEATS_MAX 50

void exec_post(struct exec_task *t)
{
	if (sim_odds(t->x->s, RNG_EXEC, 150))
		exec_tell(t, "failed", STR("exit status 1\nit could not be deployed"), NULL);
	else
		exec_tell(t, "ok", STR("deployed"), NULL);
}

static struct sim_question *answer(struct exec_task *t)
{
	struct sim *s = t->x->s;

	for (size_t i = 0; i < s->pool.n; i++)
		if (str_eq(str_from(s->pool.p[i].effect), t->effect_id))
			return &s->pool.p[i];
	return NULL;
}

/*
 * How the command ends: with a task, with none, or it fails. The one of a night fails more often.
 */
static int exit_draw(struct sim *s)
{
	size_t kind = sim_below(s, RNG_POOL, 40), fails = s->o.night ? 36 : 39;

	return kind < 30 && s->tasks < s->setup.tasks ? 0 : kind < fails ? 4 : 3;
}

/* The command answers, into its file. */
static struct sim_question *ask(struct exec_task *t)
{
	struct sim *s = t->x->s;
	struct sim_question *q;

	vec_push(&s->pool, (struct sim_question){ 0 });
	q = &s->pool.p[s->pool.n - 1];
	sim_name(q->effect, t->effect_id);
	q->exit_code = exit_draw(s);
	/*
	 * Some pools give out what they gave out before; one that never stops has no end to judge.
	 */
	q->again = q->exit_code == 4 && s->tasks && !s->o.night && sim_odds(s, RNG_POOL, 50) &&
			s->repeated < REPEATS_MAX;
	if (q->again) {
		s->repeated++;
		q->exit_code = 0;
		q->task = 1 + (int64_t)sim_below(s, RNG_POOL, (size_t)s->tasks);
	} else {
		q->task = q->exit_code ? 0 : ++s->tasks;
	}
	return q;
}

void exec_pool(struct exec_task *t)
{
	const struct sim_question *q = answer(t);
	struct arena *a = &t->arena;
	value *data = value_object(a);
	str text;

	if (!q)
		q = ask(t);
	text = arena_printf(a, "task %lld of the pool", (long long)q->task);
	value_put(a, data, "exit_code", value_int(a, q->uncertain ? -1 : q->exit_code));
	if (q->task)
		value_put(a, data, "text", value_str(a, text));
	if (q->uncertain)
		exec_tell(t, "uncertain", STR("it was cut off"), data);
	else if (q->exit_code == 3)
		exec_tell(t, "failed", STR("exit status 3"), data);
	else
		exec_tell(t, q->task ? "task" : "none", STR("the pool has answered"), data);
}

/* It goes on without us, or dies with what it has written, or before it has taken a task. */
void exec_pool_cut(struct exec_task *t)
{
	struct sim *s = t->x->s;
	size_t how = sim_below(s, RNG_POOL, 3);
	struct sim_question *q;

	if (how == 0 || answer(t))
		return;
	q = ask(t);
	q->uncertain = how == 1 && q->task;
}
