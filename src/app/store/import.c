/*
 * An exported document into an empty store. The events are folded as they come; when all are in,
 * the rest of the document must be what the fold gives. Only then does the new store get its place:
 * an error anywhere leaves everything as it was. The document is looked at in pieces, never
 * read whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/call/op_context.h"
#include "app/store/export.h"
#include "app/store/new_store.h"
#include "app/store/safe_mode.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/export/portable.h"
#include "core/fold/apply.h"
#include "data/value/json.h"
#include "data/value/json_slice.h"
#include "sys/file/file.h"
#include "sys/host/rand.h"

enum { GROUP = 1000 }; /* events of one transaction */

struct document {
	str text; /* mapped */
	str version, events, sections[PORTABLE_SECTIONS];
};

struct import {
	struct document doc;
	struct new_store to;
	struct state *state;
	struct arena group; /* records that wait to be written */
	VEC(struct store_record) records;
	/* Of the section being compared: its members by key, and how many were met. */
	struct map members;
	struct arena texts;
	int section;
	size_t met;
};

static int map_file(const char *path, str *ret, struct ov_err *err)
{
	_cleanup_(fd_closep) int fd = file_open(path, O_RDONLY, 0);
	struct stat st;
	void *p;

	if (fd < 0 && errno != ENXIO && errno != EISDIR)
		return ov_fail(err, errno == ENOENT ? OV_ENOTFOUND : OV_EIO, "open %s: %m", path);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size == 0)
		return ov_fail(err, OV_EINVALID, "%s is not a file with a document", path);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return ov_fail(err, OV_EIO, "read %s: %m", path);
	*ret = (str){ p, (size_t)st.st_size };
	return 0;
}

/* Where the value of a root member belongs; NULL when it is not one of ours. */
static str *root_member(struct document *d, str key)
{
	for (int i = 0; i < PORTABLE_SECTIONS; i++)
		if (str_is(key, portable_sections[i]))
			return &d->sections[i];
	if (str_is(key, "version"))
		return &d->version;
	return str_is(key, "events") ? &d->events : NULL;
}

static int take_root(struct document *d, str key, str v, struct ov_err *err)
{
	str *where = root_member(d, key);

	if (!where)
		return ov_fail(err, OV_EINVALID, "unknown key \"" STR_FMT "\"",
				STR_ARG(str_sub(key, 0, 100)));
	if (where->n)
		return ov_fail(err, OV_EINVALID, "\"" STR_FMT "\" is there twice", STR_ARG(key));
	*where = v;
	return 0;
}

static int read_root(struct document *d, struct ov_err *err)
{
	struct json_slice s;
	int64_t version;
	str key, v;
	int r = json_slice_begin(&s, d->text, '{', err);

	while (r == 0) {
		r = json_slice_next(&s, &key, &v, err);
		if (r <= 0)
			break;
		r = take_root(d, key, v, err);
	}
	if (r < 0)
		return r;
	for (int i = 0; i < PORTABLE_SECTIONS; i++)
		if (!d->sections[i].n)
			return ov_fail(err, OV_EINVALID, "\"%s\" is missing", portable_sections[i]);
	if (!d->events.n || !str_to_i64(d->version, &version))
		return ov_fail(err, OV_EINVALID, "\"%s\" is missing or no number",
				d->events.n ? "version" : "events");
	if (version != PORTABLE_VERSION)
		return ov_fail(err, OV_ESTATE,
				"the document is of version %lld, this program reads version %d",
				(long long)version, PORTABLE_VERSION);
	return 0;
}

static int write_group(struct import *im, struct ov_err *err)
{
	int r = im->records.n ? new_store_append(&im->to, im->records.p, im->records.n, err) : 0;

	im->records.n = 0;
	arena_reset(&im->group);
	return r;
}

