/*
 * The truths that invariants are judged by. They look at what is, not at how the calls came to it.
 */
#include "tests/sim/simgit_parts.h"

bool simgit_kept(const struct simgit *g, struct buf *ret_why)
{
	if (g->lost.n && ret_why)
		buf_adds(ret_why, buf_str(&g->lost));
	return !g->lost.n;
}

/* user_intact */

void sg_shadow_done(struct simgit *g)
{
	struct sg_shadow *s = &g->shadow;

	for (size_t i = 0; i < s->commits.n; i++)
		sg_commit_drop(g, s->commits.p[i]);
	sg_commit_drop(g, s->at);
	sg_tree_drop(g, &s->index);
	sg_tree_drop(g, &s->files);
	vec_done(&s->refs);
	vec_done(&s->commits);
}

void sg_shadow_take(struct simgit *g)
{
	struct sg_shadow *s = &g->shadow, old = *s;
	struct sg_wt *w = g->wts.p[0];

	*s = (struct sg_shadow){ .on = w->on, .op = w->op, .lock = w->lock };
	s->at = sg_commit_ref(g, w->at);
	s->index = sg_tree_ref(g, w->index);
	s->files = sg_tree_ref(g, w->files);
	s->busy = w->op != SG_NONE || w->lock;
	for (size_t i = 0; i < g->users.n; i++) {
		struct sg_ref *r = g->users.p[i];

		if (!r->commit || !r->users)
			continue;
		vec_push(&s->refs, r);
		vec_push(&s->commits, sg_commit_ref(g, r->commit));
	}
	for (size_t i = 0; i < old.commits.n; i++)
		sg_commit_drop(g, old.commits.p[i]);
	sg_commit_drop(g, old.at);
	sg_tree_drop(g, &old.index);
	sg_tree_drop(g, &old.files);
	vec_done(&old.refs);
	vec_done(&old.commits);
}

static void harm(struct simgit *g, const char *what, const char *of)
{
	if (!g->harm.n)
		buf_addf(&g->harm, "%s%s: last, %s", what, of, g->doing);
}

/* Where the target was; 0: it did not exist. */
static uint32_t shadow_of(const struct sg_shadow *s, const struct sg_ref *ref)
{
	for (size_t i = 0; i < s->refs.n; i++)
		if (s->refs.p[i] == ref)
			return s->commits.p[i];
	return 0;
}

/*
 * The checkout went forward with its branch: just those paths, none of which the user had changed
 * or held a file at that git did not know. What was uncommitted elsewhere is as it was, staged
 * or not.
 */
static bool went_along(struct simgit *g, const struct sg_tree *from, const struct sg_tree *to)
{
	const struct sg_shadow *s = &g->shadow;
	const struct sg_wt *w = g->wts.p[0];
	struct sg_tree files = sg_tree_ref(g, s->files), index = sg_tree_ref(g, s->index);
	bool ok = !s->busy;

	sg_diff(g, from, to, &g->diff);
	for (size_t i = 0; i < g->diff.n; i++) {
		struct sg_change *ch = &g->diff.p[i];
		uint32_t staged = sg_get(g, &s->index, ch->path),
			 file = sg_get(g, &s->files, ch->path);

		/* Staged just so by the user. */
		if (staged == ch->b && (ch->b || !file))
			continue;
		ok = ok && staged == ch->a && (!file || file == ch->a);
		sg_set(g, &index, ch->path, ch->b);
		sg_set(g, &files, ch->path, ch->b);
	}
	ok = ok && sg_same(&w->files, &files) && sg_same(&w->index, &index);
	sg_tree_drop(g, &files);
	sg_tree_drop(g, &index);
	return ok;
}

static void judge_branches(struct simgit *g)
{
	const struct sg_shadow *s = &g->shadow;

	for (size_t i = 0; i < s->refs.n; i++) {
		const struct sg_ref *r = s->refs.p[i];

		if (r->commit == s->commits.p[i] ||
				(r == g->target && sg_is_ancestor(g, s->commits.p[i], r->commit)))
			continue;
		harm(g, "a branch of the user's was moved or removed: ", r->name);
	}
}

static bool unmoved(const struct simgit *g)
{
	const struct sg_shadow *s = &g->shadow;
	const struct sg_wt *w = g->wts.p[0];

	if (w->on != s->on || w->at != s->at || !sg_same(&w->index, &s->index) ||
			!sg_same(&w->files, &s->files) || w->op != s->op || w->lock != s->lock)
		return false;
	for (size_t i = 0; i < s->refs.n; i++)
		if (s->refs.p[i]->commit != s->commits.p[i])
			return false;
	return true;
}

static void judge_checkout(struct simgit *g)
{
	const struct sg_shadow *s = &g->shadow;
	const struct sg_wt *w = g->wts.p[0];
	uint32_t was = shadow_of(s, g->target);

	if (w->on != s->on || w->at != s->at)
		harm(g, "HEAD of the user's checkout was moved", "");
	else if (w->op != s->op || w->lock != s->lock)
		harm(g, "a rebase or lock of the user's was ended", "");
	else if (w->on == g->target && was && was != w->on->commit) {
		if (!went_along(g, &g->commits.p[was].tree, &g->commits.p[w->on->commit].tree))
			harm(g, "the user's checkout did not go forward cleanly", "");
	} else if (!sg_same(&w->index, &s->index))
		harm(g, "the user's index was changed", "");
	else if (!sg_same(&w->files, &s->files))
		harm(g, "files of the user's were overwritten", "");
}

