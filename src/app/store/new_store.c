#include "app/store/new_store.h"

#include "app/store/backup.h"
#include "base/arena.h"
#include "base/err.h"
#include "sys/file/file.h"
#include "sys/host/inject.h"
#include "sys/host/rand.h"

static const char *beside(struct new_store *n, const char *path, const char *suffix)
{
	return arena_cstr(n->arena, arena_printf(n->arena, "%s%s", path, suffix));
}

int new_store_open(struct new_store *n, struct arena *a, const char *path, struct ov_err *err)
{
	struct store_lease lease;
	int r;

	*n = (struct new_store){ .arena = a, .path = path };
	n->tmp = arena_cstr(a,
			arena_printf(a, "%s.tmp-%016llx", path, (unsigned long long)rand_u64()));
	r = store_open(arena_printf(a, "sqlite:%s", n->tmp), STORE_READ_WRITE, &n->store, err);
	if (r == 0)
		r = store_lease_take(n->store, STR("{}"), a, &lease, err);
	if (r < 0)
		new_store_done(n);
	return r;
}

static void appended(void *user, int r, uint64_t head _unused_, const struct ov_err *err)
{
	struct ov_err *failed = user;

	if (r < 0)
		*failed = *err;
}

int new_store_append(struct new_store *n, const struct store_record *recs, size_t count,
		struct ov_err *err)
{
	struct ov_err failed = { 0 };

	store_append(n->store, n->head, recs, count, appended, &failed);
	if (failed.code == 0)
		n->head += count;
	else if (err)
		*err = failed;
	return failed.code;
}

int new_store_finish(struct new_store *n, struct ov_err *err)
{
	uint64_t last = 0;
	int r;

	store_close(n->store);
	n->store = NULL;
	r = backup_verify(n->arena, n->tmp, &last, err);
	if (r == 0 && last != n->head)
		r = ov_fail(err, OV_EINTERNAL, "%s has %llu events instead of %llu", n->tmp,
				(unsigned long long)last, (unsigned long long)n->head);
	return r;
}

int new_store_replace(struct new_store *n, struct ov_err *err)
{
	/* A write-ahead log belongs to the file that it lay beside. */
	static const char *const parts[] = { "-wal", "-shm", "-journal" };
	int r = 0;

	INJECT("new-store-written");
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(parts); i++)
		r = file_remove(beside(n, n->path, parts[i]), err);
	INJECT("new-store-replace");
	return r < 0 ? r : file_commit(n->tmp, n->path, err);
}

void new_store_done(struct new_store *n)
{
	static const char *const parts[] = { "", "-wal", "-shm", "-journal", ".lock" };

	store_close(n->store);
	n->store = NULL;
	for (size_t i = 0; n->tmp && i < ARRAY_LEN(parts); i++)
		(void)file_remove(beside(n, n->tmp, parts[i]), NULL);
}
