#include "app/watch/observe.h"

#include <stdio.h>

#include "agent/fact/repeats.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/list.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/life/liveness.h"
#include "core/life/process_life.h"
#include "core/model/record.h"
#include "core/model/silence.h"
#include "drive/git/git.h"
#include "drive/run/run.h"
#include "drive/worktree/worktree.h"
#include "sys/host/clock.h"
#include "sys/loop/loop.h"
#include "sys/proc/proc_usage.h"

enum {
	LOOKS_AT_ONCE = 4,
	TABLE_MS = 200,   /* looks so near to each other share one walk over the processes */
	ROUNDING_MS = 20, /* the kernel says to a hundredth of a second when a process began */
};

/*
 * What an agent uses while it waits, as its runs showed. In memory alone: one silence tells
 * it again.
 */
struct idle_level {
	int64_t permille;
};

struct watched {
	struct observation seen; /* first: the map of these is the map of those */
	struct observe *o;
	str id, worktree;         /* owned */
	struct idle_level *agent; /* of all runs of its agent */
	int64_t idle_permille;    /* of this one, or IDLE_UNKNOWN */
	bool idle;                /* no tool was in flight at the last look */
	const struct run_handle *run;
	struct proc_usage usage; /* at the last look; at_us 0: none yet */
	str print;               /* of the worktree at the last look, owned; empty: none yet */
	bool gone;               /* ended while it is being looked at */
	bool speaks;             /* what it says counts, not that it writes */
	bool tells_late;         /* of a tool only when it is over */
	ov_time alone_at;        /* when it last said something while no tool ran; 0: never */
	uint64_t alone_boot_us;  /* the same moment as processes count it; 0: never */
	struct silence_book *silences; /* NULL: it has said nothing that we heard come */
	int64_t begun_ms;              /* by a clock that only goes forward */
	ov_time begun_at;              /* the same by the wall clock */
	ov_time life_at;               /* the last sign that is in the book */
	bool adopted;                  /* it began before we looked */
	char waiting_for[160], trouble[160];
	struct list link; /* in waiting or looking; alone when not asked for */
};

struct observe {
	struct observe_options opt;
	struct map runs;
	struct map idle; /* agent -> struct idle_level, as many as are configured */
	struct list waiting, looking;
	size_t under_way;
	struct proc_table *table; /* a recent one */
	struct loop_source *start;
};

struct observe *observe_new(const struct observe_options *opt)
{
	struct observe *o = mem_zalloc(1, sizeof(*o));

	o->opt = *opt;
	map_init(&o->runs, 0);
	map_init(&o->idle, 0);
	list_init(&o->waiting);
	list_init(&o->looking);
	return o;
}

static void watched_free(struct watched *w)
{
	list_remove(&w->link);
	record_set_str(&w->id, STR(""));
	record_set_str(&w->worktree, STR(""));
	record_set_str(&w->print, STR(""));
	mem_free(w->silences);
	mem_free(w);
}

static void idle_free(struct map *idle)
{
	size_t i = 0;
	void *level;
	str agent;

	while (map_next(idle, &i, &agent, &level)) {
		record_set_str(&agent, STR(""));
		mem_free(level);
	}
	map_done(idle);
}

void observe_free(struct observe *o)
{
	size_t i = 0;
	void *w;
	str id;

	if (!o)
		return;
	list_each (it, &o->looking) {
		struct watched *gone = list_entry(it, struct watched, link);

		if (gone->gone)
			watched_free(gone);
	}
	while (map_next(&o->runs, &i, &id, &w))
		watched_free(w);
	map_done(&o->runs);
	idle_free(&o->idle);
	proc_table_free(o->table);
	loop_source_free(o->start);
	mem_free(o);
}

static struct idle_level *idle_of(struct observe *o, str agent)
{
	struct idle_level *level = map_get(&o->idle, agent);
	str name = { 0 };

	if (level)
		return level;
	level = mem_zalloc(1, sizeof(*level));
	level->permille = IDLE_UNKNOWN;
	record_set_str(&name, agent);
	map_put(&o->idle, name, level);
	return level;
}

static int64_t mono_ms(const struct observe *o)
{
	return (int64_t)(loop_mono_us(o->opt.loop) / 1000);
}

