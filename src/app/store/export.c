/*
 * The whole store as one JSON document, written as it is read: objects one by one, events page by
 * page, one to a line. The document is durable and whole before it gets its name.
 */
#include <stdio.h>
#include <sys/stat.h>

#include "app/call/op_context.h"
#include "app/store/export.h"
#include "app/store/safe_mode.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "core/export/portable.h"
#include "data/value/json.h"
#include "sys/file/file.h"
#include "sys/host/rand.h"

enum { PAGE = 1000 };

struct out_file {
	FILE *f;
	const char *path;
	struct buf line;
	int section; /* being written; -1: none yet */
	size_t in_section, events;
};

static int flush_line(struct out_file *o, struct ov_err *err)
{
	size_t n = o->line.n ? fwrite(o->line.p, 1, o->line.n, o->f) : 0;
	int r = n == o->line.n ? 0 : ov_fail(err, OV_EIO, "write %s: %m", o->path);

	buf_clear(&o->line);
	return r;
}

/* Ends the section under way and begins those up to `section`, empty ones too. */
static void begin_sections(struct out_file *o, int section)
{
	while (o->section < section) {
		if (o->section >= 0)
			buf_adds(&o->line, STR("\n},"));
		o->section++;
		o->in_section = 0;
		if (o->section < PORTABLE_SECTIONS)
			buf_addf(&o->line, "\n\"%s\":{", portable_sections[o->section]);
	}
}

static int write_object(void *user, int section, str key, const value *v, struct ov_err *err)
{
	struct out_file *o = user;

	begin_sections(o, section);
	buf_adds(&o->line, o->in_section++ ? STR(",\n") : STR("\n"));
	json_write_string(&o->line, key);
	buf_addc(&o->line, ':');
	json_write(&o->line, v);
	return flush_line(o, err);
}

bool export_read_event(void *user, struct arena *a, uint64_t seq, struct event *ret)
{
	struct store_record *rec;
	size_t n;

	return store_read(user, seq - 1, 1, a, &rec, &n, NULL) == 0 && n == 1 && rec->seq == seq &&
			event_decode(a, seq, rec->at, rec->kind, rec->body, ret, NULL) == 0;
}

/* Import makes the record from the event: what would come back otherwise must not be exported. */
static int check_lossless(struct arena *a, const struct event *e, str body, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf again = BUF_INIT;

	json_write_canonical(&again, event_body(a, e));
	if (str_eq(buf_str(&again), body))
		return 0;
	return ov_fail(err, OV_ESTATE, "event %llu is not written as this version would write it",
			(unsigned long long)e->seq);
}

static int write_event(struct out_file *o, struct arena *a, const struct store_record *rec,
		struct ov_err *err)
{
	struct event e;
	int r = event_decode(a, rec->seq, rec->at, rec->kind, rec->body, &e, err);

	if (r == 0)
		r = check_lossless(a, &e, rec->body, err);
	if (r < 0)
		return r;
	buf_adds(&o->line, o->events++ ? STR(",\n") : STR("\n"));
	json_write(&o->line, portable_event(a, &e));
	return flush_line(o, err);
}

static int write_events(struct out_file *o, struct store *s, uint64_t until, struct ov_err *err)
{
	uint64_t at = 0;
	int r = 0;

	while (r == 0 && at < until) {
		_cleanup_(arena_done) struct arena a = ARENA_INIT, scratch = ARENA_INIT;
		struct store_record *recs;
		size_t n;

		r = store_read(s, at, (size_t)MIN(until - at, (uint64_t)PAGE), &a, &recs, &n, err);
		for (size_t i = 0; r == 0 && i < n; i++) {
			arena_reset(&scratch);
			r = write_event(o, &scratch, &recs[i], err);
			at = recs[i].seq;
		}
	}
	return r;
}

static int write_document(struct out_file *o, const struct safe_store *s, struct ov_err *err)
{
	struct portable_source source = { .read = export_read_event, .user = s->store };
	int r;

	buf_addf(&o->line, "{\"version\":%d,", PORTABLE_VERSION);
	r = portable_walk(s->state, &source, write_object, o, err);
	begin_sections(o, PORTABLE_SECTIONS);
	buf_adds(&o->line, STR("\n\"events\":["));
	if (r == 0)
		r = write_events(o, s->store, s->state->seq, err);
	buf_adds(&o->line, STR("\n]}\n"));
	if (r == 0)
		r = flush_line(o, err);
	if (r == 0 && fflush(o->f) != 0)
		r = ov_fail(err, OV_EIO, "write %s: %m", o->path);
	return r;
}

static int export_to(const struct safe_store *s, struct arena *a, const char *file, size_t *ret_n,
		struct ov_err *err)
{
	struct out_file o = { .section = -1 };
	int r;

	o.path = arena_cstr(a,
			arena_printf(a, "%s.tmp-%016llx", file, (unsigned long long)rand_u64()));
	o.f = fopen(o.path, "wxe");
	if (!o.f)
		return ov_fail(err, OV_EIO, "create %s: %m", o.path);
	/* It holds what the log holds: nobody else's business either. */
	r = fchmod(fileno(o.f), 0600) < 0 ? ov_fail(err, OV_EIO, "%s: %m", o.path) : 0;
	if (r == 0)
		r = write_document(&o, s, err);
	if (fclose(o.f) != 0 && r == 0)
		r = ov_fail(err, OV_EIO, "write %s: %m", o.path);
	if (r == 0)
		r = file_commit(o.path, file, err);
	if (r < 0)
		(void)file_remove(o.path, NULL);
	buf_done(&o.line);
	*ret_n = o.events;
	return r;
}

int op_store_export(struct op_ctx *cx, const struct pr_store_export *p, value **ret,
		struct ov_err *err)
{
	str file = p->file;
	struct safe_store s = { 0 };
	size_t n = 0;
	int r;

	if (file.n == 0 || file.p[0] != '/')
		return ov_fail(err, OV_EINVALID, "file: an absolute path is needed");
	if (file_exists(arena_cstr(cx->arena, file)))
		return ov_fail(err, OV_ECONFLICT, STR_FMT " exists already", STR_ARG(file));
	r = safe_store_open(cx->daemon->store_url, rand_u64(), &s, err);
	if (r == 0 && s.safe.on) {
		ov_fail(err, OV_ESTATE, "the store is damaged: %s", s.safe.reason);
		r = ov_next(err, "overseer doctor");
	}
	if (r == 0)
		r = export_to(&s, cx->arena, arena_cstr(cx->arena, file), &n, err);
	safe_store_done(&s);
	if (r < 0)
		return r;
	*ret = value_object(cx->arena);
	value_put(cx->arena, *ret, "file", value_str(cx->arena, arena_str(cx->arena, file)));
	value_put(cx->arena, *ret, "events", value_int(cx->arena, (int64_t)n));
	return 0;
}
