#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/explain/explain.h"
#include "core/fold/apply.h"
#include "core/state/snapshot.h"
#include "core/view/view.h"
#include "data/id/sha256.h"
#include "data/value/json.h"
#include "tests/golden/golden.h"

enum { SEED = 1, STATE_HEX = 12 };

/* Decoding and encoding again gives the bytes that are stored. */
static int check_stored(struct arena *a, const struct event *e, str body, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf again = BUF_INIT;

	json_write_canonical(&again, event_body(a, e));
	if (str_eq(buf_str(&again), body))
		return 0;
	return ov_fail(err, OV_EINVALID, "it is encoded as " STR_FMT, STR_ARG(buf_str(&again)));
}

static int read_event(struct arena *a, const value *v, str line, struct event *ret,
		struct ov_err *err)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT, body = BUF_INIT;
	str stored;
	int r;

	json_write_canonical(&text, v);
	if (!str_eq(buf_str(&text), line))
		return ov_fail(err, OV_EINVALID, "the line is not canonical");
	json_write_canonical(&body, value_at(v, "body"));
	stored = arena_str(a, buf_str(&body));
	r = event_decode(a, (uint64_t)value_int_at(v, "seq"), value_int_at(v, "at"),
			value_str_at(v, "type"), stored, ret, err);
	return r < 0 ? r : check_stored(a, ret, stored, err);
}

/* Which state it left, and what people read of it. */
static void write_step(struct buf *out, const struct state *s, const struct event *e)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct buf bytes = BUF_INIT;

	snapshot_write(&bytes, s);
	buf_addf(out, "%llu " STR_FMT " %s: " STR_FMT "\n", (unsigned long long)e->seq,
			STR_ARG(str_sub(sha256_hex(&a, buf_str(&bytes)), 0, STATE_HEX)),
			event_name(e->kind), STR_ARG(explain_event(&a, e)));
	buf_done(&bytes);
}

static int read_line(struct arena *a, struct golden_log *l, str line, struct buf *out,
		struct ov_err *err)
{
	struct event e;
	value *v;
	int r = json_parse(a, line, NULL, &v, err);

	if (r == 0)
		r = read_event(a, v, line, &e, err);
	if (r == 0)
		r = apply(l->state, &e, err);
	if (r < 0)
		return ov_wrap(err, r, STR_FMT ": " STR_FMT, STR_ARG(l->name),
				STR_ARG(str_sub(line, 0, 200)));
	vec_push(&l->events, e);
	write_step(out, l->state, &e);
	return 0;
}

int golden_read(struct arena *a, str *lines, struct golden_log *ret, struct buf *out,
		struct ov_err *err)
{
	static const str head = STR("{\"log\":\"");
	str rest = *lines, line = STR("");
	int r = 0;

	if (!str_split(&rest, '\n', &line) || !str_starts(line, head))
		return ov_fail(err, OV_EINVALID, "a line {\"log\":\"NAME\"} is needed");
	*ret = (struct golden_log){ .name = str_sub(line, head.n, line.n - head.n - 2),
		.state = state_new(SEED) };
	buf_addf(out, "== " STR_FMT "\n", STR_ARG(ret->name));
	*lines = rest;
	while (r == 0 && str_split(&rest, '\n', &line) && !str_starts(line, head)) {
		if (line.n)
			r = read_line(a, ret, line, out, err);
		*lines = rest;
	}
	return r;
}

void golden_done(struct golden_log *l)
{
	state_free(l->state);
	vec_done(&l->events);
}

/* Each object on a line of its own, so that a difference is seen; the rest is as it is stored. */
static void write_lines(struct buf *out, str json)
{
	bool quoted = false;

	for (size_t i = 0; i < json.n; i++) {
		if (json.p[i] == '"')
			quoted = !quoted;
		else if (json.p[i] == '\\')
			buf_addc(out, json.p[i++]);
		else if (json.p[i] == '{' && !quoted && i)
			buf_addc(out, '\n');
		buf_addc(out, json.p[i]);
	}
	buf_addc(out, '\n');
}

/* A snapshot of the middle and the rest of the log come to the same. */
static int check_resumed(const struct golden_log *l, str last, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	struct state *s = state_new(SEED), *resumed = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->events.n; i++) {
		if (i == l->events.n / 2) {
			snapshot_write(&bytes, s);
			r = snapshot_read(buf_str(&bytes), SEED + 1, &resumed, err);
			state_free(s);
			s = resumed;
		}
		if (r == 0)
			r = apply(s, &l->events.p[i], err);
	}
	buf_clear(&bytes);
	if (r == 0)
		snapshot_write(&bytes, s);
	state_free(s);
	if (r == 0 && !str_eq(buf_str(&bytes), last))
		r = ov_fail(err, OV_EINVALID, "resumed from a snapshot it is " STR_FMT,
				STR_ARG(buf_str(&bytes)));
	return r;
}

int golden_state(struct buf *out, const struct golden_log *l, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	int r;

	snapshot_write(&bytes, l->state);
	r = check_resumed(l, buf_str(&bytes), err);
	if (r < 0)
		return ov_wrap(err, r, STR_FMT, STR_ARG(l->name));
	write_lines(out, buf_str(&bytes));
	return 0;
}
