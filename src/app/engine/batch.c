#include "app/engine/batch.h"

#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/model/record.h"
#include "data/value/json.h"

void report_done(struct report *r)
{
	record_set_str(&r->command, STR(""));
	record_set_str(&r->params, STR(""));
}

void reports_done(struct reports *r)
{
	for (size_t i = 0; i < r->n; i++)
		report_done(&r->p[i]);
	vec_done(r);
}

void batch_clear(struct batch *b)
{
	b->events.n = 0;
	b->waiters.n = 0;
	b->reports.n = 0;
	arena_reset(&b->arena);
}

void batch_done(struct batch *b)
{
	reports_done(&b->reports);
	arena_done(&b->arena);
	vec_done(&b->events);
	vec_done(&b->waiters);
}

struct store_record *batch_records(struct batch *b)
{
	struct store_record *recs = arena_array(&b->arena, struct store_record, b->events.n);
	_cleanup_(buf_done) struct buf body = BUF_INIT;

	for (size_t i = 0; i < b->events.n; i++) {
		const struct event *ev = b->events.p[i];

		buf_clear(&body);
		json_write_canonical(&body, event_body(&b->arena, ev));
		recs[i].at = ev->at;
		recs[i].kind = str_from(event_name(ev->kind));
		recs[i].body = arena_str(&b->arena, buf_str(&body));
	}
	return recs;
}

void batch_take_waiters(struct waiters *to, struct batch *b)
{
	for (size_t i = 0; i < b->waiters.n; i++)
		vec_push(to, b->waiters.p[i]);
	b->waiters.n = 0;
}

void batch_take_reports(struct reports *to, struct batch *b)
{
	for (size_t i = 0; i < b->reports.n; i++)
		vec_push(to, b->reports.p[i]);
	b->reports.n = 0;
}

void waiters_answer(const struct waiters *waiters, int r, const struct ov_err *err)
{
	for (size_t i = 0; i < waiters->n; i++) {
		const struct waiter *w = &waiters->p[i];

		if (w->reply)
			w->reply(w->user, r, r == 0 ? w->result : NULL, err);
		else
			w->after(w->user, r, err);
	}
}
