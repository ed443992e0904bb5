#include "agent/fact/repeats.h"

#define HASH_FIRST 0xcbf29ce484222325u
#define HASH_TIMES 0x100000001b3u

static void begin_line(struct repeats *r)
{
	r->hash = HASH_FIRST;
	r->escape = ESCAPE_NO;
	r->returned = r->moves = r->visible = false;
	r->line_n = 0;
}

/* It began with the line before this one, at the latest. */
static void begin_again(struct repeats *r)
{
	r->count = r->seen = 1;
	r->old = 0;
	r->since = r->last_at = r->line_at;
}

void repeats_cut(struct repeats *r)
{
	*r = (struct repeats){ .gap = r->gap };
}

void repeats_clock_moved(struct repeats *r, ov_time by)
{
	r->since += by;
	r->last_at += by;
	r->line_at += by;
}

static void block_over(struct repeats *r, ov_time at, bool old)
{
	r->in_block = 0;
	if (old) {
		r->old++;
		r->since = r->last_at = at;
		return;
	}
	if (at < r->last_at + r->gap)
		return;
	r->last_at = at;
	r->seen++;
	r->count = r->seen + (r->seen > REPEATS_CONFIRM ? r->old : 0);
	memcpy(r->text, r->line, r->line_n);
	r->text[r->line_n] = '\0';
}

static uint32_t slot_of(uint64_t pair)
{
	static_assert(4 * REPEATS_PERIOD == 256, "eight bits");
	return (uint32_t)((pair * 0x9e3779b97f4a7c15u) >> 56);
}

static uint64_t ring_at(const struct repeats *r, uint32_t back)
{
	return r->ring[(r->lines - back) % (2 * REPEATS_PERIOD)];
}

/*
 * So many lines ago this line stood after the same one before it; 0: it did not, or too long ago.
 */
static uint32_t find_period(const struct repeats *r, uint64_t pair)
{
	const uint32_t slot = slot_of(pair);

	if (r->lines && ring_at(r, 1) == r->hash)
		return 1;
	if (r->pairs[slot].pair != pair || r->lines - r->pairs[slot].at > REPEATS_PERIOD)
		return 0;
	return r->lines - r->pairs[slot].at;
}

static void take_line(struct repeats *r, ov_time at, bool old)
{
	uint64_t pair = ((r->lines ? ring_at(r, 1) : 0) * HASH_TIMES) ^ r->hash;
	const uint32_t slot = slot_of(pair);

	if (!r->period || ring_at(r, r->period) != r->hash) {
		begin_again(r);
		r->period = find_period(r, pair);
		/* The line before it, too, stood where it stands now. */
		r->in_block = r->period > 1;
	}
	if (r->period && ++r->in_block == r->period)
		block_over(r, at, old);
	r->pairs[slot].pair = pair;
	r->pairs[slot].at = r->lines;
	r->line_at = at;
	r->ring[r->lines++ % (2 * REPEATS_PERIOD)] = r->hash;
}

/* Colours say nothing; what moves about on a screen is no line of text. */
static bool escape(struct repeats *r, unsigned char c)
{
	if (r->escape == ESCAPE_NO && c != 0x1b)
		return false;
	if (r->escape == ESCAPE_NO)
		r->escape = ESCAPE_BEGUN;
	else if (r->escape == ESCAPE_BEGUN)
		r->escape = c == '[' ? ESCAPE_CSI : ESCAPE_NO;
	else if (c >= 0x40 && c <= 0x7e) {
		r->moves |= c != 'm';
		r->escape = ESCAPE_NO;
	}
	return true;
}

static void take_byte(struct repeats *r, unsigned char c)
{
	if (c == '\r') {
		r->returned = true;
		return;
	}
	if (r->returned) { /* what stood there is written over */
		bool moves = r->moves;

		begin_line(r);
		r->moves = moves;
	}
	if (escape(r, c))
		return;
	r->hash = (r->hash ^ c) * HASH_TIMES;
	r->visible |= c > ' ';
	if (r->line_n < sizeof(r->line) - 1)
		r->line[r->line_n++] = (char)c;
}

bool repeats_bytes(struct repeats *r, str bytes, ov_time at, bool old)
{
	int64_t before = r->count;

	if (!r->hash)
		begin_line(r);
	for (size_t i = 0; i < bytes.n; i++) {
		if (bytes.p[i] != '\n') {
			take_byte(r, (unsigned char)bytes.p[i]);
			continue;
		}
		if (r->visible && !r->moves)
			take_line(r, at, old);
		begin_line(r);
	}
	return r->count != before;
}
