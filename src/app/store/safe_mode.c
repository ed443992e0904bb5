#include "app/store/safe_mode.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/store/fold.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"

enum { DIR_MAX = 100000 };

void safe_store_done(struct safe_store *s)
{
	state_free(s->state);
	store_close(s->store);
	*s = (struct safe_store){ 0 };
}

/* Looks again, from the file itself: what failed once is damage only if it is there to be seen. */
static int salvage(const char *url, uint64_t hash_seed, int r, const struct ov_err *first,
		struct safe_store *ret)
{
	struct safe_store s = { 0 };
	struct ov_err why = { 0 };
	uint8_t hash[SHA256_LEN];
	uint64_t head;

	if (store_open(str_from(url), STORE_SALVAGE, &s.store, NULL) < 0)
		return r;
	if (store_head(s.store, &head, hash, NULL) < 0 ||
			(store_damage(s.store).n == 0 && r != OV_EINVALID)) {
		safe_store_done(&s);
		return r;
	}
	(void)fold_prefix(s.store, hash_seed, head, &s.state, &s.snapshot, &why);
	s.safe.on = true;
	s.safe.last_seq = s.state->seq;
	s.safe.since = clock_wall();
	if (store_damage(s.store).n)
		snprintf(s.safe.reason, sizeof(s.safe.reason), STR_FMT,
				STR_ARG(store_damage(s.store)));
	else
		snprintf(s.safe.reason, sizeof(s.safe.reason), "%s",
				why.code ? why.msg : first->msg);
	*ret = s;
	return 0;
}

int safe_store_open(const char *url, uint64_t hash_seed, struct safe_store *ret, struct ov_err *err)
{
	struct safe_store s = { 0 };
	struct ov_err why = { 0 };
	int r = store_open(str_from(url), STORE_READ_ONLY, &s.store, &why);

	if (r == 0) {
		r = fold_store(s.store, hash_seed, UINT64_MAX, &s.state, &s.snapshot, &why);
		s.newer = r == OV_ESTATE;
	}
	if (r == 0) {
		snprintf(s.snapshot_damage, sizeof(s.snapshot_damage), STR_FMT,
				STR_ARG(store_damage(s.store)));
		*ret = s;
		return 0;
	}
	ret->newer = s.newer;
	safe_store_done(&s);
	if (r == OV_EIO || r == OV_EINVALID)
		r = salvage(url, hash_seed, r, &why, ret);
	if (r < 0 && err)
		*err = why;
	return r;
}

int safe_store_open_damaged(const char *url, uint64_t hash_seed, const struct ov_err *why,
		struct safe_store *ret)
{
	return salvage(url, hash_seed, OV_EINVALID, why, ret);
}

int safe_store_path(struct arena *a, const char *url, const char **ret, struct ov_err *err)
{
	if (!str_starts(str_from(url), STR("sqlite:")))
		return ov_fail(err, OV_ESTATE, "the store %s is not a file", url);
	*ret = arena_cstr(a, str_from(url + sizeof("sqlite:") - 1));
	return 0;
}

str safe_store_stamp(struct arena *a, ov_time t)
{
	str text = time_format(a, t);
	char *out = arena_alloc(a, text.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++)
		if (!strchr("-:.", text.p[i]))
			out[n++] = text.p[i];
	return (str){ out, n };
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;
	int rx = stat(a, &x), ry = stat(b, &y);

	if (rx < 0 || ry < 0)
		return rx < 0 && ry < 0;
	return x.st_size == y.st_size && x.st_mtim.tv_sec == y.st_mtim.tv_sec &&
			x.st_mtim.tv_nsec == y.st_mtim.tv_nsec;
}

/* The copy keeps the times, so that a file that nobody wrote since is known again. */
static bool is_copy(struct arena *a, const char *path, const char *copy)
{
	return same_file(path, copy) &&
			same_file(arena_cstr(a, arena_printf(a, "%s-wal", path)),
					arena_cstr(a, arena_printf(a, "%s-wal", copy)));
}

/* "DIR/", "store" of "DIR/store.db" */
static void split_path(struct arena *a, const char *path, const char **ret_dir, str *ret_stem)
{
	const char *slash = strrchr(path, '/');
	str name = str_from(slash ? slash + 1 : path);

	*ret_dir = slash ? arena_cstr(a, str_sub(str_from(path), 0, (size_t)(slash - path) + 1))
			 : "./";
	*ret_stem = str_ends(name, STR(".db")) ? str_sub(name, 0, name.n - 3) : name;
}

