#include "app/watch/folder_audit.h"

#include "app/plan/pool.h"
#include "app/watch/worktree.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/list.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "core/event/event.h"
#include "drive/git/git.h"
#include "drive/worktree/worktree.h"
#include "sys/file/file.h"
#include "sys/loop/loop.h"

enum {
	GATHER_MS = 200, /* changes that come together are one walk */
	FOLDERS_MAX = 10000,
	LINE_BYTES = 8192,
	SHOWN_BYTES = 2000, /* of a task that nobody knows */
};

/* What one walk found: keys that tell a finding from any other, sorted out by the next one. */
struct walk {
	struct arena arena;
	VEC(str) keys;
};

struct folder_audit {
	struct folder_audit_options o;
	ov_time every;
	struct loop_source *timer;
	struct walk last, now;
	struct arena arena; /* of the report that is being written */
	value *facts;
	struct list keeping;
};

/* A stray worktree whose content is being kept. */
struct keeping {
	struct list link;
	struct folder_audit *p;
	struct arena arena;
	str name, ref;
};

static bool was_there(const struct walk *w, str key)
{
	for (size_t i = 0; i < w->keys.n; i++)
		if (str_eq(w->keys.p[i], key))
			return true;
	return false;
}

/* True when the walk before did not see it. */
static bool is_news(struct folder_audit *p, enum patrol_fact fact, str what)
{
	str key = arena_printf(&p->now.arena, "%d " STR_FMT, (int)fact, STR_ARG(what));

	vec_push(&p->now.keys, key);
	return !was_there(&p->last, key);
}

static void add_fact(struct arena *a, value *facts, enum patrol_fact fact, str worker, str detail)
{
	struct pt_fact x = { .finding = str_from(status_name(&patrol_facts, (int)fact)),
		.worker = worker,
		.detail = utf8_clean(a, detail) };

	value_push(a, facts, part_data(a, PART_fact, &x));
}

static void send(const struct folder_audit *p, const value *facts)
{
	p->o.report(p->o.user, &(struct msg_upkeep_report){ facts });
}

/* ---- workers ---- */

/* No step of ours and no run can be at work there. */
static bool is_at_rest(const struct worker *w, const struct assignment *as)
{
	return !w->effect && (!as || (!as->effect && as->stage != STAGE_RUNNING));
}

/* Where a run is or comes next: a worktree was there, and has to be. */
static bool needs_worktree(const struct assignment *as)
{
	return as && !as->effect &&
			(as->stage == STAGE_RUNNING || as->stage == STAGE_START ||
					as->stage == STAGE_HARVEST || as->stage == STAGE_CHECK ||
					as->stage == STAGE_WAITING);
}

/* One was made. */
static bool was_made(struct arena *a, str path)
{
	return file_exists(git_own_dir(a, path));
}

static str what_is_gone(struct arena *a, str path)
{
	if (!file_exists(arena_cstr(a, path)))
		return arena_printf(a, "the worktree " STR_FMT " is gone", STR_ARG(path));
	return arena_printf(a,
			"the .git file of the worktree " STR_FMT
			" is gone or names another git folder",
			STR_ARG(path));
}

