/*
 * The walk of a call through its table of steps. Calls on the same worktree, and all accepts, run
 * one after another in the order in which they were made; others run side by side.
 */
#include <unistd.h>

#include "drive/git/git_aside.h"
#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"
#include "drive/git/git_walk.h"

#include "sys/file/file.h"
#include "sys/host/inject.h"
#include "sys/loop/job.h"
#include "sys/loop/loop.h"

/*
 * Commands that only look, and those that may have to check out a large tree. The first bound is
 * generous too: a cold page cache on a busy disk is no reason to give up.
 */
enum {
	READ_TIMEOUT_MS = 120 * 1000,
	NET_TIMEOUT_MS = 120 * 1000,
	WRITE_TIMEOUT_MS = 30 * 60 * 1000
};
enum { ORPHAN_POLL_MS = 20, ORPHAN_WAIT_MS = 10 * 60 * 1000 };
enum { OUTPUT_MAX = 64 << 20 };
/* With sanitizers the program that becomes git maps terabytes first, which all count. */
#ifdef DRIVE_SANITIZED
static const bool memory_bounded = false;
#else
static const bool memory_bounded = true;
#endif
static const int64_t memory_least = (int64_t)1 << 30, memory_most = (int64_t)8 << 30;

static void call_walk(struct git_call *c);
static void call_kick(void *user);

struct git_call *git_call_new(struct git *g, const char *name, str path, git_done_fn *done,
		void *user)
{
	struct git_call *c = mem_zalloc(1, sizeof(*c));

	c->g = g;
	c->name = name;
	c->keep_ignored = g->keep_ignored;
	c->done = done;
	c->user = user;
	c->child = GIT_CHILD_INIT;
	c->tree_fd = -1;
	clock_gettime(CLOCK_REALTIME, &c->since);
	if (path.n && path.p[0] == '/')
		c->path = arena_cstr(&c->arena, path);
	else
		c->path = arena_printf(&c->arena, "%s/" STR_FMT, g->repo, STR_ARG(path)).p;
	return c;
}

void git_call_free(struct git_call *c)
{
	list_remove(&c->node);
	if (c->job)
		job_abandon(c->job);
	if (c->at_end)
		c->at_end(c);
	loop_source_free(c->wake);
	loop_source_free(c->child_end);
	git_child_done(&c->child);
	vec_done(&c->rescue.extra);
	vec_done(&c->rescue.parents);
	fd_closep(&c->tree_fd);
	vec_done(&c->nested);
	vec_done(&c->embedded);
	vec_done(&c->nested_ignored);
	vec_done(&c->inner);
	vec_done(&c->named);
	vec_done(&c->refs);
	vec_done(&c->links);
	vec_done(&c->unencoded);
	vec_done(&c->wanted);
	vec_done(&c->argv);
	vec_done(&c->env);
	arena_done(&c->arena);
	mem_free(c);
}

void git_call_start(struct git_call *c, const struct git_step *steps, int r,
		const struct ov_err *err)
{
	if (r < 0)
		c->refused = *err;
	c->frames[0].steps = steps;
	list_append(&c->g->calls, &c->node);
	c->wake = loop_defer(c->g->loop, call_kick, c);
}

/* Must it wait for a call made before it? */
static bool call_waits(const struct git_call *c)
{
	for (const struct list *n = c->node.prev; n != &c->g->calls; n = n->prev) {
		const struct git_call *o = list_entry(n, const struct git_call, node);

		if (o->loose || c->loose)
			continue;
		if (strcmp(o->path, c->path) == 0 || (o->exclusive && c->exclusive))
			return true;
	}
	return false;
}

static void call_finish(struct git_call *c, int r, const struct ov_err *err)
{
	struct git *g = c->g;
	struct ov_err why = { 0 };

	list_remove(&c->node);
	list_each (n, &g->calls) {
		struct git_call *o = list_entry(n, struct git_call, node);

		if (!o->running && !o->wake && !call_waits(o))
			o->wake = loop_defer(g->loop, call_kick, o);
	}
	if (r < 0) {
		why = *err;
		ov_wrap(&why, r, "%s of %s", c->name, c->path);
	}
	/* The callback may close g: it is not touched after this. */
	c->done(c->user, r, r < 0 ? NULL : &c->res, r < 0 ? &why : NULL);
	git_call_free(c);
}