/* One event: checked as if it were read from a log, folded, and put among those to be written. */
static int take_event(struct import *im, str text, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	_cleanup_(buf_done) struct buf body = BUF_INIT;
	struct store_record rec;
	struct event e, checked;
	value *v;
	int r = json_parse(&a, text, NULL, &v, err);

	if (r == 0)
		r = portable_event_read(v, &e, err);
	if (r == 0 && e.seq != im->state->seq + 1)
		r = ov_fail(err, OV_EINVALID, "seq: %llu is expected here",
				(unsigned long long)im->state->seq + 1);
	if (r < 0)
		return ov_wrap(err, r, "events[%llu]", (unsigned long long)im->state->seq);
	json_write_canonical(&body, event_body(&a, &e));
	rec = (struct store_record){ .at = e.at,
		.kind = str_from(event_name(e.kind)),
		.body = buf_str(&body) };
	r = event_decode(&a, e.seq, rec.at, rec.kind, rec.body, &checked, err);
	if (r == 0)
		r = apply(im->state, &checked, err);
	if (r < 0)
		return r;
	rec.body = arena_str(&im->group, rec.body);
	vec_push(&im->records, rec);
	return im->records.n < GROUP ? 0 : write_group(im, err);
}

static int take_events(struct import *im, struct ov_err *err)
{
	struct json_slice s;
	str key, v;
	int r = json_slice_begin(&s, im->doc.events, '[', err);

	while (r == 0) {
		r = json_slice_next(&s, &key, &v, err);
		if (r <= 0)
			break;
		r = take_event(im, v, err);
	}
	return r < 0 ? r : write_group(im, err);
}

/* The members of a section by their keys; each may be there once. */
static int index_section(struct import *im, int section, struct ov_err *err)
{
	struct json_slice s;
	str key, *v;
	int r;

	map_done(&im->members);
	map_init(&im->members, rand_u64());
	arena_reset(&im->texts);
	im->section = section;
	im->met = 0;
	r = json_slice_begin(&s, im->doc.sections[section], '{', err);
	while (r == 0) {
		v = arena_new(&im->texts, str);
		r = json_slice_next(&s, &key, v, err);
		if (r <= 0)
			break;
		r = map_get(&im->members, key)
				? ov_fail(err, OV_EINVALID, "\"" STR_FMT "\" is there twice",
						  STR_ARG(key))
				: 0;
		map_put(&im->members, key, v);
	}
	return r < 0 ? ov_wrap(err, r, "%s", portable_sections[section]) : 0;
}

/* All that was in the last section has been met, or there is more than the events give. */
static int end_section(struct import *im, struct ov_err *err)
{
	if (im->section < 0 || im->met == im->members.n)
		return 0;
	return ov_fail(err, OV_EINVALID, "%s has %zu entries, but the events give %zu",
			portable_sections[im->section], im->members.n, im->met);
}

static int to_section(struct import *im, int section, struct ov_err *err)
{
	int r = 0;

	while (r == 0 && im->section < section) {
		r = end_section(im, err);
		if (r == 0 && im->section + 1 < PORTABLE_SECTIONS)
			r = index_section(im, im->section + 1, err);
		else
			im->section++;
	}
	return r;
}

/* Names the first member that differs. */
static int differs(const char *section, str key, const value *want, const value *got,
		struct ov_err *err)
{
	for (size_t i = 0; i < value_count(want); i++) {
		const struct member *m = &want->object.members[i];
		const value *other = value_get(got, m->key);

		if (!other || !value_equal(m->value, other))
			return ov_fail(err, OV_EINVALID,
					"%s." STR_FMT "." STR_FMT " is not what the events give",
					section, STR_ARG(key), STR_ARG(m->key));
	}
	return ov_fail(err, OV_EINVALID, "%s." STR_FMT " has more than the events give", section,
			STR_ARG(key));
}

