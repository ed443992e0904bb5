#include "app/engine/run_output.h"

#include "app/engine/engine.h"
#include "base/arena.h"
#include "base/str.h"
#include "sys/file/file.h"
#include "sys/host/inject.h"

enum { INSTRUCTION_MAX = 4 << 20 };

static void run_output_tell(struct run_output *h, str command, const value *params)
{
	engine_report(h->engine, command, params);
}

void run_output_init(struct run_output *h, struct engine *e, str run_id, const char *dir,
		uint64_t offset)
{
	*h = (struct run_output){ .engine = e,
		.run_id = run_id,
		.dir = dir,
		.tell = run_output_tell };
	update_pace_init(&h->pace);
	/* Reports end outside of any block, so from there on nothing is missing. */
	update_scan_init(&h->scan, offset, false);
}

void run_output_restart(struct run_output *h, uint64_t offset)
{
	update_scan_done(&h->scan);
	update_scan_init(&h->scan, offset, false);
}

static void forget_sent(struct run_output *h)
{
	arena_done(&h->sent_arena);
	h->sent = NULL;
	h->sent_n = 0;
}

void run_output_done(struct run_output *h)
{
	update_scan_done(&h->scan);
	update_pace_done(&h->pace);
	forget_sent(h);
}

static const struct assignment *assignment_of(const struct engine *e, str run_id)
{
	const struct run *r = state_run(engine_state(e), run_id);

	return r ? state_assignment(engine_state(e), r->assignment_id) : NULL;
}

static bool run_output_is_open(const struct dispatch *d, str run_id)
{
	return str_eq(d->run_id, run_id) && d->nonce.n && d->nonce.n <= RUN_OUTPUT_NONCE_MAX &&
			d->acknowledged_at == 0;
}

bool run_output_is_awaited(const struct engine *e, str run_id)
{
	const struct assignment *as = assignment_of(e, run_id);

	return as && as->status == AS_STALLED;
}

str run_output_dispatch_text(struct arena *a, const struct engine *e, int64_t seq)
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
	return as_dispatch_intended(&ev)->instruction;
}

/* ---- nonces ---- */

static void report_ack(struct run_output *h, str dispatch_id, const char *how)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct msg_dispatch_ack m = { .dispatch = dispatch_id, .how = str_from(how) };

	h->tell(h, STR("dispatch.ack"), message_data(&a, MESSAGE_dispatch_ack, &m));
}

void run_output_taken(struct run_output *h, str dispatch_id)
{
	const struct dispatch *d = state_dispatch(engine_state(h->engine), dispatch_id);

	if (d && str_eq(d->run_id, h->run_id) && d->acknowledged_at == 0)
		report_ack(h, d->id, "hook");
}

/* In the bytes, or across their border with those before. */
static bool heard(const struct run_output *h, str bytes, str nonce)
{
	char seam[2 * RUN_OUTPUT_NONCE_MAX];
	size_t n = MIN(bytes.n, (size_t)RUN_OUTPUT_NONCE_MAX);

	memcpy(seam, h->tail, h->tail_n);
	memcpy(seam + h->tail_n, bytes.p, n);
	return str_contains((str){ seam, h->tail_n + n }, nonce) || str_contains(bytes, nonce);
}

static void keep_tail(struct run_output *h, str bytes)
{
	size_t fresh = MIN(bytes.n, sizeof(h->tail));
	size_t old = MIN(h->tail_n, sizeof(h->tail) - fresh);

	memmove(h->tail, h->tail + h->tail_n - old, old);
	memcpy(h->tail + old, bytes.p + bytes.n - fresh, fresh);
	h->tail_n = old + fresh;
}

static void hear_nonces(struct run_output *h, str bytes)
{
	const struct assignment *as = assignment_of(h->engine, h->run_id);

	for (size_t i = 0; as && i < as->dispatches.n; i++) {
		const struct dispatch *d = as->dispatches.p[i];

		if (run_output_is_open(d, h->run_id) && heard(h, bytes, d->nonce))
			report_ack(h, d->id, "nonce");
	}
	keep_tail(h, bytes);
}