/*
 * The first call on a path waits for what an earlier daemon's git may still be doing there: its
 * children outlive it when it is killed, and their locks are theirs while they live.
 */
static bool call_orphan(struct git_call *c)
{
	struct git *g = c->g;

	for (size_t i = 0; i < g->seen.n; i++)
		if (strcmp(g->seen.p[i], c->path) == 0)
			return false;
	if (git_orphan_alive(c->path))
		return true;
	vec_push(&g->seen, arena_cstr(&g->arena, str_from(c->path)));
	return false;
}

static void call_kick(void *user)
{
	struct git_call *c = user;
	struct ov_err err;

	c->wake = loop_source_free(c->wake);
	if (c->refused.code) {
		call_finish(c, c->refused.code, &c->refused);
		return;
	}
	if (call_waits(c))
		return; /* kicked again by the end of the other */
	if (call_orphan(c)) {
		if (c->waited_ms >= ORPHAN_WAIT_MS) {
			ov_fail(&err, OV_EUNAVAILABLE,
					"a git process of an earlier daemon is still at work "
					"there");
			call_finish(c, err.code, &err);
			return;
		}
		c->waited_ms += ORPHAN_POLL_MS;
		c->wake = loop_timer(c->g->loop, call_kick, c);
		loop_timer_in(c->wake, ORPHAN_POLL_MS);
		return;
	}
	c->running = true;
	/* What the wait was for may have left locks that are nobody's now. */
	clock_gettime(CLOCK_REALTIME, &c->since);
	call_walk(c);
}

/* Moves on by a verdict; false when the call is over. */
static bool call_turn(struct git_call *c, int verdict, const struct ov_err *err)
{
	struct git_frame *f = &c->frames[c->depth];

	if (verdict < 0 && (c->too_much || verdict == OV_ELIMIT) && c->otherwise) {
		git_say(c, arena_printf(&c->arena, "%s", err->msg));
		c->frames[0] = (struct git_frame){ .steps = c->otherwise };
		c->depth = 0;
		c->otherwise = NULL;
		return true;
	}
	if (verdict < 0) {
		call_finish(c, verdict, err);
		return false;
	}
	switch (verdict) {
	case GIT_NEXT:
	case GIT_SKIP: f->at++; break;
	case GIT_LEAVE:
		while (f->steps[f->at].what)
			f->at++;
		break;
	case GIT_FINISH: call_finish(c, 0, NULL); return false;
	case GIT_AGAIN: break;
	default: assert(!"verdict");
	}
	while (!c->frames[c->depth].steps[c->frames[c->depth].at].what) {
		if (c->depth == 0) {
			call_finish(c, 0, NULL);
			return false;
		}
		c->depth--;
		f = &c->frames[c->depth];
		if (f->steps[f->at].inject)
			INJECT(f->steps[f->at].inject);
		f->at++;
	}
	return true;
}

/* Folders that it could not enter were opened, or files that it could not write. */
static bool call_repeats(struct git_call *c, const struct git_step *step, const struct git_out *o)
{
	if (git_passed_over(c, o))
		return true;
	return !step->judge && !(c->flags & (GIT_READS | GIT_NET)) && git_loosen(c, o);
}

/* The command of the current step has ended by itself. */
static void call_ended(struct git_call *c, const struct git_out *o)
{
	const struct git_step *step = &c->frames[c->depth].steps[c->frames[c->depth].at];
	struct ov_err err = { 0 };
	int r;

	if (call_repeats(c, step, o))
		r = GIT_AGAIN;
	else if (step->judge && !(step->takes && o->code != 0))
		r = step->judge(c, o, &err);
	else
		r = o->code == 0 ? GIT_NEXT : git_fail(c, o, &err);
	if (r < 0)
		ov_wrap(&err, r, "cannot %s", step->what);
	else if (step->inject && r != GIT_AGAIN)
		INJECT(step->inject);
	if (call_turn(c, r, &err))
		call_walk(c);
}

