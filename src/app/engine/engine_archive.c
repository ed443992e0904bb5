/*
 * What is cold: all events up to the one that archived a goal. They belong to other goals as well,
 * but a log is cut at one place only, and reading finds them wherever they are. The mark is derived
 * from the state, so a start goes on where the last daemon stopped.
 */
#include "app/engine/engine_impl.h"
#include "base/err.h"

/* Some milliseconds of work: small enough that nobody waits for it, large against two fsyncs. */
enum { ARCHIVE_STEP = 500 };

void engine_archive_open(struct engine *e)
{
	for (size_t i = 0; i < e->state->goals.n; i++)
		e->archive_to = MAX(e->archive_to, (uint64_t)e->state->goals.p[i]->archived_seq);
	/* Unreadable: then it is found out at the first attempt. */
	(void)store_border(e->store, &e->archived, NULL);
}

void engine_archive_note(struct engine *e, const struct batch *b)
{
	for (size_t i = 0; i < b->events.n; i++) {
		const struct event *ev = b->events.p[i];
		const struct goal *g = ev->kind == EV_GOAL_STATUS ? state_goal(e->state, ev->goal)
								  : NULL;

		if (g)
			e->archive_to = MAX(e->archive_to, (uint64_t)g->archived_seq);
	}
}

bool engine_archive_due(const struct engine *e)
{
	return e->archived < e->archive_to && !e->refusal && !e->failing;
}

int engine_archive(struct engine *e, struct ov_err *err)
{
	size_t moved = 0;
	int r = 0;

	if (!engine_archive_due(e) || engine_staged(e))
		return 0;
	/* A start must not need the archive. */
	if (e->snapshot_seq < e->archive_to)
		r = engine_snapshot(e, err);
	if (r == 0)
		r = store_archive(e->store, e->archive_to, ARCHIVE_STEP, &moved, err);
	e->archived += moved;
	if (r == 0 && moved == 0)
		r = ov_fail(err, OV_ESTATE, "the snapshot that comes before it was not written");
	if (r < 0)
		e->archive_to = e->archived;
	return r;
}