/* ---- updates ---- */

/*
 * Everything that this run was told. Read when a block speaks of an update, and kept while more
 * of them are held back: an instruction may be long, and updates may be many.
 */
static void find_sent(struct run_output *h)
{
	const struct assignment *as = assignment_of(h->engine, h->run_id);
	size_t n = as ? as->dispatches.n : 0;
	int64_t last = n ? as->dispatches.p[n - 1]->seq : 0;
	str text;

	if (h->sent && h->sent_up_to == last)
		return;
	forget_sent(h);
	h->sent = arena_array(&h->sent_arena, str, n + 1);
	h->sent_up_to = last;
	if (file_read(&h->sent_arena, path_join(&h->sent_arena, h->dir, "instruction"),
			    INSTRUCTION_MAX, &text, NULL) == 0)
		h->sent[h->sent_n++] = text;
	for (size_t i = 0; i < n; i++) {
		if (!str_eq(as->dispatches.p[i]->run_id, h->run_id))
			continue;
		text = run_output_dispatch_text(&h->sent_arena, h->engine,
				as->dispatches.p[i]->seq);
		if (text.n)
			h->sent[h->sent_n++] = text;
	}
}

static void report_update(struct run_output *h, const struct update_told *t)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct msg_run_report m = { .run = h->run_id,
		.offset = (int64_t)t->offset,
		.identity = t->identity,
		.update = t->doc,
		.error = t->doc ? STR("") : t->error };

	INJECT("before-run-report");
	h->tell(h, STR("run.report"), message_data(&a, MESSAGE_run_report, &m));
	INJECT("after-run-report");
}

/* What may be told by now; what may not is told when run_output_due is called. */
static void tell_updates(struct run_output *h, bool over)
{
	struct update_told told;
	int64_t wait;

	while (update_pace_next(&h->pace, h->now_ms(h), over, &told))
		report_update(h, &told);
	wait = update_pace_wait_ms(&h->pace, h->now_ms(h));
	if (wait >= 0)
		h->wake_in(h, wait);
	else
		forget_sent(h);
}

void run_output_due(struct run_output *h)
{
	tell_updates(h, false);
}

/* Read by a daemon before us. */
static bool is_taken(const struct run_output *h)
{
	const struct run *r = state_run(engine_state(h->engine), h->run_id);

	return r && (int64_t)h->scan.offset <= r->update_offset;
}

static void take_block(struct run_output *h, const struct update_block *b)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct update_result res;

	if (is_taken(h))
		return;
	update_parse(&a, b, NULL, 0, &res);
	if (res.verdict == UPDATE_NONE)
		return;
	find_sent(h);
	update_parse(&a, b, h->sent, h->sent_n, &res);
	if (res.verdict != UPDATE_OK && res.verdict != UPDATE_BAD)
		return;
	update_pace_add(&h->pace, &res, update_identity(&a, h->run_id, b), h->scan.offset);
	tell_updates(h, false);
}

void run_output_bytes(struct run_output *h, str bytes, uint64_t at)
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

/* It may close a block without a newline of its own. */
static void last_line(struct run_output *h)
{
	struct update_block block;

	if (update_scan_end(&h->scan, &block))
		take_block(h, &block);
}

/*
 * A text is not longer than the line that it came in, so that counted from the line's end each of
 * its bytes has a place of its own in the stream. Where characters were replaced it may be: then it
 * begins where the one before it ended.
 */
void run_output_message(struct run_output *h, str text, uint64_t end)
{
	uint64_t begin = MAX(end - MIN(end, (uint64_t)text.n), h->scan.offset);

	h->tail_n = 0;
	update_scan_done(&h->scan);
	update_scan_init(&h->scan, begin, false);
	run_output_bytes(h, text, begin);
	last_line(h);
}

void run_output_end(struct run_output *h)
{
	last_line(h);
	tell_updates(h, true);
}
