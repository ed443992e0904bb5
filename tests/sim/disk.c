/*
 * The disk as a VFS: folder, lives, questions, and the calls that name a file rather than a handle.
 */
#include "tests/sim/disk.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "tests/sim/disk_impl.h"

static const char vfs_name[] = "overseer-sim-disk";

static const char *const call_names[] = {
	[DISK_CALL_WRITE] = "write",
	[DISK_CALL_TRUNCATE] = "truncate",
	[DISK_CALL_SYNC] = "sync",
	[DISK_CALL_DELETE] = "delete",
	[DISK_CALL_CREATE] = "create",
	[DISK_CALL_READ] = "read",
};

static const char *const fault_names[] = {
	[DISK_OK] = "ok",
	[DISK_FULL] = "full",
	[DISK_IOERR] = "ioerr",
	[DISK_KILL] = "kill",
	[DISK_KILL_AFTER] = "kill-after",
	[DISK_TORN] = "torn",
};

static const struct {
	int full, ioerr;
} codes[] = {
	[DISK_CALL_WRITE] = { SQLITE_FULL, SQLITE_IOERR_WRITE },
	[DISK_CALL_TRUNCATE] = { SQLITE_IOERR_TRUNCATE, SQLITE_IOERR_TRUNCATE },
	[DISK_CALL_SYNC] = { SQLITE_IOERR_FSYNC, SQLITE_IOERR_FSYNC },
	[DISK_CALL_DELETE] = { SQLITE_IOERR_DELETE, SQLITE_IOERR_DELETE },
	[DISK_CALL_CREATE] = { SQLITE_CANTOPEN, SQLITE_CANTOPEN },
	[DISK_CALL_READ] = { SQLITE_IOERR_READ, SQLITE_IOERR_READ },
};

const char *disk_call_name(enum disk_call call)
{
	return call_names[call];
}

const char *disk_fault_name(enum disk_fault fault)
{
	return fault_names[fault];
}

static struct disk *disk_of(sqlite3_vfs *vfs)
{
	return vfs->pAppData;
}

int disk_failed(struct disk *d, enum disk_call call, enum disk_fault fault)
{
	d->last_errno = fault == DISK_FULL ? ENOSPC : EIO;
	return fault == DISK_FULL ? codes[call].full : codes[call].ioerr;
}

enum disk_fault disk_ask(struct disk *d, unsigned life, enum disk_call call, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	enum disk_fault fault = DISK_OK;

	d->stats.calls[call]++;
	if (d->options.ask)
		fault = d->options.ask(d->options.user, call, (str){ base, strlen(base) });
	d->stats.faults[fault]++;
	if (fault == DISK_TORN && call != DISK_CALL_WRITE)
		fault = DISK_KILL;
	if (fault == DISK_KILL)
		disk_kill(d, life);
	return disk_is_dead(d, life) ? DISK_KILL : fault;
}

/* Only what lies in our folder is simulated. */
static bool is_ours(const struct disk *d, const char *path)
{
	size_t n = strlen(d->dir);

	return path && !strncmp(path, d->dir, n) && path[n] == '/';
}

/* The file as it is before the opening; NULL when there is none. */
static struct disk_file *look_up(struct disk *d, const char *path)
{
	struct disk_file *f = disk_file_find(d, path);
	struct stat st;
	bool there = stat(path, &st) == 0;

	if (f && f->refs == 1u + f->entry_pending && (!there || f->size != st.st_size)) {
		/* Somebody changed it past us, and is believed. */
		disk_undo_reset(f, there ? st.st_size : 0);
	}
	if (!there)
		return NULL;
	if (!f) {
		f = disk_file_add(d, path, st.st_size);
		/* Made by the program itself just now. */
		if (st.st_size == 0)
			disk_entry_created(d, f);
	}
	return f;
}

/* SQLite shares the -shm of one file's handles: a dead one would carry it into the next life. */
static void assert_dead_are_closed(const struct disk *d, const struct disk_file *f)
{
	for (size_t i = 0; i < d->handles.n; i++) {
		const struct disk_handle *h = d->handles.p[i];

		if (h->file != f || !h->dead || h->life == d->life)
			continue;
		fprintf(stderr, "disk: life %u opens %s, which life %u died with: close that\n",
				d->life, f->path, h->life);
		abort();
	}
}

static int open_real(struct disk *d, struct disk_handle *h, const char *path, int flags,
		int *ret_flags)
{
	int rc = d->real->xOpen(d->real, path, h->real, flags, ret_flags);

	d->last_errno = 0;
	if (rc != SQLITE_OK)
		return rc;
	h->base.pMethods = &disk_methods;
	vec_push(&d->handles, h);
	return SQLITE_OK;
}