static int compare(void *user, int section, str key, const value *want, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct import *im = user;
	const str *text;
	value *got;
	int r = to_section(im, section, err);

	if (r < 0)
		return r;
	text = map_get(&im->members, key);
	if (!text)
		return ov_fail(err, OV_EINVALID, "%s." STR_FMT " is missing",
				portable_sections[section], STR_ARG(key));
	im->met++;
	r = json_parse(&a, *text, NULL, &got, err);
	if (r < 0)
		return ov_wrap(err, r, "%s." STR_FMT, portable_sections[section], STR_ARG(key));
	return value_equal(want, got) ? 0
				      : differs(portable_sections[section], key, want, got, err);
}

static int import_document(struct import *im, struct arena *a, const char *path, struct ov_err *err)
{
	struct portable_source source;
	int r = read_root(&im->doc, err);

	if (r == 0)
		r = new_store_open(&im->to, a, path, err);
	if (r < 0)
		return r;
	source = (struct portable_source){ .read = export_read_event, .user = im->to.store };
	r = take_events(im, err);
	if (r == 0)
		r = portable_walk(im->state, &source, compare, im, err);
	if (r == 0)
		r = to_section(im, PORTABLE_SECTIONS, err);
	if (r == 0)
		r = new_store_finish(&im->to, err);
	if (r == 0)
		r = new_store_replace(&im->to, err);
	new_store_done(&im->to);
	return r;
}

static int must_be_empty(const char *url, struct ov_err *err)
{
	uint8_t hash[SHA256_LEN];
	struct store *s;
	uint64_t head;
	int r = store_open(str_from(url), STORE_READ_ONLY, &s, err);

	if (r == OV_ENOTFOUND)
		return 0;
	if (r < 0)
		return r;
	r = store_head(s, &head, hash, err);
	if (r == 0 && head) {
		ov_fail(err, OV_ECONFLICT, "the store is not empty: it has %llu events",
				(unsigned long long)head);
		r = ov_next(err, "overseer init     in another folder");
	}
	store_close(s);
	return r;
}

static int import_file(struct op_ctx *cx, const char *file, uint64_t *ret_n, struct ov_err *err)
{
	struct import im = { .section = -1 };
	const char *path;
	int r = safe_store_path(cx->arena, cx->daemon->store_url, &path, err);

	if (r == 0)
		r = map_file(file, &im.doc.text, err);
	if (r < 0)
		return r;
	im.state = state_new(rand_u64());
	map_init(&im.members, rand_u64());
	r = import_document(&im, cx->arena, path, err);
	*ret_n = im.state->seq;
	state_free(im.state);
	map_done(&im.members);
	arena_done(&im.texts);
	arena_done(&im.group);
	vec_done(&im.records);
	munmap((char *)im.doc.text.p, im.doc.text.n);
	return r < 0 ? ov_wrap(err, r, "%s", file) : 0;
}

int op_store_import(struct op_ctx *cx, const struct pr_store_import *p, value **ret,
		struct ov_err *err)
{
	str file = p->file;
	uint64_t n = 0;
	int fd = -1, r;

	if (file.n == 0 || file.p[0] != '/')
		return ov_fail(err, OV_EINVALID, "file: an absolute path is needed");
	r = store_hold(str_from(cx->daemon->store_url), &fd, err);
	if (r == OV_ECONFLICT) {
		ov_fail(err, OV_ECONFLICT, "the daemon runs, so its store is not empty");
		return ov_next(err, "overseer init     in another folder");
	}
	if (r == 0)
		r = must_be_empty(cx->daemon->store_url, err);
	if (r == 0)
		r = import_file(cx, arena_cstr(cx->arena, file), &n, err);
	fd_closep(&fd);
	if (r < 0)
		return r;
	*ret = value_object(cx->arena);
	value_put(cx->arena, *ret, "file", value_str(cx->arena, arena_str(cx->arena, file)));
	value_put(cx->arena, *ret, "events", value_int(cx->arena, (int64_t)n));
	return 0;
}
