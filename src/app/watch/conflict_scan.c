#include "app/watch/conflict_scan.h"

#include <sys/stat.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/list.h"
#include "base/map.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/event/event.h"
#include "drive/accept/git_accept.h"
#include "drive/git/git.h"
#include "drive/worktree/worktree.h"
#include "sys/file/file.h"
#include "sys/loop/follow.h"
#include "sys/loop/loop.h"

enum { GATHER_MS = 250, PAUSE_MS = 1000, TAIL = 4096, OID_MAX = 64, SEEN_MAX = 20000 };
enum { FRONT = 2 * (OID_MAX + 1) }; /* of a line of the log: "OLD NEW " */

/* A branch that may move: of an assignment, or (without one) the target. */
struct line {
	struct conflict_scan *r;
	struct list link;
	str id, worker; /* owned; both empty: the target */
	struct follow *log;
	char head[OID_MAX + 1]; /* empty: not known */
	bool taken;             /* it is in the repository, not only in its agent's git folder */
	char part[FRONT];       /* of a line of the log that is not complete */
	size_t part_n;
};

struct conflict_scan {
	struct conflict_scan_options o;
	struct list lines; /* of branches under way */
	struct map by_id;  /* the same, by their assignment */
	struct line target;
	str target_name; /* owned */
	bool on, busy;   /* a git is at work */
	struct loop_source *timer;
	size_t looked; /* pairs in this round */

	/* Of the pair that git is at work on, and of what this round found. */
	struct line *a, *b;
	struct line *taking; /* whose commits git is fetching, or NULL */
	struct arena arena;
	value *pairs;
	/* "COMMIT COMMIT", which were compared; those that conflict are in the state. */
	struct map seen;
	struct arena seen_names;
};

static void look_later(struct conflict_scan *r, int64_t ms)
{
	if (r->on && !r->busy)
		loop_timer_in(r->timer, ms);
}

static void owned_set(str *to, str s)
{
	record_set_str(to, s);
}

/* ---- logs of heads ---- */

/* Also where git keeps no log: a run's end tells where its branch stands, an accept the target. */
static void line_moved(struct line *l, str head)
{
	if (!l || !head.n || head.n > OID_MAX || str_is(head, l->head))
		return;
	memcpy(l->head, head.p, head.n);
	l->head[head.n] = '\0';
	l->taken = !l->worker.n;
	look_later(l->r, GATHER_MS);
}

/* "OLD NEW who when\tmessage" */
static void heard_line(struct line *l, str text)
{
	str old, oid;

	if (str_split(&text, ' ', &old) && str_split(&text, ' ', &oid) &&
			(oid.n == 40 || oid.n == 64))
		line_moved(l, oid);
}

static void heard(void *user, str bytes, uint64_t at _unused_)
{
	struct line *l = user;
	size_t end;

	while ((end = str_find_byte(bytes, '\n')) < bytes.n) {
		/* Of a line the front counts: the commits stand there. */
		size_t room = MIN(end, sizeof(l->part) - l->part_n);

		memcpy(l->part + l->part_n, bytes.p, room);
		heard_line(l, (str){ l->part, l->part_n + room });
		l->part_n = 0;
		bytes = str_sub(bytes, end + 1, bytes.n);
	}
	end = MIN(bytes.n, sizeof(l->part) - l->part_n);
	if (end)
		memcpy(l->part + l->part_n, bytes.p, end);
	l->part_n += end;
}

/* From shortly before its end: the last line tells where it stands. */
static void follow_log(struct line *l, const char *path)
{
	struct stat st;
	uint64_t size = stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;

	follow_close(l->log);
	l->log = NULL;
	l->part_n = 0;
	/* Where git keeps no such log, the ends of runs tell. */
	(void)follow_open(l->r->o.loop, path, size > TAIL ? size - TAIL : 0, heard, l, &l->log,
			NULL);
}

static void line_close(struct line *l)
{
	follow_close(l->log);
	l->log = NULL;
	owned_set(&l->id, STR(""));
	owned_set(&l->worker, STR(""));
}

static void line_free(struct line *l)
{
	struct conflict_scan *r = l->r;

	if (r->a == l || r->b == l)
		r->a = r->b = NULL; /* what git finds is of no interest any more */
	if (r->taking == l)
		r->taking = NULL;
	list_remove(&l->link);
	map_remove(&r->by_id, l->id);
	line_close(l);
	mem_free(l);
}

/* ---- who is under way ---- */

/* Its worktree stands on its branch, and nobody is just moving that to the target. */
static bool is_flying(const struct assignment *as)
{
	return as->live && as->node && !assignment_is_final(as) && as->base.n &&
			as->stage != STAGE_WORKSPACE && as->stage != STAGE_NONE &&
			!stage_is_accepting(as->stage);
}