bool simgit_user_intact(struct simgit *g, struct buf *ret_why)
{
	if (!g->harm.n && !unmoved(g)) {
		judge_branches(g);
		judge_checkout(g);
		if (!g->harm.n)
			sg_shadow_take(g);
	}
	if (g->harm.n && ret_why)
		buf_adds(ret_why, buf_str(&g->harm));
	return !g->harm.n;
}

/* accepted */

static bool whole(struct simgit *g, uint32_t commit)
{
	uint32_t tip = g->commits.p[commit].of, base = g->commits.p[commit].of_base;
	bool ok = tip && g->commits.p[tip].refs;
	uint32_t nested = sg_known(&g->paths, STR(SG_NESTED));

	if (!ok)
		return false;
	sg_diff(g, &g->commits.p[base].tree, &g->commits.p[tip].tree, &g->diff);
	/* Files of a repository inside are rescued, and never accepted. */
	for (size_t i = 0; i < g->diff.n; i++)
		ok = ok &&
				sg_get(g, &g->commits.p[commit].tree, g->diff.p[i].path) ==
						(g->diff.p[i].path == nested ? 0 : g->diff.p[i].b);
	return ok;
}

void simgit_accepted(struct simgit *g, str key, struct arena *a, struct simgit_accepted *ret)
{
	uint32_t id = sg_known(&g->keys, key), first = 0;
	sg_changes ch = { 0 };

	*ret = (struct simgit_accepted){ 0 };
	for (id = id && id < g->key_last.n ? g->key_last.p[id] : 0; id;
			id = g->commits.p[id].same_key)
		if (g->commits.p[id].refs && sg_is_ancestor(g, id, g->target->commit)) {
			ret->count++;
			first = id;
		}
	if (!first)
		return;
	ret->commit = sg_oid(a, first);
	ret->whole = whole(g, first);
	sg_diff(g, &g->commits.p[g->commits.p[first].parent[0]].tree, &g->commits.p[first].tree,
			&ch);
	sg_by_name(g, &ch);
	ret->change_n = ch.n;
	ret->change = arena_array(a, struct simgit_change, ch.n);
	for (size_t i = 0; i < ch.n; i++) {
		ret->change[i].path = sg_text(&g->paths, ch.p[i].path);
		ret->change[i].before = ch.p[i].a;
		ret->change[i].after = ch.p[i].b;
		ret->change[i].run = simgit_author(g, ch.p[i].b);
	}
	vec_done(&ch);
}

/* rescued */

static void add_run(struct simgit_rescued *x, str run)
{
	for (size_t i = 0; i < x->runs_n; i++)
		if (str_eq(x->runs[i], run))
			return;
	if (run.n)
		x->runs[x->runs_n++] = run;
}

static void rescued_one(struct simgit *g, struct arena *a, const struct sg_ref *r,
		struct simgit_rescued *x)
{
	uint32_t base = sg_merge_base(g, r->commit, g->target->commit);
	const struct sg_tree none = { 0 };
	sg_changes ch = { 0 };

	*x = (struct simgit_rescued){ .ref = arena_str(a, str_from(r->name)),
		.commit = sg_oid(a, r->commit),
		.on_target = sg_is_ancestor(g, r->commit, g->target->commit) };
	sg_diff(g, base ? &g->commits.p[base].tree : &none, &g->commits.p[r->commit].tree, &ch);
	x->changed = ch.n;
	x->runs = arena_array(a, str, ch.n);
	for (size_t i = 0; i < ch.n; i++)
		if (ch.p[i].b)
			add_run(x, arena_str(a, simgit_author(g, ch.p[i].b)));
	vec_done(&ch);
}

void simgit_rescued(struct simgit *g, struct arena *a, struct simgit_rescued **ret, size_t *ret_n)
{
	*ret = arena_array(a, struct simgit_rescued, g->refs.n);
	*ret_n = 0;
	for (size_t i = 0; i < g->refs.n; i++)
		if (g->refs.p[i]->commit && sg_ref_under(g->refs.p[i], "refs/overseer/"))
			rescued_one(g, a, g->refs.p[i], &(*ret)[(*ret_n)++]);
}

/* the gate */

static bool passes(const struct sg_tree *t)
{
	uint64_t x = t->sum * 0x9e3779b97f4a7c15ULL;

	return (x ^ x >> 29) % 16 != 0;
}

bool simgit_gate_tree(const struct simgit *g, str tree)
{
	const struct sg_wt *w = sg_wt_find(g, tree);

	return w && passes(&w->files);
}

bool simgit_gate_commit(const struct simgit *g, str commit)
{
	uint32_t c = sg_commit_known(g, commit);

	return c && passes(&g->commits.p[c].tree);
}
