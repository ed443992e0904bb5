/*
 * Bytes as each of the files by which a daemon and its watchdog know each other, and as what a
 * watchdog is told at its start: each is refused, with words where there is room for them, or
 * taken; and what was taken is written and read alike, in the size that was promised.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "data/message/vital.h"
#include "data/value/json.h"
#include "watch/guard/spec.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void try_identity(struct arena *a, str bytes)
{
	struct identity id, again;
	value *v, *written = value_object(a);

	if (json_parse(a, bytes, NULL, &v, NULL) < 0 || !identity_read(v, &id))
		return;
	identity_put(a, written, &id);
	check(identity_read(written, &again) && identity_eq(&id, &again));
}

/* A beat has one size: what is shorter is filled up, so that a few bytes can be one. */
static void try_heartbeat(str bytes)
{
	char beat[HEARTBEAT_BYTES];
	size_t n = MIN(bytes.n, sizeof(beat));
	struct buf out = BUF_INIT;
	struct heartbeat h, again;

	memset(beat, ' ', sizeof(beat));
	if (n)
		memcpy(beat, bytes.p, n);
	if (heartbeat_read((str){ beat, sizeof(beat) }, &h)) {
		heartbeat_write(&h, &out);
		check(out.n == HEARTBEAT_BYTES && heartbeat_read(buf_str(&out), &again));
		check(strcmp(h.instance, again.instance) == 0 && h.loop == again.loop &&
				h.progress == again.progress && h.due == again.due &&
				h.degraded == again.degraded && h.at == again.at);
	}
	check(bytes.n == HEARTBEAT_BYTES || !heartbeat_read(bytes, &h));
	buf_done(&out);
}

static str one_line(const struct buf *out)
{
	str line = buf_str(out);

	check(line.n > 0 && str_find_byte(line, '\n') == line.n - 1);
	return str_sub(line, 0, line.n - 1);
}

static void try_health(str bytes)
{
	struct buf out = BUF_INIT;
	struct health h, again;

	if (health_read(bytes, &h)) {
		health_write(&h, &out);
		check(health_read(one_line(&out), &again));
		check(h.kind == again.kind && h.at == again.at &&
				strcmp(h.instance, again.instance) == 0 &&
				strcmp(h.text, again.text) == 0);
	}
	buf_done(&out);
}

static void try_act(str bytes)
{
	struct buf out = BUF_INIT;
	struct act x, again;

	if (act_read(bytes, &x)) {
		act_write(&x, &out);
		check(act_read(one_line(&out), &again));
		check(x.n == again.n && x.kind == again.kind && x.failure == again.failure &&
				x.at == again.at && strcmp(x.watch, again.watch) == 0 &&
				strcmp(x.instance, again.instance) == 0 &&
				strcmp(x.text, again.text) == 0);
	}
	buf_done(&out);
}

static void try_spec(struct arena *a, str bytes)
{
	struct ov_err err = { 0 };
	struct spec s;
	int r = spec_read(a, bytes, &s, &err);

	check(r == 0 || (err.code == r && err.msg[0]));
	if (r < 0)
		return;
	check(s.dir[0] == '/' && s.repo[0] == '/' && s.start_command[0] && s.max_restarts > 0);
	check(!s.overseer || s.overseer[0] == '/');
	check(!s.remedy_name == !s.remedy.argv);
	if (s.remedy.argv)
		check(s.remedy.argv[0] && s.remedy.env && s.remedy.cwd[0] == '/');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	str bytes = { (const char *)data, size };
	struct arena a = ARENA_INIT;

	try_identity(&a, bytes);
	try_heartbeat(bytes);
	try_health(bytes);
	try_act(bytes);
	try_spec(&a, bytes);
	arena_done(&a);
	return 0;
}