static str worktree_of(struct conflict_scan *r, struct arena *a, const struct line *l)
{
	return arena_printf(a, "%s/worktrees/" STR_FMT, r->o.dir, STR_ARG(l->worker));
}

/* A harvest may have replaced the folder. */
static void line_follow(struct line *l)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	follow_log(l, path_join(&a, git_agent_dir(&a, worktree_of(l->r, &a, l)), "logs/HEAD"));
}

static void line_add(struct conflict_scan *r, const struct assignment *as)
{
	struct line *l = mem_zalloc(1, sizeof(*l));
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	l->r = r;
	owned_set(&l->id, as->id);
	owned_set(&l->worker, as->worker);
	list_append(&r->lines, &l->link);
	map_put(&r->by_id, l->id, l);
	line_follow(l);
	if (!r->target.log)
		follow_log(&r->target,
				arena_printf(&a, "%s/logs/refs/heads/" STR_FMT,
						git_common_dir(r->o.git), STR_ARG(r->target_name))
						.p);
}

/* Conflicts of work that is over are taken back, though nothing is left to look at. */
static bool has_stale(const struct state *s)
{
	for (size_t i = 0; i < s->conflicts.n; i++) {
		const struct conflict *c = s->conflicts.p[i];
		const struct assignment *a = state_assignment(s, c->a),
					*b = state_assignment(s, c->b);

		if (!a || !a->live || assignment_is_final(a) ||
				(c->b.n && (!b || !b->live || assignment_is_final(b))))
			return true;
	}
	return false;
}

static void take_stock(struct conflict_scan *r)
{
	const struct state *s = r->o.state(r->o.user);

	list_each (it, &r->lines) {
		struct line *l = list_entry(it, struct line, link);
		const struct assignment *as = state_assignment(s, l->id);

		if (!as || !is_flying(as))
			line_free(l);
	}
	list_each (it, &s->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		if (is_flying(as) && !map_get(&r->by_id, as->id))
			line_add(r, as);
	}
	if (has_stale(s))
		look_later(r, GATHER_MS);
}

/* ---- looking ---- */

static str pair_key(struct arena *a, const struct line *x, const struct line *y)
{
	return arena_printf(a, "%s %s", x->head, y->head);
}

static bool is_new(struct conflict_scan *r, const struct line *x, const struct line *y)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	return x->head[0] && y->head[0] && !map_get(&r->seen, pair_key(&a, x, y));
}

/* The next pair that was not looked at as it is now. */
static bool find_pair(struct conflict_scan *r)
{
	list_each (it, &r->lines) {
		r->a = list_entry(it, struct line, link);
		r->b = &r->target;
		if (!r->a->head[0])
			continue;
		if (is_new(r, r->a, r->b))
			return true;
		for (struct list *k = it->next; k != &r->lines; k = k->next) {
			r->b = list_entry(k, struct line, link);
			if (is_new(r, r->a, r->b))
				return true;
		}
	}
	r->a = r->b = NULL;
	return false;
}

static bool is_foreseen(struct conflict_scan *r, str a, str b)
{
	bool swap = b.n && str_cmp(a, b) > 0;

	return state_conflict(r->o.state(r->o.user), swap ? b : a, swap ? a : b);
}

/* That there is none is news only where one was foreseen. */
static void note(struct conflict_scan *r, str files)
{
	struct arena *a = &r->arena;
	struct pt_pair pair = { 0 };
	size_t lines = 1;
	str name;

	if (!r->a || (!files.n && !is_foreseen(r, r->a->id, r->b->id)))
		return;
	for (size_t i = 0; i < files.n; i++)
		lines += files.p[i] == '\n';
	pair.a = r->a->id;
	pair.b = r->b->id;
	pair.files.p = arena_array(a, str, lines);
	while (str_split(&files, '\n', &name))
		if (name.n)
			pair.files.p[pair.files.n++] = utf8_clean(a, name);
	value_push(a, r->pairs, part_data(a, PART_pair, &pair));
}

static void watch_conflict_scan_look(struct conflict_scan *r);

static void predicted(void *user, int got, const struct git_result *res,
		const struct ov_err *err _unused_)
{
	struct conflict_scan *r = user;

	r->busy = false;
	/* A commit that git cannot read, or an odd history: nothing is known, nothing is said. */
	if (got == 0)
		note(r, res->outcome == GIT_CONFLICT ? res->detail : STR(""));
	watch_conflict_scan_look(r);
}

