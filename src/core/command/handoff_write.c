/*
 * When handoffs are written: a node's when an assignment of it is over or the node itself is
 * finished, a parent's when its last part is, a goal's when it ends. Decided from the events of the
 * batch: the records are taken as those events will make them.
 */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/command/command_impl.h"
#include "core/decide/emit.h"
#include "core/intervene/aftermath.h"
#include "core/prompt/handoff.h"
#include "data/value/json.h"

/* What the batch says of a node: the newest event of each kind. */
struct note {
	const struct node *node;
	const struct event *status, *moved, *ended, *harvested, *verified, *accepted, *reverted,
			*reported;
	bool judged;    /* a parent: whether it is finished is known */
	value *handoff; /* written by this pass; NULL: none */
};

struct notes {
	struct decide_ctx *cx;
	size_t from; /* the batch begins there */
	struct map by_key;
	VEC(struct note *) list;
};

static bool ends_node(const struct event *e)
{
	return e->kind == EV_NODE_STATUS &&
			(as_node_status(e)->to == NODE_DONE ||
					as_node_status(e)->to == NODE_CANCELLED);
}

/* It has no further step: accepted, given up, blocked, or let go. */
static bool ends_assignment(const struct event *e)
{
	return e->kind == EV_ASSIGNMENT_MOVED && as_assignment_moved(e)->stage == STAGE_NONE;
}

static bool ends_goal(const struct event *e)
{
	return e->kind == EV_GOAL_STATUS &&
			(as_goal_status(e)->to == GOAL_COMPLETED ||
					as_goal_status(e)->to == GOAL_CANCELLED);
}

static const struct event **slot(struct note *n, enum event_kind kind)
{
	switch (kind) {
	case EV_NODE_STATUS: return &n->status;
	case EV_ASSIGNMENT_MOVED: return &n->moved;
	case EV_RUN_ENDED: return &n->ended;
	case EV_RUN_HARVESTED: return &n->harvested;
	case EV_RUN_VERIFIED: return &n->verified;
	case EV_NODE_ACCEPTED: return &n->accepted;
	case EV_NODE_REVERTED: return &n->reverted;
	case EV_NODE_REPORTED: return &n->reported;
	default: return NULL;
	}
}

static struct note *note_of(struct notes *ns, const struct node *n)
{
	struct note *note = map_get(&ns->by_key, n->key);

	if (note)
		return note;
	note = arena_new(ns->cx->arena, struct note);
	note->node = n;
	map_put(&ns->by_key, n->key, note);
	vec_push(&ns->list, note);
	return note;
}

static void read_batch(struct notes *ns, size_t from)
{
	for (size_t i = from; i < ns->cx->out->n; i++) {
		const struct event *e = ns->cx->out->p[i];
		struct note probe = { 0 };
		const struct node *n = e->node.n && slot(&probe, e->kind)
				? state_node(ns->cx->state, e->goal, e->node)
				: NULL;

		/* One that this very batch plans has not begun. */
		if (n)
			*slot(note_of(ns, n), e->kind) = e;
	}
}

static void emit_handoff(struct decide_ctx *cx, struct subject s, value *v, enum node_status status)
{
	value *c = value_object(cx->arena);

	value_put(cx->arena, c, "id", value_str(cx->arena, make_id(cx, "C_")));
	value_put(cx->arena, c, "goal_id", value_str(cx->arena, s.goal));
	if (s.node.n)
		value_put(cx->arena, c, "node_id", value_str(cx->arena, s.node));
	if (s.assignment.n)
		value_put(cx->arena, c, "assignment_id", value_str(cx->arena, s.assignment));
	if (s.run.n)
		value_put(cx->arena, c, "run_id", value_str(cx->arena, s.run));
	value_put(cx->arena, c, "status",
			value_cstr(cx->arena, status_name(&node_statuses, (int)status)));
	for (size_t i = 0; i < v->object.n; i++)
		value_set(cx->arena, c, v->object.members[i].key, v->object.members[i].value);
	value_put(cx->arena, c, "created_at", value_time(cx->arena, cx->now));
	emit_crystallized(cx, s)->crystallization = c;
}

/* ---- a node that was worked on ---- */