void observe_begin(struct observe *o, str run_id, str agent, const struct run_handle *run,
		str worktree, ov_time output_at, bool adopted)
{
	struct watched *w = mem_zalloc(1, sizeof(*w));

	assert(!map_get(&o->runs, run_id));
	w->o = o;
	w->run = run;
	w->agent = idle_of(o, agent);
	w->idle_permille = IDLE_UNKNOWN;
	w->seen.known_since = loop_now(o->opt.loop);
	w->seen.output_at = output_at;
	w->seen.doing = output_at ? ACTIVITY_UNSAID : ACTIVITY_STARTING;
	w->begun_ms = mono_ms(o);
	w->begun_at = loop_now(o->opt.loop);
	w->adopted = adopted;
	record_set_str(&w->id, run_id);
	record_set_str(&w->worktree, worktree);
	list_init(&w->link);
	map_put(&o->runs, w->id, w);
}

/* Its git call still reports to it. */
static bool is_looked_at(const struct watched *w)
{
	list_each (it, &w->o->looking)
		if (it == &w->link)
			return true;
	return false;
}

void observe_end(struct observe *o, str run_id)
{
	struct watched *w = map_remove(&o->runs, run_id);

	if (!w)
		return;
	w->run = NULL;
	w->gone = is_looked_at(w);
	if (!w->gone)
		watched_free(w);
}

/* ---- silences ---- */

/*
 * It gave a sign, and from now on does this. The silence in which it was found is nobody's measure.
 */
static void hear(struct watched *w, enum activity doing, str tool)
{
	if (!w->silences) {
		w->silences = mem_zalloc(1, sizeof(*w->silences));
		silence_hear(w->silences, w->begun_ms, ACTIVITY_STARTING, STR(""));
		if (w->adopted)
			silence_spoil(w->silences);
	}
	silence_hear(w->silences, mono_ms(w->o), doing, tool);
	w->seen.doing = doing;
}

void observe_meddled(struct observe *o, str run_id)
{
	struct watched *w = map_get(&o->runs, run_id);

	if (w && w->silences)
		silence_spoil(w->silences);
	else if (w)
		w->adopted = true; /* its first one is not its own either */
}

value *observe_silences(struct arena *a, struct observe *o, str run_id)
{
	struct watched *w = map_get(&o->runs, run_id);

	if (!w || !w->silences)
		return NULL;
	silence_hear(w->silences, mono_ms(o), ACTIVITY_APART, STR(""));
	return silence_told(a, w->silences);
}

void observe_output(struct observe *o, str run_id)
{
	struct watched *w = map_get(&o->runs, run_id);

	if (!w)
		return;
	w->seen.output_at = loop_now(o->opt.loop);
	hear(w, ACTIVITY_UNSAID, STR(""));
}

void observe_repeats(struct observe *o, str run_id, const struct repeats *r)
{
	struct watched *w = map_get(&o->runs, run_id);

	if (!w)
		return;
	w->seen.same_output = true;
	w->seen.same_calls = r->count;
	w->seen.same_since = r->since;
	w->seen.same_at = r->last_at;
	w->seen.same_call = str_from(r->text);
}

static str observe_put_text(char *to, size_t n, const char *before, const char *text)
{
	if (!*text)
		return STR("");
	snprintf(to, n, "%s%s", before, text);
	return str_from(to);
}

/* A moment of the wall clock as the kernel counts the beginnings of processes. */
static uint64_t boot_us(ov_time at)
{
	ov_time since_boot = at - clock_offsets().set_ms;

	return at > 0 && since_boot > 0 ? (uint64_t)since_boot * 1000 : 0;
}

static str put_trouble(struct watched *w, const struct account *c)
{
	if (c->status)
		snprintf(w->trouble, sizeof(w->trouble), "HTTP %d, %s", c->status,
				trouble_name(c->trouble));
	else
		snprintf(w->trouble, sizeof(w->trouble), "%s", trouble_name(c->trouble));
	return str_from(w->trouble);
}

/*
 * What it does by its own account; while it waits for others, how long that takes is not its habit.
 */
static enum activity activity_of(const struct account *c)
{
	if (c->waiting_for[0] || c->retrying || c->compacting)
		return ACTIVITY_APART;
	if (c->tools_n)
		return ACTIVITY_TOOL;
	if (!c->ready)
		return ACTIVITY_STARTING;
	return c->in_turn ? ACTIVITY_THINKING : ACTIVITY_BETWEEN;
}

/*
 * In the same moment it may say that it thinks, and that a tool begins: the last is what
 * takes time.
 */