static void look_at_worker(struct folder_audit *p, const struct state *s, const struct worker *w)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	str path = arena_printf(&a, "%s/worktrees/" STR_FMT, p->o.dir, STR_ARG(w->name));
	const struct assignment *as = w->assignment_id.n ? state_assignment(s, w->assignment_id)
							 : NULL;
	const char *admin = git_agent_dir(&a, path);
	bool whole = worktree_is_whole(path);
	/* The harvest needs no .git file, keeps the work, and writes it again. */
	bool harvests = as && as->stage == STAGE_HARVEST && was_made(&a, path) &&
			file_exists(arena_cstr(&a, path));
	bool idle = is_at_rest(w, as) && (!as || as->stage == STAGE_NONE);
	/* Each step is another case: what was stopped is now to be made again. */
	str key = arena_printf(&a, STR_FMT " %d " STR_FMT, STR_ARG(w->name),
			as ? (int)as->stage : STAGE_NONE, STR_ARG(as ? as->run_id : STR("")));

	if (!whole && !harvests && (idle ? was_made(&a, path) : needs_worktree(as)) &&
			is_news(p, PATROL_NO_WORKTREE, key))
		add_fact(&p->arena, p->facts, PATROL_NO_WORKTREE, w->name, what_is_gone(&a, path));
	if (whole && is_at_rest(w, as) &&
			(file_exists(path_join(&a, admin, "rebase-merge")) ||
					file_exists(path_join(&a, admin, "rebase-apply"))) &&
			is_news(p, PATROL_STALE_REBASE, w->name))
		add_fact(&p->arena, p->facts, PATROL_STALE_REBASE, w->name,
				arena_printf(&a,
						"a rebase in " STR_FMT
						" is unfinished, and no run is active there",
						STR_ARG(path)));
}

/* ---- what nobody has ---- */

static void keeping_free(struct keeping *k)
{
	list_remove(&k->link);
	arena_done(&k->arena);
	mem_free(k);
}

static void kept(void *user, int r, const struct git_result *res, const struct ov_err *err)
{
	struct keeping *k = user;
	struct arena *a = &k->arena;
	value *facts = value_array(a);
	str what;

	if (r == 0 && !res->rescue_ref.n)
		what = STR("all that is in it is kept elsewhere");
	else if (r == 0)
		what = arena_printf(a, "what is in it is kept as " STR_FMT, STR_ARG(k->ref));
	else
		what = arena_printf(a, "what is in it could not be kept (%s)", err->msg);
	add_fact(a, facts, PATROL_STRAY_WORKTREE, STR(""),
			arena_printf(a,
					"the worktree %s/worktrees/" STR_FMT
					" belongs to no worker; " STR_FMT
					", and it is left as it is",
					k->p->o.dir, STR_ARG(k->name), STR_ARG(what)));
	send(k->p, facts);
	keeping_free(k);
}

/* As names of workers are: they are parts of refs. */
static bool is_plain(str name)
{
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
				c != '-' && c != '_')
			return false;
	}
	return name.n > 0 && name.p[0] != '-';
}

static void look_at_stray(struct folder_audit *p, str name)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	str path = arena_printf(&a, "%s/worktrees/" STR_FMT, p->o.dir, STR_ARG(name));
	struct keeping *k;

	if (!is_news(p, PATROL_STRAY_WORKTREE, name))
		return;
	if (!worktree_is_whole(path) || !is_plain(name)) {
		add_fact(&p->arena, p->facts, PATROL_STRAY_WORKTREE, STR(""),
				arena_printf(&a,
						STR_FMT " is no worker's, and no worktree of ours; "
							"it is left as it is",
						STR_ARG(path)));
		return;
	}
	k = mem_zalloc(1, sizeof(*k));
	k->p = p;
	list_append(&p->keeping, &k->link);
	k->name = arena_str(&k->arena, name);
	k->ref = arena_printf(&k->arena, "refs/overseer/rescue/" STR_FMT "/stray", STR_ARG(name));
	git_rescue(p->o.git, arena_str(&k->arena, path), STR(""), k->ref,
			STR("Keep what was in a worktree that belongs to no worker"), kept, k);
}

static void look_at_folders(struct folder_audit *p, const struct state *s)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	str *names = NULL;
	size_t n = 0;

	if (dir_list(&a, path_join(&a, p->o.dir, "worktrees"), FOLDERS_MAX, &names, &n, NULL) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		/* What git could not keep was put aside, which was told then. */
		if (!state_worker(s, names[i]) && !str_contains(names[i], STR(".aside-")) &&
				names[i].p[0] != '.')
			look_at_stray(p, names[i]);
}

