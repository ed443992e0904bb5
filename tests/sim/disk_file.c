/* The calls on a handle: the dead get nothing, the others are asked about and passed on. */
#include "tests/sim/disk_impl.h"

static struct disk_handle *handle_of(sqlite3_file *file)
{
	struct disk_handle *h = (struct disk_handle *)file;

	/* Whose call is it? The owner of the disk forgot to say. */
	assert(h->life == h->disk->life);
	return h;
}

static int x_close(sqlite3_file *file)
{
	struct disk_handle *h = handle_of(file);
	struct disk *d = h->disk;
	int rc = h->real->pMethods->xClose(h->real);

	for (size_t i = 0; i < d->handles.n; i++) {
		if (d->handles.p[i] == h) {
			vec_remove(&d->handles, i);
			break;
		}
	}
	if (h->file)
		disk_file_unref(h->file);
	return rc;
}

static int x_read(sqlite3_file *file, void *p, int n, sqlite3_int64 at)
{
	struct disk_handle *h = handle_of(file);
	enum disk_fault fault = DISK_OK;
	int rc;

	if (h->dead)
		return SQLITE_IOERR_READ;
	if (h->file && h->disk->options.ask_reads)
		fault = disk_ask(h->disk, h->life, DISK_CALL_READ, h->file->path);
	if (fault != DISK_OK && fault != DISK_KILL_AFTER)
		return disk_failed(h->disk, DISK_CALL_READ, fault);
	rc = h->real->pMethods->xRead(h->real, p, n, at);
	if (fault != DISK_KILL_AFTER)
		return rc;
	disk_kill(h->disk, h->life);
	return disk_failed(h->disk, DISK_CALL_READ, fault);
}

/* Of a write that ended within: up to the beginning of one of its sectors. */
static int draw_part(struct disk *d, int n, sqlite3_int64 at)
{
	sqlite3_int64 first = at / DISK_SECTOR, last = (at + n - 1) / DISK_SECTOR;
	sqlite3_int64 end = first + (sqlite3_int64)rng_below(&d->rng, (size_t)(last - first) + 1);

	return end == first ? 0 : (int)(end * DISK_SECTOR - at);
}

static int x_write(sqlite3_file *file, const void *p, int n, sqlite3_int64 at)
{
	struct disk_handle *h = handle_of(file);
	enum disk_fault fault;
	int rc = SQLITE_OK;

	if (h->dead)
		return SQLITE_IOERR_WRITE;
	if (!h->file)
		return h->real->pMethods->xWrite(h->real, p, n, at);
	fault = disk_ask(h->disk, h->life, DISK_CALL_WRITE, h->file->path);
	if (fault == DISK_KILL)
		return disk_failed(h->disk, DISK_CALL_WRITE, fault);
	if (fault != DISK_OK && fault != DISK_KILL_AFTER)
		n = draw_part(h->disk, n, at);
	if (n) {
		disk_undo_write(h->file, h->real, at, n);
		rc = h->real->pMethods->xWrite(h->real, p, n, at);
	}
	if (fault == DISK_KILL_AFTER || fault == DISK_TORN)
		disk_kill(h->disk, h->life);
	return fault == DISK_OK ? rc : disk_failed(h->disk, DISK_CALL_WRITE, fault);
}

static int x_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	struct disk_handle *h = handle_of(file);
	enum disk_fault fault;
	int rc;

	if (h->dead)
		return SQLITE_IOERR_TRUNCATE;
	if (!h->file)
		return h->real->pMethods->xTruncate(h->real, size);
	fault = disk_ask(h->disk, h->life, DISK_CALL_TRUNCATE, h->file->path);
	if (fault != DISK_OK && fault != DISK_KILL_AFTER)
		return disk_failed(h->disk, DISK_CALL_TRUNCATE, fault);
	disk_undo_truncate(h->file, h->real, size);
	rc = h->real->pMethods->xTruncate(h->real, size);
	if (fault == DISK_OK)
		return rc;
	disk_kill(h->disk, h->life);
	return disk_failed(h->disk, DISK_CALL_TRUNCATE, fault);
}

/* Nothing is asked of the system: what the disk keeps is ours to say. */
static int x_sync(sqlite3_file *file, int flags _unused_)
{
	struct disk_handle *h = handle_of(file);
	enum disk_fault fault;

	if (h->dead)
		return SQLITE_IOERR_FSYNC;
	if (!h->file)
		return SQLITE_OK;
	fault = disk_ask(h->disk, h->life, DISK_CALL_SYNC, h->file->path);
	if (fault == DISK_FULL || fault == DISK_IOERR)
		disk_undo_sync_failed(h->file);
	if (fault != DISK_OK && fault != DISK_KILL_AFTER)
		return disk_failed(h->disk, DISK_CALL_SYNC, fault);
	disk_undo_sync(h->file);
	if (h->file->entry_pending)
		disk_entries_sync(h->disk);
	if (fault == DISK_OK)
		return SQLITE_OK;
	disk_kill(h->disk, h->life);
	return disk_failed(h->disk, DISK_CALL_SYNC, fault);
}

