/*
 * A branch that moves is nothing odd: Overseer moves it, people commit, a remote is ahead. An agent
 * without a sandbox can move it, too, past checks and reviews. That is told to a person, with what
 * came there and what puts it back. Work is accepted on top all the same: whether the move was
 * wanted is the person's to say, and a night's work does not wait for it.
 */
#include "core/flow/target.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/capacity/accept_queue.h"
#include "core/decide/ask.h"
#include "core/inbox/inbox.h"
#include "core/model/limits.h"

enum {
	OID_SHOWN = 12,
	COMMITS_SHOWN = 5,
	RUNS_SHOWN = 5,
	LINE_BYTES = 160,
};

struct move {
	str target, from, to, how;
	const struct pt_commit *commits;
	size_t commits_n;
	int64_t lost;
};

static str seen_head(const struct decide_ctx *cx, str target)
{
	return str_eq(cx->state->target_branch, target) ? cx->state->target_head : STR("");
}

/* ---- whose commits ---- */

/* The candidate that the queue made, a change that it takes back, or what a person picks. */
static bool is_ours(const struct decide_ctx *cx, const struct pt_commit *x)
{
	if (x->accept_key.n && state_effect(cx->state, x->accept_key))
		return true;
	list_each (it, &cx->state->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);
		str key = accept_key(cx->arena, as);

		if (str_eq(key, x->accept_key) &&
				(str_eq(x->commit, as->candidate) ||
						(as->node && str_eq(x->commit, as->node->work.commit))))
			return true;
		if (str_eq(key, x->revert_key) && as->stage == STAGE_REVERT)
			return true;
	}
	return false;
}

static bool all_ours(const struct decide_ctx *cx, const struct move *m)
{
	for (size_t i = 0; i < m->commits_n; i++)
		if (!is_ours(cx, &m->commits[i]))
			return false;
	return m->commits_n > 0 && m->lost == 0;
}

/* ---- who was at work ---- */

static void add_run(struct decide_ctx *cx, value *list, const struct run *r)
{
	bool live = r->started_at && (!r->ended_at || r->ended_at >= cx->state->target_seen_at);

	if (live && value_count(list) < LIMIT_KEPT)
		value_push(cx->arena, list, value_str(cx->arena, r->id));
}

static value *live_runs(struct decide_ctx *cx)
{
	value *list = value_array(cx->arena);

	list_each (it, &cx->state->runs)
		add_run(cx, list, list_entry(it, struct run, link));
	list_each (it, &cx->state->retired_runs)
		add_run(cx, list, list_entry(it, struct run, link));
	return list;
}

/* ---- telling ---- */

static str more(struct decide_ctx *cx, str list, size_t all, size_t shown)
{
	return all <= shown ? list
			    : arena_printf(cx->arena, STR_FMT " and %zu more", STR_ARG(list),
					      all - shown);
}

static str runs_text(struct decide_ctx *cx, const value *runs)
{
	str list = STR("");

	for (size_t i = 0; i < value_count(runs) && i < RUNS_SHOWN; i++) {
		const struct run *r = state_run(cx->state,
				value_str_or(value_item(runs, i), STR("")));

		list = arena_printf(cx->arena, STR_FMT "%s" STR_FMT " (" STR_FMT ", " STR_FMT ")",
				STR_ARG(list), i ? ", " : "", STR_ARG(r->id), STR_ARG(r->agent),
				STR_ARG(r->worker));
	}
	return more(cx, list, value_count(runs), RUNS_SHOWN);
}

static str commit_text(struct decide_ctx *cx, const struct pt_commit *x)
{
	str line = arena_printf(cx->arena, STR_FMT " \"" STR_FMT "\" by " STR_FMT,
			STR_ARG(str_sub(x->commit, 0, OID_SHOWN)), STR_ARG(x->subject),
			STR_ARG(x->author));

	return utf8_truncate(line, LINE_BYTES);
}

static str commits_text(struct decide_ctx *cx, const struct move *m)
{
	size_t n = m->commits_n;
	str list = STR("");

	for (size_t i = 0; i < n && i < COMMITS_SHOWN; i++)
		list = arena_printf(cx->arena, STR_FMT "%s" STR_FMT, STR_ARG(list), i ? "; " : "",
				STR_ARG(commit_text(cx, &m->commits[i])));
	list = more(cx, list, n, COMMITS_SHOWN);
	if (n)
		list = arena_printf(cx->arena, " New commits: " STR_FMT ".", STR_ARG(list));
	if (m->lost)
		list = arena_printf(cx->arena, STR_FMT " %lld commit%s no longer on it.",
				STR_ARG(list), (long long)m->lost, m->lost == 1 ? " is" : "s are");
	return list;
}