/* The run as the batch leaves it. Texts are borrowed. */
static struct run run_after(const struct run *r, const struct note *note)
{
	const struct ev_run_ended *ended = note->ended ? as_run_ended(note->ended) : NULL;
	const struct ev_run_harvested *harvested = note->harvested
			? as_run_harvested(note->harvested)
			: NULL;
	struct run x = *r;

	if (ended) {
		x.status = RUN_ENDED;
		x.lost = ended->lost;
		x.exit_code = ended->exit_code;
		x.signal = ended->signal;
		x.output_bytes = ended->output_bytes;
		x.dropped_bytes = ended->dropped_bytes;
		x.message = ended->message;
	}
	if (harvested) {
		x.commits = harvested->commits;
		x.files_changed = harvested->files_changed;
		x.leftovers = harvested->leftovers;
		x.files = (struct strs){ harvested->files.p, harvested->files.n };
		x.commit_ids = (struct strs){ harvested->commit_ids.p, harvested->commit_ids.n };
	}
	if (note->verified) {
		x.verification = as_run_verified(note->verified)->verdict;
		x.verification_detail = as_run_verified(note->verified)->detail;
	}
	return x;
}

static enum node_status status_after(const struct node *n, const struct note *note)
{
	return note && note->status ? as_node_status(note->status)->to : n->status;
}

static struct node node_after(struct arena *a, const struct note *note)
{
	struct node x = *note->node;
	_cleanup_(buf_done) struct buf text = BUF_INIT;

	x.status = status_after(&x, note);
	if (note->status) {
		x.status_reason = as_node_status(note->status)->reason;
		x.block.when = as_node_status(note->status)->unblock_when;
		if (as_node_status(note->status)->words)
			x.told.words = x.status_reason;
	}
	/*
	 * What a person tells the next agent is nothing that was seen of the last one, or said
	 * by it.
	 */
	if (x.told.words.n && !node_is_final(&x) && str_eq(x.told.words, x.status_reason))
		x.status_reason = STR("a person unblocked it");
	if (note->accepted)
		x.work.commit = as_node_accepted(note->accepted)->commit;
	if (note->reverted)
		x.work.commit = STR("");
	if (note->reported && !as_node_reported(note->reported)->error.n) {
		json_write_canonical(&text, as_node_reported(note->reported)->update);
		x.report.merged = arena_str(a, buf_str(&text));
		x.report.at = note->reported->at;
	}
	return x;
}

/* The one whose end is written down: it may be over already, or be ended by the node's end. */
static const struct assignment *assignment_of(struct decide_ctx *cx, const struct note *note)
{
	const struct assignment *as = note->node->assignment;

	return note->moved ? state_assignment(cx->state, note->moved->assignment) : as;
}

static void write_leaf(struct notes *ns, struct note *note)
{
	struct decide_ctx *cx = ns->cx;
	bool over = note->moved && ends_assignment(note->moved);
	bool done = note->status && ends_node(note->status) &&
			status_after(note->node, note) == NODE_DONE;
	const struct assignment *as = assignment_of(cx, note);
	struct handoff_leaf l = { .check_command = check_command(cx, note->node) };
	struct subject about = about_node(note->node);
	struct assignment as_now;
	struct node node;
	struct run run;

	/*
	 * What nobody has worked on leaves nothing behind, unless somebody says that it is done.
	 * What was worked on may have been split meanwhile: its parts are told what there was.
	 */
	if (!done && !(over && as && as->run))
		return;
	node = node_after(cx->arena, note);
	l.node = &node;
	if (done && as_node_status(note->status)->override)
		l.person = note->status->actor;
	if (as) {
		as_now = *as;
		if (note->harvested)
			as_now.head = as_run_harvested(note->harvested)->head;
		l.assignment = &as_now;
		about = about_assignment(as);
	}
	if (as && as->run) {
		run = run_after(as->run, note);
		l.run = &run;
	}
	l.oversight = aftermath_lines(cx, ns->from, note->node->goal, note->node);
	note->handoff = handoff_leaf(cx->arena, &l);
	if (as) {
		value_put(cx->arena, note->handoff, "agent", value_str(cx->arena, as->agent));
		value_put(cx->arena, note->handoff, "session_key",
				value_str(cx->arena, as->session_key));
	}
	emit_handoff(cx, about, note->handoff, node.status);
}

