#include "core/life/update_pace.h"

#include "base/str.h"
#include "data/value/json.h"

enum {
	FULL_MS = UPDATE_BURST * UPDATE_EVERY_MS,
	LEAST_MS = -UPDATE_OVERDRAFT * UPDATE_EVERY_MS,
	SIZE_MS_MAX = 10 * 60 * 1000,
};

void update_pace_init(struct update_pace *p)
{
	*p = (struct update_pace){ .credit_ms = FULL_MS,
		.at_ms = -1,
		.told = -1,
		.status = -1,
		.arena = ARENA_SMALL };
}

static void let_go(struct update_pace *p)
{
	arena_done(&p->arena);
	p->doc = NULL;
	p->status = -1;
	p->identity = p->error = p->error_identity = (str){ 0 };
}

void update_pace_done(struct update_pace *p)
{
	let_go(p);
}

/* Into a new arena: the old one would grow with each of thousands. */
static void hold_update(struct update_pace *p, const struct update *u, str identity,
		uint64_t offset)
{
	struct arena fresh = ARENA_SMALL;
	value *doc = update_merge(&fresh, p->doc, u);
	int status = u->status >= 0 ? u->status : p->status;
	str id = arena_str(&fresh, identity);

	let_go(p);
	p->arena = fresh;
	p->doc = doc;
	p->status = status;
	p->identity = id;
	p->offset = offset;
}

static void hold_error(struct update_pace *p, const struct update_result *r, str identity,
		uint64_t offset)
{
	struct arena fresh = ARENA_SMALL;
	value *doc = p->doc ? value_copy(&fresh, p->doc) : NULL;
	int status = p->status;
	str id = arena_str(&fresh, p->identity);

	let_go(p);
	p->arena = fresh;
	p->doc = doc;
	p->status = status;
	p->identity = id;
	p->error = update_problems_text(&p->arena, r);
	p->error_identity = arena_str(&p->arena, identity);
	p->error_offset = offset;
}

void update_pace_add(struct update_pace *p, const struct update_result *r, str identity,
		uint64_t offset)
{
	if (r->verdict == UPDATE_OK)
		hold_update(p, &r->update, identity, offset);
	else
		hold_error(p, r, identity, offset);
}

static int64_t credit(const struct update_pace *p, int64_t now_ms)
{
	int64_t passed = p->at_ms < 0 ? 0 : MAX(now_ms - p->at_ms, (int64_t)0);

	return MIN(p->credit_ms + MIN(passed, (int64_t)FULL_MS - LEAST_MS + SIZE_MS_MAX),
			(int64_t)FULL_MS);
}

/* A status that was not told last changes what is to be done. */
static bool decides(const struct update_pace *p)
{
	return p->doc && p->status >= 0 && p->status != p->told;
}

/* What is there to be: blocked ends the run, so it costs one event, and waits for nothing. */
static int64_t needed(const struct update_pace *p)
{
	if (decides(p) && p->status == NODE_BLOCKED)
		return INT64_MIN;
	return UPDATE_EVERY_MS + (decides(p) ? LEAST_MS : 0);
}

/* Beyond what every event costs: what it is larger than a second's worth. */
static int64_t size_ms(const value *doc)
{
	struct arena a = ARENA_INIT;
	int64_t ms = doc ? (int64_t)(json_text(&a, doc).n * 1000 / UPDATE_BYTES_A_SECOND) : 0;

	arena_done(&a);
	return MIN(MAX(ms - UPDATE_EVERY_MS, (int64_t)0), (int64_t)SIZE_MS_MAX);
}

static bool is_held(const struct update_pace *p)
{
	return p->doc || p->error.n;
}

bool update_pace_next(struct update_pace *p, int64_t now_ms, bool over, struct update_told *ret)
{
	int64_t has = credit(p, now_ms);

	/* Of both, the words were first. What is told stays valid until the next call. */
	if (!is_held(p) || (!over && has < needed(p)))
		return false;
	p->credit_ms = MAX(has - UPDATE_EVERY_MS, MIN(has, (int64_t)LEAST_MS)) - size_ms(p->doc);
	p->credit_ms = MAX(p->credit_ms, (int64_t)LEAST_MS - SIZE_MS_MAX);
	p->at_ms = now_ms;
	if (p->doc) {
		*ret = (struct update_told){ .doc = p->doc,
			.identity = p->identity,
			.offset = p->offset };
		p->told = p->status >= 0 ? p->status : p->told;
		p->doc = NULL;
		p->status = -1;
	} else {
		*ret = (struct update_told){ .error = p->error,
			.identity = p->error_identity,
			.offset = p->error_offset };
		p->error = (str){ 0 };
	}
	return true;
}

int64_t update_pace_wait_ms(const struct update_pace *p, int64_t now_ms)
{
	int64_t need = needed(p), has = credit(p, now_ms);

	if (!is_held(p))
		return -1;
	return need <= has ? 0 : need - has;
}
