#include "core/state/habit.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"
#include "base/utf8.h"

enum { BUSY = 2 };

/* So many runs in which a silence was never seen show that it is rare. */
enum { RUNS_MANY = 50 };

static struct habits *habit_find(const struct state *s, str agent)
{
	for (size_t i = 0; i < s->habits.n; i++)
		if (str_eq(s->habits.p[i]->agent, agent))
			return s->habits.p[i];
	return NULL;
}

struct habits *state_habits(struct state *s, str agent)
{
	struct habits *h = habit_find(s, agent);

	if (h)
		return h;
	h = mem_zalloc(1, sizeof(*h));
	record_set_str(&h->agent, agent);
	/*
	 * By name: an agent of which nothing is learned yet has no place in the snapshot, but
	 * one here.
	 */
	vec_push(&s->habits, h);
	for (size_t i = s->habits.n - 1; i && str_cmp(s->habits.p[i - 1]->agent, agent) > 0; i--) {
		s->habits.p[i] = s->habits.p[i - 1];
		s->habits.p[i - 1] = h;
	}
	return h;
}

static void row_free(struct habit *row)
{
	record_done(&habit_record, row);
	mem_free(row);
}

void habits_free(struct habits *h)
{
	for (size_t i = 0; i < h->rows.n; i++)
		row_free(h->rows.p[i]);
	vec_done(&h->rows);
	record_set_str(&h->agent, STR(""));
	mem_free(h);
}

/* ---- learning ---- */

/*
 * Asked after rather more than twice what is usual: runs that are a little slower than all before
 * them are no news, and the tail of a distribution is longer than fifty samples show.
 * docs/quality.md has what it costs and saves: with twice, every fourth false alarm more; with
 * more, a later detection. The shortest bucket makes it 2m15s at least.
 */
static ov_time with_margin(ov_time usual)
{
	return usual * 9 / 4;
}

/* The silence after which it is asked; 0 while too little is known. */
static ov_time asked_after(const struct habit *row)
{
	if (row->runs < HABIT_RUNS || silence_count(row->counts) < HABIT_SAMPLES)
		return 0;
	return with_margin(silence_within(row->counts, HABIT_PERMILLE));
}

static void derive(struct habits *h)
{
	h->least = 0;
	for (size_t i = 0; i < h->rows.n; i++) {
		ov_time after = h->rows.p[i]->asked_after;

		if (after && (!h->least || after < h->least))
			h->least = after;
	}
}

/* Rows are in this order, so that each look for one, of every run in every tick, is short. */
static int row_cmp(const struct habit *row, enum activity activity, str tool, str model)
{
	int c = row->activity == activity ? 0 : row->activity < activity ? -1 : 1;

	c = c ? c : str_cmp(row->tool, tool);
	return c ? c : str_cmp(row->model, model);
}