static bool does_another(const struct watched *w, enum activity doing, str tool)
{
	const struct silence_book *b = w->silences;

	return b &&
			(b->doing != doing ||
					(doing == ACTIVITY_TOOL &&
							!str_eq(str_from(b->tool),
									utf8_truncate(tool,
											SILENCE_TOOL))));
}

/* What it had said before we looked tells what it does, not how long it took. */
static void hear_account(struct watched *w, const struct account *c)
{
	enum activity doing = activity_of(c);
	const struct account_tool *oldest = &c->tools[0];
	str tool = c->tools_n ? str_from(oldest->program[0] ? oldest->program : oldest->name)
			      : STR("");

	if (c->life_at >= w->begun_at && (c->life_at > w->life_at || does_another(w, doing, tool)))
		hear(w, doing, tool);
	w->seen.doing = doing;
	w->life_at = MAX(w->life_at, c->life_at);
}

void observe_account(struct observe *o, str run_id, const struct account *c, int64_t tokens,
		int64_t cost_microusd)
{
	struct watched *w = map_get(&o->runs, run_id);
	struct observation *seen = &w->seen;

	w->speaks = true;
	w->tells_late = c->tells_late;
	if (c->alone_at != w->alone_at) {
		w->alone_at = c->alone_at;
		w->alone_boot_us = boot_us(c->alone_at - ROUNDING_MS);
	}
	hear_account(w, c);
	seen->output_at = MIN(c->life_at, loop_now(o->opt.loop));
	seen->compacting = c->compacting;
	/* While it tries again, what it waits for is its model, not its tool. */
	seen->tool_in_flight = c->tools_n > 0 && !c->retrying;
	seen->tool = c->tools_n ? str_from(c->tools[0].name) : STR("");
	seen->tool_program = c->tools_n ? str_from(c->tools[0].program) : STR("");
	seen->tool_since = c->tools_n ? c->tools[0].since : 0;
	seen->waiting_for = observe_put_text(w->waiting_for, sizeof(w->waiting_for),
			"permission: ", c->waiting_for);
	seen->waiting_since = c->waiting_for[0] ? c->waiting_since : 0;
	seen->retrying = c->retrying;
	seen->retrying_since = c->retrying ? c->retrying_since : 0;
	seen->trouble = c->trouble == TROUBLE_NONE ? STR("") : put_trouble(w, c);
	seen->same_calls = c->calls.same;
	seen->same_since = c->calls.same_since;
	seen->same_call = str_from(c->calls.same_text);
	seen->tokens = tokens;
	seen->cost_microusd = MAX(cost_microusd, (int64_t)0);
}

void observe_clock_moved(struct observe *o, ov_time by)
{
	void *found;
	size_t i = 0;
	str id;

	while (map_next(&o->runs, &i, &id, &found)) {
		struct watched *w = found;

		observation_clock_moved(&w->seen, by);
		w->begun_at += by;
		w->life_at += w->life_at ? by : 0;
	}
}

const struct map *observe_runs(const struct observe *o)
{
	return &o->runs;
}

/* ---- looks ---- */

static const struct proc_table *recent_table(struct observe *o)
{
	if (o->table && clock_mono_us() - proc_table_at_us(o->table) > TABLE_MS * 1000)
		o->table = proc_table_free(o->table);
	if (!o->table)
		(void)proc_table_new(&o->table, NULL);
	return o->table;
}

/* Less than before is work too: a process that had used much has ended. */
static int64_t apart(uint64_t a, uint64_t b)
{
	return (int64_t)(a > b ? a - b : b - a);
}

static struct process_use used_since(const struct proc_usage *now, const struct proc_usage *before)
{
	int64_t cpu = apart(now->cpu_ms, before->cpu_ms),
		io = apart(now->io_bytes, before->io_bytes);
	struct process_use u = { .passed_ms = (int64_t)((now->at_us - before->at_us) / 1000),
		.tool_lives = now->young > 0,
		.own_ended = now->processes - now->young < before->processes - before->young };

	u.own_cpu_ms = MIN(cpu, apart(now->old_cpu_ms, before->old_cpu_ms));
	u.tool_cpu_ms = cpu - u.own_cpu_ms;
	u.tool_io_bytes = MIN(io, apart(now->young_io_bytes, before->young_io_bytes));
	u.own_io_bytes = io - u.tool_io_bytes;
	return u;
}