static void call_job_done(void *user, const struct job_result *r)
{
	struct git_call *c = user;
	const struct git_step *step = &c->frames[c->depth].steps[c->frames[c->depth].at];
	struct git_out o = { .code = r->exit.code, .out = r->out, .err = r->err };
	struct ov_err err;

	c->job = NULL;
	if (r->timed_out && c->flags & GIT_NET) {
		o = (struct git_out){ .code = 128,
			.err = STR("the remote did not answer in time") };
		call_ended(c, &o);
		return;
	}
	if (r->out_cut && c->flags & GIT_COUNTS) {
		o.code = 0;
		o.cut = true;
	}
	if (o.cut || (r->exit.code >= 0 && !r->timed_out && !r->out_cut)) {
		call_ended(c, &o);
		return;
	}
	if (r->timed_out && git_unblock(c)) {
		call_walk(c);
		return;
	}
	if (r->timed_out)
		ov_fail(&err, OV_EIO, "cannot %s: git took too long", step->what);
	else if (r->out_cut)
		ov_fail(&err, OV_ELIMIT, "cannot %s: git printed more than %d bytes", step->what,
				OUTPUT_MAX);
	else
		ov_fail(&err, OV_EIO, "cannot %s: git was ended by signal %d", step->what,
				r->exit.signal);
	c->too_much = r->timed_out || r->out_cut;
	if (call_turn(c, err.code, &err))
		call_walk(c);
}

static void call_child_ended(void *user)
{
	struct git_call *c = user;
	struct git_out o;
	struct ov_err err;
	int r;

	c->child_end = loop_source_free(c->child_end);
	r = git_child_collect(&c->child, &c->arena, &o, &err);
	if (r < 0) {
		call_finish(c, r, &err);
		return;
	}
	call_ended(c, &o);
}

/*
 * Of what it allocates, not of the packs that it maps. Of the machine's memory no more than half:
 * what an agent wrote must not be what everybody else has to make room for.
 */
static uint64_t memory_bound(unsigned flags)
{
	int64_t bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / 2;

	if (!memory_bounded)
		return 0;
	if (flags & GIT_COUNTS)
		return (uint64_t)memory_least;
	return (uint64_t)MIN(MAX(bytes, memory_least), memory_most);
}

static int call_spawn(struct git_call *c, struct ov_err *err)
{
	struct job_spec spec = { .proc = PROC_SPEC_INIT,
		.input = c->input,
		.max_output = OUTPUT_MAX };
	int r;

	vec_push(&c->argv, NULL);
	vec_push(&c->env, NULL);
	if (c->flags & GIT_WHOLE) {
		r = git_child_start(c->argv.p, c->env.p, c->cwd, &c->child, err);
		if (r < 0)
			return r;
		c->child_end = loop_pidfd(c->g->loop, c->child.proc.pidfd, call_child_ended, c);
		return 0;
	}
	spec.proc.argv = c->argv.p;
	spec.proc.env = c->env.p;
	spec.proc.cwd = c->cwd;
	spec.proc.memory_max = memory_bound(c->flags);
	spec.timeout_ms = WRITE_TIMEOUT_MS;
	/* Nothing there is worth waiting for any longer. */
	if (c->flags & (GIT_READS | GIT_AGENTS))
		spec.timeout_ms = c->g->timeout_ms ? c->g->timeout_ms : READ_TIMEOUT_MS;
	if (c->flags & GIT_NET) {
		spec.timeout_ms = NET_TIMEOUT_MS;
		spec.proc.new_session = true; /* no terminal to ask at */
	}
	return job_start(c->g->loop, &spec, call_job_done, c, &c->job, err);
}

/* Goes on until a child runs or the call is over. */
static void call_walk(struct git_call *c)
{
	for (;;) {
		const struct git_step *step = &c->frames[c->depth].steps[c->frames[c->depth].at];
		struct ov_err err = { 0 };
		int r;

		vec_clear(&c->argv);
		c->input = (str){ 0 };
		r = step->build ? step->build(c, &err) : GIT_NEXT;
		if (r == GIT_NEXT && step->sub) {
			assert(c->depth + 1 < GIT_DEPTH);
			c->depth++;
			c->frames[c->depth] = (struct git_frame){ .steps = step->sub };
			continue;
		}
		if (r == GIT_NEXT) {
			r = call_spawn(c, &err);
			if (r == 0)
				return;
		}
		if (r < 0)
			ov_wrap(&err, r, "cannot %s", step->what);
		if (!call_turn(c, r, &err))
			return;
	}
}