/* ---- a whole ---- */

/* Finished once the batch is applied? */
static bool final_after(struct notes *ns, const struct node *n)
{
	enum node_status s = status_after(n, map_get(&ns->by_key, n->key));

	if (node_is_leaf(n))
		return s == NODE_DONE || s == NODE_CANCELLED;
	for (size_t i = 0; i < n->children.n; i++)
		if (!final_after(ns, n->children.p[i]))
			return false;
	return true;
}

static enum node_status whole_after(struct notes *ns, const struct node *n)
{
	if (node_is_leaf(n))
		return status_after(n, map_get(&ns->by_key, n->key));
	for (size_t i = 0; i < n->children.n; i++)
		if (whole_after(ns, n->children.p[i]) == NODE_DONE)
			return NODE_DONE;
	return NODE_CANCELLED;
}

static void add_part(struct notes *ns, const struct node *n, struct handoff_part *ret)
{
	const struct note *note = map_get(&ns->by_key, n->key);
	const value *handoff = note ? note->handoff : NULL;

	if (!handoff && n->handoff)
		handoff = record_pack(ns->cx->arena, &crystallization_record, n->handoff);
	*ret = (struct handoff_part){ n->id, n->def.name, whole_after(ns, n), handoff };
}

static void write_whole(struct notes *ns, struct note *note)
{
	const struct node *n = note->node;
	struct handoff_part *parts = arena_array(ns->cx->arena, struct handoff_part, n->children.n);

	for (size_t i = 0; i < n->children.n; i++)
		add_part(ns, n->children.p[i], &parts[i]);
	note->handoff = handoff_whole(ns->cx->arena, parts, n->children.n, NULL);
	emit_handoff(ns->cx, about_node(n), note->handoff, whole_after(ns, n));
}

/* Parents of this tier that have nothing open any more since this batch; lower tiers come first. */
static void write_wholes(struct notes *ns, enum node_tier tier)
{
	for (size_t i = 0; i < ns->list.n; i++) {
		const struct note *note = ns->list.p[i];

		if (!note->status || !ends_node(note->status))
			continue;
		for (const struct node *p = note->node->parent; p; p = p->parent) {
			struct note *whole = p->def.tier == tier ? note_of(ns, p) : NULL;

			if (!whole || whole->judged)
				continue;
			whole->judged = true;
			if (final_after(ns, p))
				write_whole(ns, whole);
		}
	}
}

static void write_goal(struct notes *ns, const struct event *e)
{
	const struct goal *g = state_goal(ns->cx->state, e->goal);
	struct handoff_part *parts;
	size_t n = 0;

	if (!g)
		return;
	parts = arena_array(ns->cx->arena, struct handoff_part, g->nodes.n);
	for (size_t i = 0; i < g->nodes.n; i++)
		if (!g->nodes.p[i]->parent && !g->nodes.p[i]->def.removed_in)
			add_part(ns, g->nodes.p[i], &parts[n++]);
	emit_handoff(ns->cx, about_goal(g),
			handoff_whole(ns->cx->arena, parts, n,
					aftermath_lines(ns->cx, ns->from, g, NULL)),
			as_goal_status(e)->to == GOAL_COMPLETED ? NODE_DONE : NODE_CANCELLED);
}

void handoffs_write(struct decide_ctx *cx, size_t from)
{
	struct notes ns = { .cx = cx, .from = from };
	size_t end = cx->out->n, i = from;

	while (i < end && !ends_node(cx->out->p[i]) && !ends_assignment(cx->out->p[i]) &&
			!ends_goal(cx->out->p[i]))
		i++;
	if (i == end)
		return;
	map_init(&ns.by_key, 0);
	read_batch(&ns, from);
	for (size_t k = 0, n = ns.list.n; k < n; k++)
		write_leaf(&ns, ns.list.p[k]);
	for (int tier = NODE_TIER_COUNT - 1; tier >= 0; tier--)
		write_wholes(&ns, (enum node_tier)tier);
	for (i = from; i < end; i++)
		if (ends_goal(cx->out->p[i]))
			write_goal(&ns, cx->out->p[i]);
	map_done(&ns.by_key);
	vec_done(&ns.list);
}