/* Where it is, or would be. */
static size_t row_place(const struct habits *h, enum activity activity, str tool, str model)
{
	size_t low = 0, high = h->rows.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (row_cmp(h->rows.p[mid], activity, tool, model) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct habit *row_of(const struct habits *h, str model, enum activity activity, str tool)
{
	size_t i = row_place(h, activity, tool, model);

	return i < h->rows.n && row_cmp(h->rows.p[i], activity, tool, model) == 0 ? h->rows.p[i]
										  : NULL;
}

static void row_add(struct habits *h, struct habit *row)
{
	size_t at = row_place(h, row->activity, row->tool, row->model);

	vec_push(&h->rows, row);
	for (size_t i = h->rows.n - 1; i > at; i--)
		h->rows.p[i] = h->rows.p[i - 1];
	h->rows.p[at] = row;
}

void habits_take(struct state *s, struct habit *row)
{
	struct habits *h = state_habits(s, row->agent);

	row->asked_after = asked_after(row);
	row_add(h, row);
	derive(h);
}

/*
 * Names of tools come from agents, who may make up new ones without end: what many runs have shown
 * gives way to them only when it was not seen for long.
 */
static bool make_room(struct habits *h, ov_time now)
{
	size_t least = 0;

	if (h->rows.n < HABIT_ROWS)
		return true;
	for (size_t i = 1; i < h->rows.n; i++) {
		const struct habit *a = h->rows.p[i], *b = h->rows.p[least];

		if (a->runs < b->runs || (a->runs == b->runs && a->used_at < b->used_at))
			least = i;
	}
	if (h->rows.p[least]->runs >= HABIT_RUNS && now - h->rows.p[least]->used_at < HABIT_KEPT)
		return false;
	row_free(h->rows.p[least]);
	vec_remove(&h->rows, least);
	return true;
}

static struct habit *row_new(struct habits *h, str model, enum activity activity, str tool)
{
	struct habit *row = mem_zalloc(1, sizeof(*row));

	record_set_str(&row->agent, h->agent);
	record_set_str(&row->model, model);
	record_set_str(&row->tool, tool);
	row->activity = activity;
	row_add(h, row);
	return row;
}

static void add_counts(struct habit *row, const value *counts)
{
	int64_t room = SILENCE_SAMPLES;

	for (int i = SILENCE_BUCKETS; i-- > 0 && room > 0;) {
		int64_t n = value_int_at(counts, silence_ends.names[i]);

		n = MIN(MAX(n, (int64_t)0), room);
		row->counts[i] += (int32_t)n;
		room -= n;
	}
	if (silence_count(row->counts) >= HABIT_HALVED_AT)
		for (int i = 0; i < SILENCE_BUCKETS; i++)
			row->counts[i] /= 2;
}

void habits_fold(struct state *s, const struct event *e)
{
	const struct ev_silence_learned *d = as_silence_learned(e);
	struct habits *h = state_habits(s, d->agent);
	str model = d->model;
	const value *list = d->silences;
	int added = 0;

	for (size_t i = 0; i < value_count(list); i++) {
		const value *v = value_item(list, i);
		int activity = status_parse(&activities, value_str_at(v, "activity"));
		str tool = value_str_at(v, "tool");
		struct habit *row;

		if (activity < 0)
			continue;
		row = row_of(h, model, (enum activity)activity, tool);
		if (!row && added < HABIT_NEW_ROWS && make_room(h, e->at)) {
			row = row_new(h, model, (enum activity)activity, tool);
			added++;
		}
		/*
		 * Names of tools that became the same in the telling: one run must not teach
		 * as many.
		 */
		if (!row || row->used_seq == e->seq)
			continue;
		add_counts(row, value_at(v, "counts"));
		row->runs++;
		row->used_seq = e->seq;
		row->used_at = e->at;
		row->asked_after = asked_after(row);
	}
	derive(h);
}

/* ---- judging ---- */

/*
 * It was asked, or told of, and spoke again by itself: what is usual for others does not hold
 * for it.
 */
static bool was_asked_in_vain(const struct assignment *as)
{
	return as->run->mute_at || (as->node && as->node->stall.open && as->status != AS_STALLED);
}

static const struct habit *known(const struct assignment *as, const struct observation *o,
		enum activity activity)
{
	const struct habit *row;
	str tool;

	if (!o || !as->run || !as->habits || !as->habits->least || activity == ACTIVITY_APART ||
			was_asked_in_vain(as))
		return NULL;
	tool = o->tool_program.n ? o->tool_program : o->tool;
	row = row_of(as->habits, as->run->model, activity,
			activity == ACTIVITY_TOOL ? utf8_truncate(tool, SILENCE_TOOL) : STR(""));
	return row && row->asked_after ? row : NULL;
}

/*
 * One that was at work since it last spoke, and pauses in it, does not think: that is no
 * measure for it.
 */
const struct habit *habit_silent(const struct assignment *as, const struct observation *o)
{
	if (!o || (o->doing == ACTIVITY_UNSAID && o->process_at > o->output_at))
		return NULL;
	return known(as, o, o->doing);
}

/* It lives, so an agent that says nothing of itself is at work. */
const struct habit *habit_busy(const struct assignment *as, const struct observation *o)
{
	return o ? known(as, o, o->doing == ACTIVITY_UNSAID ? ACTIVITY_WORK : o->doing) : NULL;
}

ov_time idle_configured(const struct policy *p, const struct assignment *as)
{
	return as->idle_after ? as->idle_after : p->idle_after;
}

/*
 * One who wrote down a duration is never made to wait longer than that. A default gives way to what
 * is known of an agent, up to `most`.
 */
static ov_time bounded(ov_time after, ov_time configured, ov_time most, bool set)
{
	return MIN(after, set ? configured : most);
}

static ov_time asked_by(const struct habit *row, ov_time idle, bool set)
{
	return bounded(row->asked_after, idle, 2 * idle, set);
}

ov_time habit_idle(const struct policy *p, const struct assignment *as, const struct observation *o)
{
	const struct habit *row = habit_silent(as, o);
	ov_time idle = idle_configured(p, as);

	return row && idle ? asked_by(row, idle, p->idle_set || as->idle_after) : idle;
}

/*
 * Of an agent that says nothing, and whose runs were hardly ever at work in silence, one that is
 * stands out, though there are too few of them for a measure: half of the time that is given to
 * those of which nothing is known, and never less than the longest of them with its margin.
 */
static ov_time rarely_busy(const struct policy *p, const struct assignment *as,
		const struct habit *idle)
{
	const struct habit *work = row_of(as->habits, as->run->model, ACTIVITY_WORK, STR(""));
	ov_time longest = work ? silence_within(work->counts, 1000) : 0;

	if (idle->runs < RUNS_MANY)
		return p->mute_after;
	return MIN(p->mute_after,
			MAX(p->mute_after / 2,
					MAX(with_margin(longest), BUSY * idle->asked_after)));
}

ov_time habit_mute(const struct policy *p, const struct assignment *as, const struct observation *o)
{
	const struct habit *row = habit_busy(as, o), *idle = o ? known(as, o, o->doing) : NULL;
	ov_time mute = p->mute_after, most = mute + mute / 4, after;

	if (!row && idle && idle->activity == ACTIVITY_UNSAID)
		return rarely_busy(p, as, idle);
	if (!row || !idle)
		return mute;
	if (row->activity == ACTIVITY_TOOL)
		return bounded(row->asked_after, mute, most, p->mute_set);
	/* Without a tool that could explain it, whoever does nothing is asked first. */
	after = MAX(row->asked_after, BUSY * idle->asked_after);
	return bounded(after, mute, most, p->mute_set || row->activity != ACTIVITY_WORK);
}

ov_time habit_least(const struct policy *p, const struct assignment *as)
{
	ov_time idle = idle_configured(p, as);

	return as->habits && as->habits->least ? MIN(as->habits->least, idle) : idle;
}

/* ---- for people ---- */

static const char *const silence_words[ACTIVITY_COUNT] = {
	[ACTIVITY_UNSAID] = "silences of this agent end",
	[ACTIVITY_STARTING] = "runs of this agent write their first words",
	[ACTIVITY_THINKING] = "silences of this agent between two calls end",
	[ACTIVITY_WORK] = "silences of this agent at work end",
	[ACTIVITY_BETWEEN] = "pauses of this agent between two turns end",
};

str habit_words(struct arena *a, const struct habit *h)
{
	str within = duration_format_short(a, silence_within(h->counts, HABIT_PERMILLE));

	if (h->activity == ACTIVITY_TOOL)
		return arena_printf(a,
				"99.5 %% of this agent's `" STR_FMT
				"` calls answer within " STR_FMT,
				STR_ARG(h->tool), STR_ARG(within));
	return arena_printf(a, "99.5 %% of the %s within " STR_FMT, silence_words[h->activity],
			STR_ARG(within));
}

value *habits_view(struct arena *a, const struct state *s, const struct policy *p, str agent)
{
	const struct habits *h = habit_find(s, agent);
	value *list = value_array(a);

	for (size_t i = 0; h && i < h->rows.n; i++) {
		const struct habit *row = h->rows.p[i];
		value *v = value_object(a);

		value_put(a, v, "model", value_str(a, row->model));
		value_put(a, v, "activity", value_cstr(a, status_name(&activities, row->activity)));
		value_put(a, v, "tool", value_str(a, row->tool));
		value_put(a, v, "samples", value_int(a, silence_count(row->counts)));
		value_put(a, v, "runs", value_int(a, row->runs));
		value_put(a, v, "within_ms",
				value_int(a, silence_within(row->counts, HABIT_PERMILLE)));
		value_put(a, v, "text", value_str(a, habit_words(a, row)));
		if (row->asked_after && p->idle_after)
			value_put(a, v, "asked_after_ms",
					value_int(a, asked_by(row, p->idle_after, p->idle_set)));
		value_push(a, list, v);
	}
	return list;
}