static int x_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *ret_flags)
{
	struct disk *d = disk_of(vfs);
	struct disk_handle *h = (struct disk_handle *)file;
	enum disk_fault fault = DISK_OK;
	int rc;

	*h = (struct disk_handle){ .disk = d, .life = d->life, .real = (sqlite3_file *)(h + 1) };
	memset(h->real, 0, (size_t)d->real->szOsFile);
	if (disk_is_dead(d, d->life))
		return SQLITE_CANTOPEN;
	if (!is_ours(d, path))
		return open_real(d, h, path, flags, ret_flags);
	h->file = look_up(d, path);
	if (h->file)
		assert_dead_are_closed(d, h->file);
	else if (flags & SQLITE_OPEN_CREATE)
		fault = disk_ask(d, d->life, DISK_CALL_CREATE, path);
	if (fault != DISK_OK && fault != DISK_KILL_AFTER)
		return disk_failed(d, DISK_CALL_CREATE, fault);
	rc = open_real(d, h, path, flags, ret_flags);
	if (rc == SQLITE_OK && !h->file) {
		h->file = disk_file_find(d, path);
		if (!h->file)
			h->file = disk_file_add(d, path, 0);
		if (!h->file->entry_pending)
			disk_entry_created(d, h->file);
	}
	if (rc == SQLITE_OK)
		h->file->refs++;
	if (fault == DISK_KILL_AFTER)
		disk_kill(d, h->life);
	if (rc == SQLITE_OK && h->dead) {
		disk_methods.xClose(file);
		h->base.pMethods = NULL;
		return SQLITE_CANTOPEN;
	}
	return rc;
}

static int x_delete(sqlite3_vfs *vfs, const char *path, int sync_dir)
{
	struct disk *d = disk_of(vfs);
	enum disk_fault fault;
	struct disk_file *f;
	int rc = SQLITE_OK;

	if (disk_is_dead(d, d->life))
		return SQLITE_IOERR_DELETE;
	f = is_ours(d, path) ? look_up(d, path) : NULL;
	if (!f)
		return d->real->xDelete(d->real, path, sync_dir);
	fault = disk_ask(d, d->life, DISK_CALL_DELETE, path);
	if (fault != DISK_OK && fault != DISK_KILL_AFTER)
		return disk_failed(d, DISK_CALL_DELETE, fault);
	disk_entry_deleted(d, f);
	if (sync_dir)
		disk_entries_sync(d);
	if (fault == DISK_KILL_AFTER) {
		disk_kill(d, d->life);
		rc = disk_failed(d, DISK_CALL_DELETE, fault);
	}
	return rc;
}

static int x_access(sqlite3_vfs *vfs, const char *path, int flags, int *ret)
{
	struct disk *d = disk_of(vfs);

	if (disk_is_dead(d, d->life))
		return SQLITE_IOERR_ACCESS;
	return d->real->xAccess(d->real, path, flags, ret);
}

static int x_full_pathname(sqlite3_vfs *vfs, const char *path, int n, char *ret)
{
	sqlite3_vfs *real = disk_of(vfs)->real;

	return real->xFullPathname(real, path, n, ret);
}

static int x_randomness(sqlite3_vfs *vfs, int n, char *ret)
{
	struct disk *d = disk_of(vfs);

	for (int i = 0; i < n; i++)
		ret[i] = (char)rng_next(&d->noise);
	return n;
}

static int x_sleep(sqlite3_vfs *vfs, int us)
{
	disk_of(vfs)->stats.sleeps++;
	return us;
}

static int x_current_time_int64(sqlite3_vfs *vfs, sqlite3_int64 *ret)
{
	static const sqlite3_int64 unix_epoch = 24405875 * (sqlite3_int64)8640000; /* julian ms */
	const struct disk_options *o = &disk_of(vfs)->options;

	*ret = unix_epoch + (o->now ? o->now(o->user) : 0);
	return SQLITE_OK;
}

static int x_current_time(sqlite3_vfs *vfs, double *ret)
{
	sqlite3_int64 ms;

	x_current_time_int64(vfs, &ms);
	*ret = (double)ms / 86400000.0;
	return SQLITE_OK;
}

static int x_get_last_error(sqlite3_vfs *vfs, int n, char *ret)
{
	struct disk *d = disk_of(vfs);

	if (d->last_errno)
		return d->last_errno;
	return d->real->xGetLastError ? d->real->xGetLastError(d->real, n, ret) : 0;
}