static int copy_database(struct arena *a, const char *path, const char *copy, struct ov_err *err)
{
	static const char *const parts[] = { "-wal", "-shm", "" };
	int r = 0;

	/* The database last: a copy without it is none, and is made anew. */
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(parts); i++) {
		const char *from = arena_cstr(a, arena_printf(a, "%s%s", path, parts[i]));

		if (file_exists(from))
			r = file_copy(from, arena_cstr(a, arena_printf(a, "%s%s", copy, parts[i])),
					0600, err);
	}
	return r;
}

/* The archive first, for the same reason. */
static int copy_parts(struct arena *a, const char *path, const char *copy, struct ov_err *err)
{
	int r = copy_database(a, arena_cstr(a, store_archive_path(a, str_from(path))),
			arena_cstr(a, store_archive_path(a, str_from(copy))), err);

	return r < 0 ? r : copy_database(a, path, copy, err);
}

int safe_store_beside(struct arena *a, const char *path, const char *sort, const char ***ret,
		size_t *ret_n, struct ov_err *err)
{
	const char *dir, **files;
	size_t n = 0, found = 0;
	str stem, prefix, *names;
	int r;

	split_path(a, path, &dir, &stem);
	prefix = arena_printf(a, STR_FMT ".%s-", STR_ARG(stem), sort);
	r = dir_list(a, dir, DIR_MAX, &names, &n, err);
	if (r < 0)
		return r;
	files = arena_array(a, const char *, n + 1);
	/* Sorted by name, and so by time. */
	for (size_t i = 0; i < n; i++)
		if (str_starts(names[i], prefix) && str_ends(names[i], STR(".db")))
			files[found++] = arena_cstr(a,
					arena_printf(a, "%s" STR_FMT, dir, STR_ARG(names[i])));
	*ret = files;
	*ret_n = found;
	return 0;
}

const char *safe_store_beside_new(struct arena *a, const char *path, const char *sort, ov_time now)
{
	const char *dir;
	str stem;

	split_path(a, path, &dir, &stem);
	return arena_cstr(a,
			arena_printf(a, "%s" STR_FMT ".%s-" STR_FMT ".db", dir, STR_ARG(stem), sort,
					STR_ARG(safe_store_stamp(a, now))));
}

int safe_store_copy_aside(struct arena *a, const char *path, const char **ret, struct ov_err *err)
{
	const char **copies, *copy;
	size_t n;
	int r = safe_store_beside(a, path, "corrupt", &copies, &n, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		if (is_copy(a, path, copies[i])) {
			*ret = copies[i];
			return 0;
		}
	if (n >= SAFE_COPIES_MAX) {
		ov_fail(err, OV_ELIMIT, "there are %zu copies of damaged stores beside %s already",
				n, path);
		return ov_next(err, "move some of them elsewhere, %s for example", copies[0]);
	}
	copy = safe_store_beside_new(a, path, "corrupt", clock_wall());
	r = copy_parts(a, path, copy, err);
	if (r == 0)
		*ret = copy;
	return r;
}

void safe_mode_refusal(const struct safe_mode *s, struct ov_err *ret)
{
	ov_fail(ret, OV_EUNAVAILABLE,
			"safe mode: the store is damaged, so nothing is written or started; it is "
			"readable up to event %llu%s%s (%s)",
			(unsigned long long)s->last_seq, s->copy[0] ? "; a copy is in " : "",
			s->copy, s->reason);
	(void)ov_next(ret,
			"overseer doctor     then     overseer down && overseer doctor --rebuild");
}

value *safe_mode_view(struct arena *a, const struct safe_mode *s)
{
	value *v = value_object(a);

	if (!s || !s->on)
		return value_null(a);
	value_put(a, v, "reason", value_cstr(a, s->reason));
	value_put(a, v, "since", value_time(a, s->since));
	value_put(a, v, "last_seq", value_int(a, (int64_t)s->last_seq));
	value_put(a, v, "copy", s->copy[0] ? value_cstr(a, s->copy) : value_null(a));
	return v;
}

value *safe_mode_need(struct arena *a, const struct safe_mode *s)
{
	value *v = value_object(a);

	value_put(a, v, "number", value_int(a, 0));
	value_put(a, v, "goal_id", value_cstr(a, ""));
	value_put(a, v, "node_id", value_cstr(a, ""));
	value_put(a, v, "kind", value_cstr(a, "store_damaged"));
	value_put(a, v, "question",
			value_strf(a,
					"The store is damaged: safe mode, nothing is written or "
					"started. %s",
					s->reason));
	value_put(a, v, "status", value_cstr(a, "open"));
	value_put(a, v, "answer", value_cstr(a, ""));
	value_put(a, v, "opened_at", value_time(a, s->since));
	value_put(a, v, "closed_at", value_null(a));
	value_put(a, v, "next", value_cstr(a, "overseer doctor"));
	return v;
}