/* What cannot be taken over cannot be compared either, and git says so then. */
static void took(void *user, int got _unused_, const struct git_result *res _unused_,
		const struct ov_err *err _unused_)
{
	struct conflict_scan *r = user;

	r->busy = false;
	if (r->taking)
		r->taking->taken = true;
	r->taking = NULL;
	watch_conflict_scan_look(r);
}

/* One of the two is only in its agent's git folder: it is fetched first. */
static bool takes(struct conflict_scan *r)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	r->taking = !r->a->taken && r->a->worker.n       ? r->a
			: !r->b->taken && r->b->worker.n ? r->b
							 : NULL;
	if (!r->taking)
		return false;
	r->busy = true;
	git_take(r->o.git, worktree_of(r, &a, r->taking), took, r);
	return true;
}

static void begin_round(struct conflict_scan *r)
{
	arena_reset(&r->arena);
	r->pairs = value_array(&r->arena);
	r->looked = 0;
}

static void end_round(struct conflict_scan *r, bool more)
{
	if (value_count(r->pairs) || has_stale(r->o.state(r->o.user)))
		r->o.report(r->o.user, &(struct msg_conflict_report){ r->pairs });
	begin_round(r);
	if (more)
		look_later(r, PAUSE_MS);
}

static void watch_conflict_scan_look(struct conflict_scan *r)
{
	if (r->seen.n > SEEN_MAX) {
		map_done(&r->seen);
		map_init(&r->seen, 0);
		arena_reset(&r->seen_names);
	}
	while (r->on && find_pair(r)) {
		if (r->looked >= CONFLICT_SCAN_ROUND) {
			end_round(r, true);
			return;
		}
		if (strcmp(r->a->head, r->b->head) != 0 && takes(r))
			return;
		r->looked++;
		map_put(&r->seen, pair_key(&r->seen_names, r->a, r->b), r);
		if (strcmp(r->a->head, r->b->head) == 0) {
			note(r, STR(""));
			continue;
		}
		r->busy = true;
		git_predict(r->o.git, str_from(r->a->head), str_from(r->b->head), predicted, r);
		return;
	}
	end_round(r, false);
}

static void timer_fired(void *user)
{
	struct conflict_scan *r = user;

	loop_timer_off(r->timer);
	if (!r->busy)
		watch_conflict_scan_look(r);
}

/* ---- life ---- */

struct conflict_scan *conflict_scan_new(const struct conflict_scan_options *o)
{
	struct conflict_scan *r = mem_zalloc(1, sizeof(*r));

	r->o = *o;
	list_init(&r->lines);
	list_init(&r->target.link);
	r->target.r = r;
	map_init(&r->by_id, 0);
	map_init(&r->seen, 0);
	r->timer = loop_timer(o->loop, timer_fired, r);
	begin_round(r);
	return r;
}

static void forget(struct conflict_scan *r)
{
	list_each (it, &r->lines)
		line_free(list_entry(it, struct line, link));
	line_close(&r->target);
	r->target.head[0] = '\0';
}

struct conflict_scan *conflict_scan_free(struct conflict_scan *r)
{
	if (!r)
		return NULL;
	r->on = false;
	forget(r);
	owned_set(&r->target_name, STR(""));
	loop_source_free(r->timer);
	map_done(&r->by_id);
	map_done(&r->seen);
	arena_done(&r->seen_names);
	arena_done(&r->arena);
	mem_free(r);
	return NULL;
}

void conflict_scan_set(struct conflict_scan *r, bool on, str target)
{
	if (on == r->on && str_eq(target, r->target_name))
		return;
	forget(r);
	r->on = on;
	owned_set(&r->target_name, target);
}

void conflict_scan_look(struct conflict_scan *r)
{
	if (r->on)
		take_stock(r);
}

static void line_harvested(struct line *l, str head)
{
	if (!l)
		return;
	line_moved(l, head);
	l->taken = str_is(head, l->head);
	line_follow(l);
}

void conflict_scan_published(struct conflict_scan *r, const struct event *const *events, size_t n)
{
	bool changed = false;

	for (size_t i = 0; r->on && i < n; i++)
		changed |= events[i]->kind == EV_ASSIGNMENT_MOVED ||
				events[i]->kind == EV_WORKSPACE_READY ||
				events[i]->kind == EV_RUN_HARVESTED ||
				events[i]->kind == EV_NODE_ACCEPTED;
	if (!changed)
		return;
	take_stock(r);
	for (size_t i = 0; i < n; i++) {
		if (events[i]->kind == EV_RUN_HARVESTED)
			line_harvested(map_get(&r->by_id, events[i]->assignment),
					as_run_harvested(events[i])->head);
		if (events[i]->kind == EV_NODE_ACCEPTED)
			line_moved(&r->target, as_node_accepted(events[i])->commit);
	}
}