static char *make_dir(void)
{
	const char *tmp = getenv("TMPDIR"), *places[] = { "/dev/shm", tmp, "/tmp" };
	struct buf path = BUF_INIT;

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		if (!places[i])
			continue;
		buf_clear(&path);
		buf_addf(&path, "%s/overseer-disk-XXXXXX", places[i]);
		if (mkdtemp(path.p))
			return path.p;
	}
	fprintf(stderr, "disk: no folder for temporary files\n");
	abort();
}

struct disk *disk_new(const struct disk_options *options)
{
	struct disk *d = mem_zalloc(1, sizeof(*d));

	assert(!sqlite3_vfs_find(vfs_name));
	d->options = *options;
	d->dir = make_dir();
	d->rng.state = options->seed;
	d->noise.state = ~options->seed;
	d->real = sqlite3_vfs_find(NULL);
	d->vfs = (sqlite3_vfs){
		.iVersion = 2,
		.szOsFile = (int)sizeof(struct disk_handle) + d->real->szOsFile,
		.mxPathname = d->real->mxPathname,
		.zName = vfs_name,
		.pAppData = d,
		.xOpen = x_open,
		.xDelete = x_delete,
		.xAccess = x_access,
		.xFullPathname = x_full_pathname,
		.xRandomness = x_randomness,
		.xSleep = x_sleep,
		.xCurrentTime = x_current_time,
		.xGetLastError = x_get_last_error,
		.xCurrentTimeInt64 = x_current_time_int64,
	};
	if (sqlite3_vfs_register(&d->vfs, 1) != SQLITE_OK)
		abort();
	sqlite3_randomness(0, NULL); /* drawn once per process: begin again, with our noise */
	disk_set_life(d, 0);
	return d;
}

static int remove_one(const char *path, const struct stat *st _unused_, int type _unused_,
		struct FTW *ftw _unused_)
{
	return remove(path);
}

void disk_free(struct disk *d)
{
	if (!d)
		return;
	assert(d->handles.n == 0);
	sqlite3_vfs_unregister(&d->vfs);
	disk_entries_sync(d);
	for (size_t i = 0; i < d->files.n; i++)
		disk_file_unref(d->files.p[i]);
	nftw(d->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	vec_done(&d->files);
	vec_done(&d->entries);
	vec_done(&d->handles);
	vec_done(&d->dead);
	mem_free(d->dir);
	mem_free(d);
}

const char *disk_dir(const struct disk *d)
{
	return d->dir;
}

const struct disk_stats *disk_stats(struct disk *d)
{
	d->stats.unsynced_bytes = 0;
	for (size_t i = 0; i < d->files.n; i++)
		d->stats.unsynced_bytes += disk_undo_bytes(d->files.p[i]);
	return &d->stats;
}

void disk_set_life(struct disk *d, unsigned life)
{
	while (d->dead.n <= life)
		vec_push(&d->dead, false);
	d->life = life;
}

/* What the kernel does for a process that ended. */
static void let_go(struct disk_handle *h)
{
	const sqlite3_io_methods *m = h->real->pMethods;

	h->dead = true;
	for (int i = 0; i < SQLITE_SHM_NLOCK; i++) {
		if (h->locks.shared & 1u << i)
			m->xShmLock(h->real, i, 1, SQLITE_SHM_UNLOCK | SQLITE_SHM_SHARED);
		if (h->locks.exclusive & 1u << i)
			m->xShmLock(h->real, i, 1, SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE);
	}
	if (h->locks.level > SQLITE_LOCK_NONE)
		m->xUnlock(h->real, SQLITE_LOCK_NONE);
	h->locks = (struct disk_locks){ 0 };
}

void disk_kill(struct disk *d, unsigned life)
{
	if (disk_is_dead(d, life))
		return;
	while (d->dead.n <= life)
		vec_push(&d->dead, false);
	d->dead.p[life] = true;
	d->stats.kills++;
	for (size_t i = 0; i < d->handles.n; i++)
		if (d->handles.p[i]->life == life)
			let_go(d->handles.p[i]);
}

bool disk_is_dead(const struct disk *d, unsigned life)
{
	return life < d->dead.n && d->dead.p[life];
}

void disk_power_cut(struct disk *d)
{
	for (size_t life = 0; life < d->dead.n; life++)
		disk_kill(d, (unsigned)life);
	d->stats.cuts++;
	disk_entries_cut(d);
	for (size_t i = 0; i < d->files.n; i++)
		d->stats.lost_sectors += disk_undo_cut(d->files.p[i], &d->rng);
}