static int x_file_size(sqlite3_file *file, sqlite3_int64 *ret)
{
	struct disk_handle *h = handle_of(file);

	return h->dead ? SQLITE_IOERR_FSTAT : h->real->pMethods->xFileSize(h->real, ret);
}

static int x_lock(sqlite3_file *file, int level)
{
	struct disk_handle *h = handle_of(file);
	int rc = h->dead ? SQLITE_IOERR_LOCK : h->real->pMethods->xLock(h->real, level);

	h->disk->last_errno = 0;
	if (rc == SQLITE_OK)
		h->locks.level = MAX(h->locks.level, level);
	return rc;
}

static int x_unlock(sqlite3_file *file, int level)
{
	struct disk_handle *h = handle_of(file);
	int rc = h->dead ? SQLITE_OK : h->real->pMethods->xUnlock(h->real, level);

	if (rc == SQLITE_OK)
		h->locks.level = MIN(h->locks.level, level);
	return rc;
}

static int x_check_reserved_lock(sqlite3_file *file, int *ret)
{
	struct disk_handle *h = handle_of(file);

	return h->dead ? SQLITE_IOERR_CHECKRESERVEDLOCK
		       : h->real->pMethods->xCheckReservedLock(h->real, ret);
}

static int x_file_control(sqlite3_file *file, int op, void *arg)
{
	struct disk_handle *h = handle_of(file);

	return h->dead ? SQLITE_NOTFOUND : h->real->pMethods->xFileControl(h->real, op, arg);
}

static int x_sector_size(sqlite3_file *file)
{
	struct disk_handle *h = handle_of(file);

	return h->real->pMethods->xSectorSize(h->real);
}

static int x_device_characteristics(sqlite3_file *file)
{
	struct disk_handle *h = handle_of(file);

	return h->real->pMethods->xDeviceCharacteristics(h->real);
}

static int x_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **ret)
{
	struct disk_handle *h = handle_of(file);

	if (h->dead)
		return SQLITE_IOERR_SHMMAP;
	return h->real->pMethods->xShmMap(h->real, page, size, extend, ret);
}

static void note_shm(struct disk_locks *l, int at, int n, int flags)
{
	uint16_t bits = (uint16_t)(((1u << n) - 1) << at);
	uint16_t *set = flags & SQLITE_SHM_SHARED ? &l->shared : &l->exclusive;

	*set = (uint16_t)(flags & SQLITE_SHM_LOCK ? *set | bits : *set & ~bits);
}

static int x_shm_lock(sqlite3_file *file, int at, int n, int flags)
{
	struct disk_handle *h = handle_of(file);
	int rc;

	if (h->dead)
		return flags & SQLITE_SHM_UNLOCK ? SQLITE_OK : SQLITE_IOERR_SHMLOCK;
	if (flags & SQLITE_SHM_LOCK)
		h->disk->last_errno = 0;
	rc = h->real->pMethods->xShmLock(h->real, at, n, flags);
	if (rc == SQLITE_OK)
		note_shm(&h->locks, at, n, flags);
	return rc;
}

static void x_shm_barrier(sqlite3_file *file)
{
	struct disk_handle *h = handle_of(file);

	h->real->pMethods->xShmBarrier(h->real);
}

static int x_shm_unmap(sqlite3_file *file, int delete)
{
	struct disk_handle *h = handle_of(file);

	return h->real->pMethods->xShmUnmap(h->real, delete &&!h->dead);
}

const sqlite3_io_methods disk_methods = {
	.iVersion = 2, /* without memory-mapped files, whose writes nobody could see */
	.xClose = x_close,
	.xRead = x_read,
	.xWrite = x_write,
	.xTruncate = x_truncate,
	.xSync = x_sync,
	.xFileSize = x_file_size,
	.xLock = x_lock,
	.xUnlock = x_unlock,
	.xCheckReservedLock = x_check_reserved_lock,
	.xFileControl = x_file_control,
	.xSectorSize = x_sector_size,
	.xDeviceCharacteristics = x_device_characteristics,
	.xShmMap = x_shm_map,
	.xShmLock = x_shm_lock,
	.xShmBarrier = x_shm_barrier,
	.xShmUnmap = x_shm_unmap,
};