static void look_at_pool(struct folder_audit *p, const struct state *s)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct pool_orphan *list;
	size_t n;

	if (pool_orphans(&a, p->o.dir, s, &list, &n, NULL) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		if (is_news(p, PATROL_ORPHANED_CLAIM, list[i].question))
			add_fact(&p->arena, p->facts, PATROL_ORPHANED_CLAIM, STR(""),
					arena_printf(&a,
							"the task pool gave out a task that "
							"nothing is known of (pool/" STR_FMT
							".out): " STR_FMT,
							STR_ARG(list[i].question),
							STR_ARG(utf8_truncate(list[i].text,
									SHOWN_BYTES))));
}

static void look_at_work(struct folder_audit *p, const struct state *s)
{
	list_each (it, &s->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);
		_cleanup_(arena_done) struct arena a = ARENA_INIT;

		if (as->stage != STAGE_NONE && !state_worker(s, as->worker) &&
				is_news(p, PATROL_MISSING_WORKER, as->id))
			add_fact(&p->arena, p->facts, PATROL_MISSING_WORKER, STR(""),
					arena_printf(&a,
							"worker " STR_FMT " of node " STR_FMT
							" is not in the state",
							STR_ARG(as->worker), STR_ARG(as->node_id)));
	}
}

/* ---- the walk ---- */

static void walk_clear(struct walk *w)
{
	vec_clear(&w->keys);
	arena_done(&w->arena);
	w->arena = (struct arena)ARENA_INIT;
}

static bool work_is_open(const struct state *s)
{
	list_each (it, &s->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		if (as->stage != STAGE_NONE && as->stage != STAGE_WAITING)
			return true;
	}
	return false;
}

static void walk(void *user)
{
	struct folder_audit *p = user;
	const struct state *s = p->o.state(p->o.user);
	struct walk before = p->last;

	p->facts = value_array(&p->arena);
	for (size_t i = 0; i < s->workers.n; i++)
		look_at_worker(p, s, s->workers.p[i]);
	look_at_folders(p, s);
	look_at_pool(p, s);
	look_at_work(p, s);
	p->last = p->now;
	p->now = before;
	walk_clear(&p->now);
	if (work_is_open(s) && p->every)
		loop_timer_in(p->timer, p->every);
	if (value_count(p->facts))
		send(p, p->facts);
	arena_done(&p->arena);
	p->arena = (struct arena)ARENA_INIT;
}

struct folder_audit *folder_audit_new(const struct folder_audit_options *o)
{
	struct folder_audit *p = mem_zalloc(1, sizeof(*p));

	p->o = *o;
	list_init(&p->keeping);
	p->timer = loop_timer(o->loop, walk, p);
	return p;
}

struct folder_audit *folder_audit_free(struct folder_audit *p)
{
	if (!p)
		return NULL;
	/* Whoever frees us closes git next, which abandons them. */
	list_each (it, &p->keeping)
		keeping_free(list_entry(it, struct keeping, link));
	loop_source_free(p->timer);
	walk_clear(&p->last);
	walk_clear(&p->now);
	vec_done(&p->last.keys);
	vec_done(&p->now.keys);
	mem_free(p);
	return NULL;
}

void folder_audit_set(struct folder_audit *p, ov_time every)
{
	p->every = every;
}

void folder_audit_look(struct folder_audit *p)
{
	loop_timer_in(p->timer, GATHER_MS);
}

void folder_audit_note(struct folder_audit *p, enum patrol_fact fact, const struct run *r,
		str detail)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *facts = value_array(&a);

	if (!r)
		return;
	add_fact(&a, facts, fact, r->worker, detail);
	send(p, facts);
}

void folder_audit_published(struct folder_audit *p, const struct event *const *events, size_t n)
{
	for (size_t i = 0; i < n; i++)
		switch (events[i]->kind) {
		case EV_RUN_ENDED:
		case EV_NODE_FAILED:
		case EV_WORKER_STATUS:
		case EV_ASSIGNMENT_CREATED: folder_audit_look(p); return;
		default: break;
		}
}
