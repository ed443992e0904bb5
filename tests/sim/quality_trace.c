/* What a trace shows at a moment, by arithmetic over its spans. */
#include "tests/sim/quality.h"

struct trace trace_new(enum kind kind)
{
	return (struct trace){ .kind = kind,
		.sick_at = OV_TIME_MAX,
		.ends_at = OV_TIME_MAX,
		.dead_at = OV_TIME_MAX };
}

void trace_add(struct trace *t, ov_time lasts, struct span s)
{
	assert(t->n < SPANS_MAX);
	s.from = t->length;
	t->spans[t->n++] = s;
	t->length += lasts;
}

static ov_time span_end(const struct trace *t, size_t i)
{
	return i + 1 < t->n ? t->spans[i + 1].from : OV_TIME_MAX;
}

static size_t index_at(const struct trace *t, ov_time at)
{
	size_t i = t->n - 1;

	while (i > 0 && t->spans[i].from > at)
		i--;
	return i;
}

const struct span *trace_at(const struct trace *t, ov_time at)
{
	return &t->spans[index_at(t, at)];
}

static bool does_another(const struct span *a, const struct span *b)
{
	return a->tool != b->tool || (a->tool && a->name != b->name) ||
			a->compacting != b->compacting || a->waiting != b->waiting ||
			a->retrying != b->retrying;
}

/* Where a call, a wait or a compaction begins or ends, an agent that tells says so. */
static bool begins_with_word(const struct trace *t, size_t i)
{
	return t->spans[i].out_every ||
			(t->tells && i > 0 && does_another(&t->spans[i - 1], &t->spans[i]));
}

ov_time trace_output(const struct trace *t, ov_time at)
{
	for (size_t i = index_at(t, at) + 1; i-- > 0;) {
		const struct span *s = &t->spans[i];
		ov_time last = MIN(at, span_end(t, i) - 1);

		if (last < s->from || !begins_with_word(t, i))
			continue;
		return s->out_every ? last - (last - s->from) % s->out_every : s->from;
	}
	return -1;
}

/* The first output of a span after that moment, or OV_TIME_MAX. */
static ov_time next_in(const struct trace *t, size_t i, ov_time after)
{
	const struct span *s = &t->spans[i];
	ov_time next = s->from;

	if (!begins_with_word(t, i))
		return OV_TIME_MAX;
	if (after >= next && !s->out_every)
		return OV_TIME_MAX;
	if (after >= next)
		next += ((after - next) / s->out_every + 1) * s->out_every;
	return next < span_end(t, i) ? next : OV_TIME_MAX;
}

ov_time trace_next_output(const struct trace *t, ov_time after)
{
	ov_time next = OV_TIME_MAX;

	for (size_t i = index_at(t, after); i < t->n && next == OV_TIME_MAX; i++)
		next = next_in(t, i, after);
	return next;
}

ov_time trace_next_same(const struct trace *t, ov_time after)
{
	ov_time next = OV_TIME_MAX;

	for (size_t i = index_at(t, after); i < t->n && next == OV_TIME_MAX; i++)
		if (t->spans[i].says == SAYS_SAME)
			next = next_in(t, i, after);
	return next;
}

/* How long a span and a stretch of time have in common. */
static ov_time common(const struct trace *t, size_t i, ov_time from, ov_time to)
{
	ov_time begin = MAX(t->spans[i].from, from), end = MIN(span_end(t, i), to);

	return MAX(end - begin, (ov_time)0);
}

int64_t trace_cpu_ms(const struct trace *t, ov_time from, ov_time to)
{
	int64_t sum = 0;

	for (size_t i = 0; i < t->n; i++)
		sum += common(t, i, from, to) * t->spans[i].cpu_permille;
	return sum / 1000;
}

int64_t trace_io_bytes(const struct trace *t, ov_time from, ov_time to)
{
	int64_t sum = 0;

	for (size_t i = 0; i < t->n; i++)
		sum += common(t, i, from, to) * t->spans[i].io_per_s;
	return sum / 1000;
}

/* Changes of a span come at the end of each of its intervals. */
static int64_t changes_until(const struct trace *t, size_t i, ov_time to)
{
	const struct span *s = &t->spans[i];

	return common(t, i, s->from, to) / s->tree_every;
}

bool trace_tree_changed(const struct trace *t, ov_time from, ov_time to)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->spans[i].tree_every && changes_until(t, i, to) > changes_until(t, i, from))
			return true;
	return false;
}

ov_time trace_silence(const struct trace *t)
{
	ov_time until = MIN(t->ends_at, t->sick_at), at = 0, longest = 0;

	while (at < until) {
		ov_time next = MIN(trace_next_output(t, at), until);

		if (next == OV_TIME_MAX)
			break;
		longest = MAX(longest, next - at);
		at = next;
	}
	return longest;
}
