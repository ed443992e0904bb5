#include "app/observe.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/list.h"
#include "base/str.h"
#include "core/liveness.h"
#include "core/record.h"
#include "drive/git.h"
#include "drive/run.h"
#include "sys/clock.h"
#include "sys/loop.h"
#include "sys/proc_usage.h"

enum {
	LOOKS_AT_ONCE = 4,
	TABLE_MS = 200,      /* looks so near to each other share one walk over the processes */
	CPU_RATIO_DIV = 100, /* life is at least a hundredth of the time that passed */
	CPU_MIN_MS = 20,     /* and more than the kernel's rounding */
	IO_MIN_BYTES = 64 * 1024,
};

struct watched {
	struct observation seen; /* first: the map of these is the map of those */
	struct observe *o;
	str id, worktree; /* owned */
	const struct run_handle *run;
	struct proc_usage usage; /* at the last look; at_us 0: none yet */
	str print;               /* of the worktree at the last look, owned; empty: none yet */
	bool gone;               /* ended while it is being looked at */
	bool speaks;             /* what it says counts, not that it writes */
	char waiting_for[160], trouble[160];
	struct list link; /* in waiting or looking; alone when not asked for */
};

struct observe {
	struct observe_options opt;
	struct map runs;
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
	mem_free(w);
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
	proc_table_free(o->table);
	loop_source_free(o->start);
	mem_free(o);
}

void observe_begin(struct observe *o, str run_id, const struct run_handle *run, str worktree,
		ov_time output_at)
{
	struct watched *w = mem_zalloc(1, sizeof(*w));

	assert(!map_get(&o->runs, run_id));
	w->o = o;
	w->run = run;
	w->seen.output_at = output_at;
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

void observe_output(struct observe *o, str run_id)
{
	struct watched *w = map_get(&o->runs, run_id);

	if (w)
		w->seen.output_at = loop_now(o->opt.loop);
}

static str put_text(char *to, size_t n, const char *before, const char *text)
{
	if (!*text)
		return STR("");
	snprintf(to, n, "%s%s", before, text);
	return str_from(to);
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

void observe_account(struct observe *o, str run_id, const struct account *c, int64_t tokens,
		int64_t cost_microusd)
{
	struct watched *w = map_get(&o->runs, run_id);
	struct observation *seen = &w->seen;

	w->speaks = true;
	seen->output_at = MIN(c->life_at, loop_now(o->opt.loop));
	seen->compacting = c->compacting;
	/* While it tries again, what it waits for is its model, not its tool. */
	seen->tool_in_flight = c->tools_n > 0 && !c->retrying;
	seen->tool = c->tools_n ? str_from(c->tools[0].name) : STR("");
	seen->tool_since = c->tools_n ? c->tools[0].since : 0;
	seen->waiting_for = put_text(w->waiting_for, sizeof(w->waiting_for),
			"permission: ", c->waiting_for);
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

	while (map_next(&o->runs, &i, &id, &found))
		observation_clock_moved(&((struct watched *)found)->seen, by);
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

/* Less than before is life too: a process that had used much has ended. */
static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static bool is_life(const struct proc_usage *now, const struct proc_usage *before)
{
	uint64_t passed_ms = (now->at_us - before->at_us) / 1000;
	uint64_t enough = MAX(passed_ms / CPU_RATIO_DIV, (uint64_t)CPU_MIN_MS);

	return apart(now->cpu_ms, before->cpu_ms) >= enough ||
			apart(now->io_bytes, before->io_bytes) >= IO_MIN_BYTES;
}

static void look_at_processes(struct watched *w)
{
	const struct proc_table *t = recent_table(w->o);
	struct proc_usage now;
	bool life;

	if (!t || run_usage(w->run, t, &now, NULL) < 0) {
		w->seen.process_unknown = true;
		return;
	}
	/* The same table again tells nothing new. */
	if (w->usage.at_us == now.at_us)
		return;
	/*
	 * With nothing to compare it with, nobody can say that it was quiet. What was used before the
	 * last output does not count: that run was known to live, the silence is what is asked about.
	 */
	w->seen.process_unknown = w->usage.at_us == 0 || w->seen.output_at > w->seen.looked_at;
	life = !w->seen.process_unknown && is_life(&now, &w->usage);
	if (life)
		w->seen.process_at = loop_now(w->o->opt.loop);
	/* Looks in quick succession are compared with the first of them: little by little is life too. */
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
