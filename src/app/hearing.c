#include "app/hearing.h"

#include "app/engine.h"
#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/limits.h"
#include "drive/run.h"
#include "sys/file.h"
#include "sys/inject.h"

enum { INSTRUCTION_MAX = 4 << 20 };

static void tell(struct hearing *h, str command, const value *params)
{
	engine_report(h->engine, command, params);
}

void hearing_init(struct hearing *h, struct engine *e, str run_id, const char *dir, uint64_t offset)
{
	*h = (struct hearing){ .engine = e, .run_id = run_id, .dir = dir, .tell = tell };
	/* Reports end outside of any block, so from there on nothing is missing. */
	update_scan_init(&h->scan, offset, false);
}

void hearing_done(struct hearing *h)
{
	update_scan_done(&h->scan);
}

static const struct assignment *assignment_of(const struct engine *e, str run_id)
{
	const struct run *r = state_run(engine_state(e), run_id);

	return r ? state_assignment(engine_state(e), r->assignment_id) : NULL;
}

static bool is_open(const struct dispatch *d, str run_id)
{
	return str_eq(d->run_id, run_id) && d->nonce.n && d->nonce.n <= HEARING_NONCE_MAX &&
			d->acknowledged_at == 0;
}

bool hearing_is_awaited(const struct engine *e, str run_id)
{
	const struct assignment *as = assignment_of(e, run_id);

	return as && as->status == AS_STALLED;
}

str hearing_dispatch_text(struct arena *a, const struct engine *e, int64_t seq)
{
	struct store_record *records;
	struct event ev;
	size_t n;

	if (seq <= 0 ||
			store_read(engine_store(e), (uint64_t)seq - 1, 1, a, &records, &n, NULL) <
					0 ||
			n == 0 || records[0].seq != (uint64_t)seq ||
			event_decode(a, records[0].seq, records[0].at, records[0].kind,
					records[0].body, &ev, NULL) < 0 ||
			ev.kind != EV_DISPATCH_INTENDED)
		return (str){ 0 };
	return value_str_at(ev.data, "instruction");
}

/* ---- nonces ---- */

static void report_ack(struct hearing *h, str dispatch_id, const char *how)
{
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
	value *v = value_object(&a);

	value_put(&a, v, "dispatch", value_str(&a, dispatch_id));
	value_put(&a, v, "how", value_cstr(&a, how));
	h->tell(h, STR("dispatch.ack"), v);
}

void hearing_taken(struct hearing *h, str dispatch_id)
{
	const struct dispatch *d = state_dispatch(engine_state(h->engine), dispatch_id);

	if (d && str_eq(d->run_id, h->run_id) && d->acknowledged_at == 0)
		report_ack(h, d->id, "hook");
}

/* In the bytes, or across their border with those before. */
static bool heard(const struct hearing *h, str bytes, str nonce)
{
	char seam[2 * HEARING_NONCE_MAX];
	size_t n = MIN(bytes.n, (size_t)HEARING_NONCE_MAX);

	memcpy(seam, h->tail, h->tail_n);
	memcpy(seam + h->tail_n, bytes.p, n);
	return str_contains((str){ seam, h->tail_n + n }, nonce) || str_contains(bytes, nonce);
}

static void keep_tail(struct hearing *h, str bytes)
{
	size_t fresh = MIN(bytes.n, sizeof(h->tail));
	size_t old = MIN(h->tail_n, sizeof(h->tail) - fresh);

	memmove(h->tail, h->tail + h->tail_n - old, old);
	memcpy(h->tail + old, bytes.p + bytes.n - fresh, fresh);
	h->tail_n = old + fresh;
}

static void hear_nonces(struct hearing *h, str bytes)
{
	const struct assignment *as = assignment_of(h->engine, h->run_id);

	for (size_t i = 0; as && i < as->dispatches.n; i++) {
		const struct dispatch *d = as->dispatches.p[i];

		if (is_open(d, h->run_id) && heard(h, bytes, d->nonce))
			report_ack(h, d->id, "nonce");
	}
	keep_tail(h, bytes);
}

/* ---- updates ---- */

struct texts {
	str *p;
	size_t n, cap;
};

/* Everything that this run was told. Read only when a block speaks of an update, which is rare. */
static void sent_texts(struct hearing *h, struct arena *a, struct texts *ret)
{
	const struct assignment *as = assignment_of(h->engine, h->run_id);
	str text;

	if (file_read(a, path_join(a, h->dir, "instruction"), INSTRUCTION_MAX, &text, NULL) == 0)
		vec_push(ret, text);
	for (size_t i = 0; as && i < as->dispatches.n; i++) {
		if (!str_eq(as->dispatches.p[i]->run_id, h->run_id))
			continue;
		text = hearing_dispatch_text(a, h->engine, as->dispatches.p[i]->seq);
		if (text.n)
			vec_push(ret, text);
	}
}

static void report_update(struct hearing *h, struct arena *a, const struct update_block *b,
		const struct update_result *res)
{
	value *v = value_object(a);

	value_put(a, v, "run", value_str(a, h->run_id));
	value_put(a, v, "offset", value_int(a, (int64_t)h->scan.offset));
	value_put(a, v, "identity", value_str(a, update_identity(a, h->run_id, b)));
	if (res->verdict == UPDATE_OK)
		value_put(a, v, "update", update_to_value(a, &res->update));
	else
		value_put(a, v, "error", value_str(a, update_problems_text(a, res)));
	INJECT("before-run-report");
	h->tell(h, STR("run.report"), v);
	INJECT("after-run-report");
}

/* Read by a daemon before us. */
static bool is_taken(const struct hearing *h)
{
	const struct run *r = state_run(engine_state(h->engine), h->run_id);

	return r && (int64_t)h->scan.offset <= r->update_offset;
}

static void take_block(struct hearing *h, const struct update_block *b)
{
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
	struct update_result res;
	struct texts sent = { 0 };

	if (is_taken(h))
		return;
	update_parse(&a, b, NULL, 0, &res);
	if (res.verdict == UPDATE_NONE)
		return;
	sent_texts(h, &a, &sent);
	update_parse(&a, b, sent.p, sent.n, &res);
	vec_done(&sent);
	if (res.verdict == UPDATE_OK || res.verdict == UPDATE_BAD)
		report_update(h, &a, b, &res);
}

void hearing_bytes(struct hearing *h, str bytes, uint64_t at)
{
	struct update_block block;

	if (at != h->scan.offset) {
		/* What lay between was given up: it may have begun a block, or ended one. */
		update_scan_done(&h->scan);
		update_scan_init(&h->scan, at, true);
		h->tail_n = 0;
	}
	hear_nonces(h, bytes);
	while (update_scan_next(&h->scan, &bytes, &block))
		take_block(h, &block);
}

/*
 * A text is not longer than the line that it came in, so that counted from the line's end each of its
 * bytes has a place of its own in the stream. Where characters were replaced it may be: then it
 * begins where the one before it ended.
 */
void hearing_message(struct hearing *h, str text, uint64_t end)
{
	uint64_t begin = MAX(end - MIN(end, (uint64_t)text.n), h->scan.offset);

	h->tail_n = 0;
	update_scan_done(&h->scan);
	update_scan_init(&h->scan, begin, false);
	hearing_bytes(h, text, begin);
	hearing_end(h);
}

void hearing_end(struct hearing *h)
{
	struct update_block block;

	if (update_scan_end(&h->scan, &block))
		take_block(h, &block);
}
