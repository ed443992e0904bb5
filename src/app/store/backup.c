#include "app/store/backup.h"

#include <sys/stat.h>
#include <unistd.h>

#include "app/call/op_context.h"
#include "app/store/safe_mode.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/config/config.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"
#include "sys/host/inject.h"
#include "sys/host/rand.h"

enum { DIR_MAX = 100000 };

int backup_verify(struct arena *a, const char *file, uint64_t *ret_last, struct ov_err *err)
{
	struct store *s;
	uint64_t last;
	int r = store_open(arena_printf(a, "sqlite:%s", file), STORE_READ_ONLY, &s, err);

	if (r < 0)
		return r;
	r = store_check(s, err) < 0 ? OV_EIO : store_verify(s, 0, &last, err);
	if (r == 0)
		*ret_last = last;
	store_close(s);
	return r;
}

int backup_list(struct arena *a, const char *dir, const char ***ret, size_t *ret_n,
		struct ov_err *err)
{
	const char *folder = path_join(a, dir, "backups"), **files;
	size_t n, found = 0;
	str *names;
	int r = dir_list(a, folder, DIR_MAX, &names, &n, err);

	if (r == OV_ENOTFOUND) {
		*ret_n = 0;
		return 0;
	}
	if (r < 0)
		return r;
	files = arena_array(a, const char *, n + 1);
	/* Sorted by name, and so by time. */
	for (size_t i = 0; i < n; i++)
		if (str_starts(names[i], STR("store-")) && str_ends(names[i], STR(".db")))
			files[found++] = path_join(a, folder, arena_cstr(a, names[i]));
	*ret = files;
	*ret_n = found;
	return 0;
}

/* The newest of those that we named stay; others in the folder are somebody else's. */
static void thin_out(struct op_ctx *cx, struct backup *b)
{
	size_t keep = (size_t)cx->config->store_backups_kept, n = 0;
	const char **files = NULL;

	if (backup_list(cx->arena, cx->daemon->dir, &files, &n, NULL) < 0)
		return;
	for (size_t i = 0; i + keep < n; i++)
		if (strcmp(files[i], b->file) != 0 && file_remove(files[i], NULL) == 0)
			b->removed++;
}

static int copy_to(struct op_ctx *cx, const char *tmp, struct ov_err *err)
{
	struct store *s;
	int r = store_open(str_from(cx->daemon->store_url), STORE_READ_ONLY, &s, err);

	if (r < 0)
		return r;
	r = store_copy(s, tmp, err);
	store_close(s);
	return r;
}

int backup_make(struct op_ctx *cx, const char *file, struct backup *ret, struct ov_err *err)
{
	struct arena *a = cx->arena;
	const char *folder = path_join(a, cx->daemon->dir, "backups"), *tmp;
	struct backup b = { .file = file };
	struct stat st;
	int r = 0;

	if (!file) {
		r = dir_make(folder, 0700, err);
		b.file = path_join(a, folder,
				arena_cstr(a,
						arena_printf(a, "store-" STR_FMT ".db",
								STR_ARG(safe_store_stamp(a,
										clock_wall())))));
	}
	if (r == 0 && file_exists(b.file))
		r = ov_fail(err, OV_ECONFLICT, "%s exists already", b.file);
	if (r < 0)
		return r;
	tmp = arena_cstr(a,
			arena_printf(a, "%s.tmp-%016llx", b.file, (unsigned long long)rand_u64()));
	r = copy_to(cx, tmp, err);
	INJECT("backup-copied");
	if (r == 0)
		r = backup_verify(a, tmp, &b.seq, err);
	INJECT("backup-verified");
	if (r == 0)
		r = file_commit(tmp, b.file, err);
	if (r < 0) {
		(void)file_remove(tmp, NULL);
		return ov_wrap(err, r, "backup");
	}
	b.bytes = stat(b.file, &st) == 0 ? st.st_size : 0;
	if (!file)
		thin_out(cx, &b);
	*ret = b;
	return 0;
}

static bool is_damaged(const char *url)
{
	struct store *s;
	bool damaged;

	if (store_open(str_from(url), STORE_SALVAGE, &s, NULL) < 0)
		return false;
	damaged = store_damage(s).n > 0;
	store_close(s);
	return damaged;
}

int op_store_verify(struct op_ctx *cx, const struct pr_store_verify *p _unused_, value **ret,
		struct ov_err *err)
{
	struct ov_err found = { 0 };
	struct store *s = NULL;
	uint64_t last = 0;
	int r;

	(void)!nice(10); /* it reads everything, and nobody waits for it */
	r = store_open(str_from(cx->daemon->store_url), STORE_READ_ONLY, &s, &found);
	if (r == 0)
		r = store_check(s, &found);
	if (r == 0)
		r = store_verify(s, 0, &last, &found);
	store_close(s);
	/* Not found, busy or not readable says nothing about what is in it. */
	if (r < 0 && r != OV_EINVALID && !is_damaged(cx->daemon->store_url)) {
		if (err)
			*err = found;
		return r;
	}
	*ret = value_object(cx->arena);
	value_put(cx->arena, *ret, "ok", value_bool(cx->arena, r == 0));
	value_put(cx->arena, *ret, "last_seq", value_int(cx->arena, (int64_t)last));
	value_put(cx->arena, *ret, "reason",
			value_str(cx->arena, arena_str(cx->arena, str_from(found.msg))));
	return 0;
}

int op_store_backup(struct op_ctx *cx, const struct pr_store_backup *p, value **ret,
		struct ov_err *err)
{
	str file = p->file;
	struct backup b;
	value *v;
	int r;

	if (file.n && file.p[0] != '/')
		return ov_fail(err, OV_EINVALID, "file: an absolute path is needed");
	r = backup_make(cx, file.n ? arena_cstr(cx->arena, file) : NULL, &b, err);
	if (r < 0)
		return r;
	v = value_object(cx->arena);
	value_put(cx->arena, v, "file", value_cstr(cx->arena, b.file));
	value_put(cx->arena, v, "last_seq", value_int(cx->arena, (int64_t)b.seq));
	value_put(cx->arena, v, "bytes", value_int(cx->arena, b.bytes));
	value_put(cx->arena, v, "removed", value_int(cx->arena, (int64_t)b.removed));
	*ret = v;
	return 0;
}