static int64_t target_tell(struct decide_ctx *cx, const struct move *m, const value *runs)
{
	/*
	 * Moved again, with nothing in between that is to stay: what counts is where it was
	 * at first.
	 */
	str before = cx->state->target_before.n ? cx->state->target_before : m->from;
	str question = arena_printf(cx->arena,
			"branch " STR_FMT " was moved from " STR_FMT " to " STR_FMT
			" by neither Overseer nor your checkout. Active runs: " STR_FMT "." STR_FMT
			" Next: git update-ref refs/heads/" STR_FMT " " STR_FMT " " STR_FMT
			" moves it back, unless something was committed on top; it changes no "
			"file. Answer \"keep\" to leave it there",
			STR_ARG(m->target), STR_ARG(str_sub(before, 0, OID_SHOWN)),
			STR_ARG(str_sub(m->to, 0, OID_SHOWN)), STR_ARG(runs_text(cx, runs)),
			STR_ARG(commits_text(cx, m)), STR_ARG(m->target), STR_ARG(before),
			STR_ARG(m->to));

	return escalate_about(cx, (struct subject){ 0 },
			&(struct escalation_spec){ .ask = ASK_TARGET,
					.question = question,
					.fingerprint = m->to });
}

/* There is one at most: another move raises it again. */
static const struct escalation *open_entry(const struct decide_ctx *cx)
{
	return state_asked(cx->state, ASK_TARGET, STR(""));
}

int64_t target_dispute(const struct decide_ctx *cx)
{
	const struct escalation *x = open_entry(cx);

	return x ? x->number : 0;
}

str target_dispute_words(struct decide_ctx *cx, int64_t entry)
{
	return arena_printf(cx->arena,
			"branch " STR_FMT
			" was moved by neither Overseer nor your checkout, which therefore shows "
			"changes that are not yours (inbox #%lld)",
			STR_ARG(cx->policy->target_branch), (long long)entry);
}

/* ---- the event ---- */

static struct texts commit_texts(struct decide_ctx *cx, const struct move *m)
{
	struct texts list = { .n = MIN(m->commits_n, (size_t)LIMIT_KEPT) };

	list.p = arena_array(cx->arena, str, list.n);
	for (size_t i = 0; i < list.n; i++)
		list.p[i] = commit_text(cx, &m->commits[i]);
	return list;
}

static struct ev_target_moved *emit_moved(struct decide_ctx *cx, const struct move *m)
{
	struct ev_target_moved *e = emit_target_moved(cx, (struct subject){ 0 });

	e->target = m->target;
	e->from = m->from;
	e->to = m->to;
	e->how = m->how;
	return e;
}

void target_left(struct decide_ctx *cx, const struct out_git *git)
{
	struct move m = { .target = git->target, .to = git->target_head, .how = STR("ours") };

	m.from = seen_head(cx, m.target);
	if (m.target.n && m.to.n && !str_eq(m.from, m.to))
		emit_moved(cx, &m);
}

static void moved_by_nobody(struct decide_ctx *cx, struct move *m)
{
	value *runs = live_runs(cx);
	int64_t entry = 0;
	struct ev_target_moved *e;

	/* No agent was there that could have done it. */
	if (value_count(runs))
		entry = target_tell(cx, m, runs);
	e = emit_moved(cx, m);
	e->commits = commit_texts(cx, m);
	e->runs = texts_from(cx->arena, runs);
	e->lost = m->lost;
	e->escalation = entry;
}

static str known_how(str how)
{
	static const char *const words[] = { "person", "remote", "unrecorded" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (str_is(how, words[i]))
			return how;
	return STR("unknown");
}

int decide_target_report(struct decide_ctx *cx, const struct msg_target_report *p,
		value **ret_result, struct ov_err *err)
{
	struct move m = { .target = p->target,
		.from = p->from,
		.to = p->to,
		.how = known_how(p->how),
		.commits = parts_from(cx->arena, PART_commit, p->commits),
		.commits_n = value_count(p->commits),
		.lost = p->lost };
	str before = seen_head(cx, m.target);

	(void)ret_result, (void)err;
	/* Whoever looked did so before what is known now. */
	if (!m.target.n || !m.to.n || str_eq(m.to, before) || !str_eq(m.from, before))
		return 0;
	if (!before.n)
		m.how = STR("found");
	else if (str_eq(m.to, cx->state->target_before))
		m.how = STR("back");
	else if (str_is(m.how, "unknown") && all_ours(cx, &m))
		m.how = STR("ours");
	if (str_is(m.how, "unknown")) {
		moved_by_nobody(cx, &m);
		return 0;
	}
	if (str_is(m.how, "back") && open_entry(cx))
		escalation_close(cx, open_entry(cx), ESC_DISMISSED,
				STR("the branch is where it was before"));
	emit_moved(cx, &m);
	return 0;
}