/*
 * Of one look at a time: what a run idles at is the least of its looks, an agent's what its
 * runs had lately.
 */
static void learn_idle(struct watched *w, const struct process_use *u)
{
	int64_t *known = &w->agent->permille;

	w->idle_permille = process_idle(w->idle_permille, u);
	if (w->idle_permille >= 0)
		*known = *known < 0 ? w->idle_permille : (3 * *known + w->idle_permille) / 4;
}

static bool shows_life(struct watched *w, const struct process_use *u)
{
	struct process_rule rule = { .speaks = w->speaks,
		.tells_late = w->tells_late,
		.tool_in_flight = w->seen.tool_in_flight,
		.idle_permille = w->idle_permille >= 0 ? w->idle_permille : w->agent->permille };
	bool life = process_is_life(&rule, u);

	if (w->speaks && w->idle && !w->seen.tool_in_flight && !life)
		learn_idle(w, u);
	return life;
}

static void look_at_processes(struct watched *w)
{
	const struct proc_table *t = recent_table(w->o);
	struct proc_usage now;
	struct process_use use;
	bool life;

	if (!t || run_usage(w->run, t, w->alone_boot_us, &now, NULL) < 0) {
		w->seen.process_unknown = true;
		return;
	}
	/* The same table again tells nothing new. */
	if (w->usage.at_us == now.at_us)
		return;
	/*
	 * With nothing to compare it with, nobody can say that it was quiet. What was used before
	 * the last output does not count: that run was known to live, the silence is what is
	 * asked about.
	 */
	w->seen.process_unknown = w->usage.at_us == 0 || w->seen.output_at > w->seen.looked_at;
	use = used_since(&now, &w->usage);
	life = !w->seen.process_unknown && shows_life(w, &use);
	w->idle = !w->seen.tool_in_flight;
	if (life)
		w->seen.process_at = loop_now(w->o->opt.loop);
	if (life && w->silences)
		silence_work(w->silences);
	/*
	 * Looks in quick succession are compared with the first of them: little by little is
	 * life too.
	 */
	if (life || w->seen.process_unknown || now.at_us - w->usage.at_us >= TABLE_MS * 1000)
		w->usage = now;
}

/* Output is told as it comes; should that ever fail, its file has it all the same. */
static void look_at_output(struct watched *w)
{
	uint64_t bytes;
	ov_time at = run_written(w->run, &bytes);

	/* What was written by a clock that was ahead is not written again with every look. */
	if (!w->speaks && at <= loop_now(w->o->opt.loop))
		w->seen.output_at = MAX(w->seen.output_at, at);
}

static void start_looks(struct observe *o);

static void look_ended(struct watched *w)
{
	struct observe *o = w->o;

	list_remove(&w->link);
	o->under_way--;
	if (w->gone) {
		watched_free(w);
	} else {
		w->seen.looked_at = loop_now(o->opt.loop);
		o->opt.looked(o->opt.user, w->id);
	}
	start_looks(o);
}

static void tree_seen(void *user, int r, const struct git_result *res,
		const struct ov_err *err _unused_)
{
	struct watched *w = user;

	w->seen.tree_unknown = r < 0 || !w->print.n;
	if (r == 0) {
		if (w->print.n && !str_eq(w->print, res->fingerprint))
			w->seen.tree_at = loop_now(w->o->opt.loop);
		record_set_str(&w->print, res->fingerprint);
	}
	look_ended(w);
}

static void start_looks(struct observe *o)
{
	while (o->under_way < LOOKS_AT_ONCE && !list_empty(&o->waiting)) {
		struct watched *w = list_entry(o->waiting.next, struct watched, link);

		list_remove(&w->link);
		list_append(&o->looking, &w->link);
		o->under_way++;
		look_at_output(w);
		look_at_processes(w);
		git_fingerprint(o->opt.git, w->worktree, tree_seen, w);
	}
	if (o->under_way == 0)
		o->table = proc_table_free(o->table);
}

static void start_fired(void *user)
{
	struct observe *o = user;

	o->start = loop_source_free(o->start);
	start_looks(o);
}

void observe_look(struct observe *o, str run_id)
{
	struct watched *w = map_get(&o->runs, run_id);

	if (!w || !list_empty(&w->link))
		return;
	list_append(&o->waiting, &w->link);
	/* Not from inside the tick that asks. */
	if (!o->start)
		o->start = loop_defer(o->opt.loop, start_fired, o);
}
