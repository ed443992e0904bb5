#include "core/tick/conflict.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

static const struct assignment *other_of(const struct state *s, const struct conflict *c,
		const struct assignment *as)
{
	return state_assignment(s, str_eq(c->a, as->id) ? c->b : c->a);
}

static bool is_about(const struct conflict *c, const struct assignment *as)
{
	return str_eq(c->a, as->id) || str_eq(c->b, as->id);
}

static void add_files(struct buf *b, const struct conflict *c, const char *before)
{
	for (size_t i = 0; i < c->files.n; i++)
		buf_addf(b, "%s" STR_FMT, i || before[0] == '\n' ? before : "",
				STR_ARG(c->files.p[i]));
}

str conflict_words(struct arena *a, const struct state *s, const struct conflict *c,
		const struct assignment *as, str target)
{
	const struct assignment *other = other_of(s, c, as);
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	if (other && other->node)
		buf_addf(&b,
				"Looking ahead: what is on your branch would conflict with work "
				"under "
				"way on branch " STR_FMT " (task " STR_FMT ": " STR_FMT
				"), in these files:",
				STR_ARG(other->branch), STR_ARG(other->node->id),
				STR_ARG(other->node->def.name));
	else
		buf_addf(&b,
				"Looking ahead: branch " STR_FMT
				" has moved, and what is on your branch would conflict with it, in "
				"these files:",
				STR_ARG(target));
	add_files(&b, c, "\n- ");
	buf_addf(&b,
			"\nWhoever is accepted later has to resolve that. Look at the other branch "
			"(git diff ..." STR_FMT
			"), keep your change to these files as small as your task allows, and go "
			"on. Nothing needs to be answered.",
			STR_ARG(other ? other->branch : target));
	return arena_str(a, buf_str(&b));
}

str conflict_notes(struct arena *a, const struct state *s, const struct assignment *as, str target)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	for (size_t i = 0; i < s->conflicts.n; i++)
		if (is_about(s->conflicts.p[i], as))
			buf_addf(&b, "\n\n" STR_FMT,
					STR_ARG(conflict_words(a, s, s->conflicts.p[i], as,
							target)));
	return arena_str(a, buf_str(&b));
}

str conflict_line(struct arena *a, const struct state *s, const struct conflict *c,
		const struct assignment *as)
{
	const struct assignment *other = other_of(s, c, as);
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	if (!is_about(c, as))
		return STR("");
	buf_addf(&b, "would conflict with " STR_FMT " in ",
			STR_ARG(other && other->node ? other->node->key
						     : STR("the target branch")));
	add_files(&b, c, ", ");
	return arena_str(a, buf_str(&b));
}

static value *side(struct arena *a, const struct state *s, str id)
{
	const struct assignment *as = state_assignment(s, id);
	value *v;

	if (!id.n)
		return value_null(a);
	v = value_object(a);
	value_put(a, v, "assignment", value_str(a, id));
	if (as && as->node) {
		value_put(a, v, "goal", value_str(a, as->goal_id));
		value_put(a, v, "node", value_str(a, as->node_id));
		value_put(a, v, "worker", value_str(a, as->worker));
		value_put(a, v, "branch", value_str(a, as->branch));
	}
	return v;
}

value *view_conflicts(struct arena *a, const struct state *s)
{
	value *list = value_array(a);

	for (size_t i = 0; i < s->conflicts.n; i++) {
		const struct conflict *c = s->conflicts.p[i];
		value *v = value_object(a), *files = value_array(a);

		value_put(a, v, "a", side(a, s, c->a));
		value_put(a, v, "b", side(a, s, c->b));
		for (size_t k = 0; k < c->files.n; k++)
			value_push(a, files, value_str(a, c->files.p[k]));
		value_put(a, v, "files", files);
		value_put(a, v, "at", value_time(a, c->at));
		value_push(a, list, v);
	}
	return list;
}
