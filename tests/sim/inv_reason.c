/* Whoever looks sees why something does not go on: judged by what the real operations answer. */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "tests/sim/check_impl.h"
#include "tests/sim/disk.h"
#include "tests/sim/exec.h"

/*
 * How often it is looked at, how often while something is only about to begin, and how long it
 * may be so.
 */
#define REASONS_EVERY (20 * OV_MINUTE)
#define REASONS_SOON OV_MINUTE
#define ABOUT_TO_MOST (10 * OV_MINUTE)

enum { EXPLAINED = 3 }; /* in one look: each reads the log */

static const value *answer_to(struct checker *c, const char *name, const value *params)
{
	static const struct op_daemon self = { .dir = "/sim/.overseer",
		.repo = "/sim",
		.store_url = "sqlite:store.db",
		.instance = "sim",
		.config_problem = "",
		.pid = 1 };
	struct op_ctx cx = { .arena = &c->scratch,
		.state = c->state,
		.store = engine_store(c->up->engine),
		.config = c->s->config,
		.daemon = &self,
		.observations = exec_observations(c->up->exec),
		.now = sim_now(c->s) };
	struct ov_err err = { 0 };
	const struct op *op;
	value *ret = NULL;

	if (op_find(str_from(name), params, &op, &err) < 0 ||
			op_handler(op)(&cx, params, &ret, &err) < 0)
		sim_violated(c->s, inv_reason_shown.name, "%s: %s", name, err.msg);
	return ret;
}

static const value *row_of(const value *list, const struct node *n)
{
	for (size_t i = 0; i < value_count(list); i++)
		if (str_eq(value_str_at(value_item(list, i), "node"), n->id) &&
				str_eq(value_str_at(value_item(list, i), "goal"), n->goal->id))
			return value_item(list, i);
	return NULL;
}

static void not_shown(struct checker *c, const struct node *n, const char *what, str said)
{
	sim_violated(c->s, inv_reason_shown.name, STR_FMT " is %s, and %s: \"" STR_FMT "\"",
			STR_ARG(n->key), status_name(&node_statuses, (int)n->status), what,
			STR_ARG(said));
}

/*
 * That it is about to begin is a reason for a while only; nobody knows how the machine is, though.
 */
static void about_to(struct checker *c, const struct node *n, str said)
{
	struct node_book *b = book_node(c, n->goal->id, n->id);

	c->reason_t = c->s->t + REASONS_SOON;
	if (!b->about_t)
		b->about_t = c->s->t;
	else if (c->s->t - b->about_t > ABOUT_TO_MOST &&
			(sim_quiet(c->s) || !(c->s->setup.faults & 1u << FAULT_CAPACITY)))
		not_shown(c, n, "does not go on, though it is shown as about to", said);
}

/*
 * The reason that the queue gives is in status, too: in the row of its worker, or among those
 * of its kind.
 */
static void in_status(struct checker *c, const struct node *n, const value *row,
		const value *running, const value *status)
{
	const value *groups = value_at(status, "queued");
	str why = value_str_at(row, "why");

	if (running || n->goal->status != GOAL_ACTIVE || str_is(value_str_at(row, "state"), "next"))
		return;
	for (size_t i = 0; i < value_count(groups); i++)
		if (str_eq(value_str_at(value_item(groups, i), "why"), why))
			return;
	not_shown(c, n, "status does not give the reason that the queue gives", why);
}

/* In what `overseer queue list` and `overseer status` show of it. */
static bool is_listed(struct checker *c, const struct node *n, const value *queue,
		const value *status)
{
	const value *row = row_of(value_at(queue, "accept"), n),
		    *running = row_of(value_at(status, "running"), n);
	str why = value_str_at(running, "waiting_for"), state;

	row = row ? row : row_of(value_at(queue, "dispatch"), n);
	if (!row)
		return why.n > 0;
	in_status(c, n, row, running, status);
	state = value_str_at(row, "state");
	why = why.n ? why : value_str_at(row, "why");
	if (!why.n || c->reason_hidden)
		not_shown(c, n, "no reason is shown", why);
	else if (str_is(why, "it is its turn") || str_is(why, "it is about to be assigned") ||
			str_is(state, "accepting") || str_is(state, "stage"))
		about_to(c, n, why);
	else
		book_node(c, n->goal->id, n->id)->about_t = 0;
	return true;
}

static void explained(struct checker *c, const struct node *n)
{
	value *params = value_object(&c->scratch);
	const value *said;

	value_put(&c->scratch, params, "id", value_str(&c->scratch, n->key));
	said = value_at(answer_to(c, "explain.get", params), "conclusion");
	if (!value_str_at(said, "why").n || !value_str_at(said, "next").n || c->reason_hidden)
		not_shown(c, n, "nothing explains it", value_str_at(said, "why"));
	if (n->status == NODE_TODO && str_is(value_str_at(said, "why"), "waits for "))
		not_shown(c, n, "nobody says for what", value_str_at(said, "why"));
}

static bool goes_on(const struct node *n)
{
	const struct assignment *as = n->assignment;

	return (as && (as->effect || as->stage == STAGE_RUNNING)) ||
			(n->goal->effect && str_eq(n->goal->effect->node_id, n->id));
}

static void reasons_look(struct checker *c)
{
	const value *params = value_object(&c->scratch),
		    *status = answer_to(c, "status.get", params),
		    *queue = answer_to(c, "queue.list", params);
	size_t at = 0, left = EXPLAINED;

	for (size_t i = 0; i < c->state->goals.n; i++) {
		const struct goal *g = c->state->goals.p[i];

		for (size_t k = 0; (g->status == GOAL_ACTIVE || g->status == GOAL_PAUSED) &&
				k < g->nodes.n;
				k++) {
			const struct node *n = g->nodes.p[k];

			if (!node_is_leaf(n) || n->def.removed_in || node_is_final(n))
				continue;
			if (goes_on(n))
				book_node(c, g->id, n->id)->about_t = 0;
			else if (!is_listed(c, n, queue, status) && at++ >= c->reason_at && left) {
				explained(c, n);
				left--;
				c->reason_at++;
			}
		}
	}
	if (left)
		c->reason_at = 0;
}

/* A reading that the disk fails is no answer. */
static bool disk_fails(const struct checker *c)
{
	const uint32_t kinds = 1u << FAULT_DISK_FULL | 1u << FAULT_DISK_ERROR |
			1u << FAULT_KILL_WRITE | 1u << FAULT_TORN_WRITE | 1u << FAULT_POWER_CUT;

	return !sim_quiet(c->s) && (c->s->setup.faults & kinds);
}

static void reasons_step(struct checker *c)
{
	if (!c->state || c->s->t < c->reason_t || c->up->stopping || c->up->failing ||
			c->shadow->failing.n || c->shadow->outage_since || disk_fails(c))
		return;
	c->reason_t = c->s->t + REASONS_EVERY;
	reasons_look(c);
}

static void reasons_restart(struct checker *c)
{
	for (size_t i = 0; i < c->node_list.n; i++)
		c->node_list.p[i]->about_t = 0;
}

static bool reasons_sabotage(struct checker *c)
{
	c->reason_hidden = true;
	return true;
}

const struct invariant inv_reason_shown = {
	.name = "reason_shown",
	.sentence = "nothing waits without a reason that status, the queue or explain shows",
	.step = reasons_step,
	.restart = reasons_restart,
	.sabotage = reasons_sabotage,
};
