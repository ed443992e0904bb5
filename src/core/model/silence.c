#include "core/model/silence.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"

#define NAME_OF(n) #n,
static const char *const end_names[] = { SILENCE_ENDS(NAME_OF) };
#undef NAME_OF
#define MS_OF(n) (n) * OV_SECOND,
static const ov_time ends[SILENCE_BUCKETS] = { SILENCE_ENDS(MS_OF) };
#undef MS_OF
const struct status_table silence_ends = { "silence", end_names, SILENCE_BUCKETS, NULL, NULL };

#define ACTIVITY_NAME(sym, name) [sym] = name,
static const char *const activity_names[] = { ACTIVITIES(ACTIVITY_NAME) };
#undef ACTIVITY_NAME
const struct status_table activities = { "activity", activity_names, ACTIVITY_COUNT, NULL, NULL };

int silence_bucket(ov_time lasted)
{
	int i = 0;

	while (i < SILENCE_BUCKETS - 1 && lasted > ends[i])
		i++;
	return i;
}

ov_time silence_end(int bucket)
{
	return ends[bucket];
}

int64_t silence_count(const int32_t counts[SILENCE_BUCKETS])
{
	int64_t sum = 0;

	for (int i = 0; i < SILENCE_BUCKETS; i++)
		sum += counts[i];
	return sum;
}

ov_time silence_within(const int32_t counts[SILENCE_BUCKETS], int permille)
{
	int64_t all = silence_count(counts), sum = 0;

	for (int i = 0; i < SILENCE_BUCKETS && all; i++) {
		sum += counts[i];
		if (sum * 1000 >= all * permille)
			return ends[i];
	}
	return 0;
}

static struct silence_row *row_of(struct silence_book *b)
{
	struct silence_row *row;

	for (size_t i = 0; i < b->n; i++)
		if (b->rows[i].activity == b->doing && strcmp(b->rows[i].tool, b->tool) == 0)
			return &b->rows[i];
	if (b->n == SILENCE_ROWS)
		return NULL;
	row = &b->rows[b->n++];
	row->activity = b->doing;
	memcpy(row->tool, b->tool, sizeof(row->tool));
	return row;
}

/*
 * Only the longest are kept: a run that speaks every second has thousands of short silences, and
 * its longest one is what it would be asked about.
 */
static void note(struct silence_row *row, uint8_t bucket)
{
	size_t at = 0;

	if (row->n == SILENCE_SAMPLES) {
		if (bucket <= row->longest[0])
			return;
		memmove(row->longest, row->longest + 1, --row->n);
	}
	while (at < row->n && row->longest[at] < bucket)
		at++;
	memmove(row->longest + at + 1, row->longest + at, row->n - at);
	row->longest[at] = bucket;
	row->n++;
}

void silence_hear(struct silence_book *b, ov_time at, enum activity doing, str tool)
{
	struct silence_row *row = NULL;

	if (b->doing == ACTIVITY_UNSAID && b->working)
		b->doing = ACTIVITY_WORK;
	if (b->open && !b->spoilt && b->doing != ACTIVITY_APART && at >= b->since)
		row = row_of(b);
	if (row)
		note(row, (uint8_t)silence_bucket(at - b->since));
	b->open = true;
	b->spoilt = b->working = false;
	b->since = at;
	b->doing = doing;
	tool = doing == ACTIVITY_TOOL ? utf8_truncate(tool, SILENCE_TOOL) : STR("");
	memcpy(b->tool, tool.p, tool.n);
	b->tool[tool.n] = '\0';
}

void silence_work(struct silence_book *b)
{
	b->working = true;
}

void silence_spoil(struct silence_book *b)
{
	b->spoilt = true;
}

static value *counts_of(struct arena *a, const struct silence_row *row)
{
	int32_t counts[SILENCE_BUCKETS] = { 0 };
	value *v = value_object(a);

	for (size_t i = 0; i < row->n; i++)
		counts[row->longest[i]]++;
	for (int i = 0; i < SILENCE_BUCKETS; i++)
		if (counts[i])
			value_put(a, v, end_names[i], value_int(a, counts[i]));
	return v;
}

value *silence_told(struct arena *a, const struct silence_book *b)
{
	value *list = b->n ? value_array(a) : NULL;

	for (size_t i = 0; i < b->n; i++) {
		const struct silence_row *row = &b->rows[i];
		value *v = value_object(a);

		value_put(a, v, "activity", value_cstr(a, activity_names[row->activity]));
		if (row->activity == ACTIVITY_TOOL)
			value_put(a, v, "tool",
					value_str(a, utf8_clean(a, arena_str(a, str_from(row->tool)))));
		value_put(a, v, "counts", counts_of(a, row));
		value_push(a, list, v);
	}
	return list;
}
