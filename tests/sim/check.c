#include "tests/sim/check.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/fold/apply.h"
#include "tests/sim/check_impl.h"
#include "tests/sim/disk.h"

enum { READ_AT_ONCE = 512 };

#define ROW(name) &inv_##name,
const struct invariant *const invariants[] = { INVARIANTS(ROW) };
#undef ROW
const size_t invariants_n = ARRAY_LEN(invariants);

struct checker *checker_new(struct sim *s)
{
	struct checker *c = mem_zalloc(1, sizeof(*c));

	c->s = s;
	books_init(c);
	c->shadow = state_new(7);
	for (size_t i = 0; s->o.sabotage && i < invariants_n; i++)
		if (strcmp(invariants[i]->name, s->o.sabotage) == 0)
			c->victim = invariants[i];
	return c;
}

void checker_free(struct checker *c)
{
	if (!c)
		return;
	books_done(c);
	state_free(c->shadow);
	arena_done(&c->scratch);
	vec_done(&c->performed);
	mem_free(c);
}

/* ---- reading ---- */

static void feed(struct checker *c, const struct event *e)
{
	struct ov_err err = { 0 };

	for (size_t i = 0; i < invariants_n; i++)
		if (invariants[i]->event)
			invariants[i]->event(c, e);
	books_take(c, e);
	if (!c->shadow_failed && apply(c->shadow, e, &err) < 0) {
		c->shadow_failed = true;
		sim_violated(c->s, "fold", "the log does not fold: %s", err.msg);
	}
	if (e->kind == EV_PLAN_APPLIED)
		books_replanned(c, e->goal);
	c->news++;
}

/*
 * Reading verifies the chain from record to record; all of it is verified when a daemon comes up.
 */
static bool take_record(struct checker *c, const struct store_record *rec)
{
	struct ov_err err = { 0 };
	struct event e;

	if (rec->seq != c->seen + 1 + c->gap) {
		sim_violated(c->s, "chain", "record %llu does not follow record %llu",
				(unsigned long long)rec->seq, (unsigned long long)c->seen);
		return false;
	}
	if (event_decode(&c->scratch, rec->seq, rec->at, rec->kind, rec->body, &e, &err) < 0) {
		sim_violated(c->s, "chain", "record %llu is no event: %s",
				(unsigned long long)rec->seq, err.msg);
		return false;
	}
	c->seen = rec->seq;
	feed(c, &e);
	return true;
}

/*
 * What a daemon tells that it wrote is believed until it is read back when the next one comes up.
 */
void checker_published(struct checker *c, struct sim_daemon *d, const struct event *const *events,
		size_t n)
{
	c->up = d;
	c->state = NULL;
	for (size_t i = 0; i < n && !c->s->violated && events[i]->seq == c->seen + 1 + c->gap;
			i++) {
		c->seen = events[i]->seq;
		feed(c, events[i]);
	}
}

/* Everything that became durable since, whoever wrote it: of those that died, too. */
static void read_news(struct checker *c)
{
	struct store *store = engine_store(c->up->engine);
	uint64_t head = engine_head(c->up->engine);

	while (c->seen < head && !c->s->violated) {
		struct store_record *recs;
		size_t n;

		/* A store that cannot be read now is read later. */
		if (store_read(store, c->seen, READ_AT_ONCE, &c->scratch, &recs, &n, NULL) < 0 ||
				n == 0)
			return;
		for (size_t i = 0; i < n && take_record(c, &recs[i]); i++)
			;
	}
}

static void begin(struct checker *c)
{
	c->up = daemon_up(c->s);
	c->state = NULL;
	if (!c->up)
		return;
	disk_set_life(c->s->disk, (unsigned)c->up->life);
	read_news(c);
	if (!engine_staged(c->up->engine) && engine_state(c->up->engine)->seq == c->seen)
		c->state = engine_state(c->up->engine);
}

static void end(struct checker *c)
{
	c->news = 0;
	if (c->scratch.used)
		arena_reset(&c->scratch);
}

static void break_victim(struct checker *c)
{
	if (c->victim && !c->broken && c->victim->sabotage && !c->s->violated) {
		c->broken = c->victim->sabotage(c);
		if (c->broken)
			sim_trace(c->s, "SABOTAGE of %s", c->victim->name);
	}
}

void checker_step(struct checker *c)
{
	begin(c);
	break_victim(c);
	for (size_t i = 0; i < invariants_n; i++)
		if (invariants[i]->step) {
			invariants[i]->step(c);
			c->s->stats.checks++;
		}
	c->fresh = false;
	end(c);
}

void checker_restarted(struct checker *c)
{
	c->fresh = true;
	begin(c);
	for (size_t i = 0; c->up && i < invariants_n; i++)
		if (invariants[i]->restart) {
			invariants[i]->restart(c);
			c->s->stats.checks++;
		}
	end(c);
}

void checker_end(struct checker *c)
{
	begin(c);
	for (size_t i = 0; i < invariants_n; i++)
		if (invariants[i]->end) {
			invariants[i]->end(c);
			c->s->stats.checks++;
		}
	end(c);
}

/* ---- forgery ---- */

struct event *forge(struct checker *c, enum event_kind kind, const struct node_book *n)
{
	struct event *e = arena_new(&c->scratch, struct event);

	e->seq = c->seen + 1;
	e->at = sim_now(c->s);
	e->kind = kind;
	e->actor = STR("overseer");
	e->data = value_object(&c->scratch);
	if (!n)
		return e;
	e->goal = n->goal->id;
	e->node = n->id;
	if (n->as)
		e->assignment = n->as->id;
	if (n->as && n->as->run)
		e->run = n->as->run->id;
	return e;
}

void forge_text(struct checker *c, struct event *e, const char *key, str text)
{
	value_put(&c->scratch, e->data, key, value_str(&c->scratch, text));
}

void forge_int(struct checker *c, struct event *e, const char *key, int64_t i)
{
	value_put(&c->scratch, e->data, key, value_int(&c->scratch, i));
}

void forge_show(struct checker *c, struct event *e)
{
	c->victim->event(c, e);
}

struct as_book *some_live(struct checker *c, bool running)
{
	for (size_t i = 0; i < c->live.n; i++) {
		struct as_book *as = c->live.p[i];

		if (!running ||
				(as->stage == STAGE_RUNNING && as->run &&
						as->run->status == RUN_RUNNING))
			return as;
	}
	return NULL;
}

struct node_book *some_node(struct checker *c, enum node_status status)
{
	for (size_t i = 0; i < c->node_list.n; i++)
		if (c->node_list.p[i]->status == status &&
				c->node_list.p[i]->goal->status == GOAL_ACTIVE)
			return c->node_list.p[i];
	return NULL;
}
