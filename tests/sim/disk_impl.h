#pragma once
/*
 * The inside of the simulated disk. A file is known by its path, whoever has it open; it remembers
 * what was not synced. A handle is SQLite's view of it, and owns the handle of the system's VFS.
 */
#include <sqlite3.h>

#include "base/vec.h"
#include "tests/rng.h"
#include "tests/sim/disk.h"

enum { DISK_SECTOR = 512 };

/* What a sector held before a write; more than one of a sector since the last sync are in order. */
struct disk_version {
	uint64_t sector;
	uint32_t op;    /* the number of the write or truncate since the last sync */
	uint32_t image; /* of the bytes, from 1; 0: zeros */
	bool cut;       /* it was a truncate that took the sector away */
};

struct disk_size {
	uint32_t op; /* that changed it */
	int64_t size;
};

struct disk_file {
	char *path;
	size_t refs; /* handles, and the list that it is in */
	int64_t size, durable_size;
	bool entry_pending; /* created, and the folder was not synced since */
	uint32_t ops;
	uint32_t failed_ops; /* those of them that a sync failed to write; 0: none */
	VEC(struct disk_version) versions;
	VEC(struct disk_size) sizes;
	VEC(uint8_t) images;
};

/* A change of the folder that is not durable yet. */
struct disk_entry {
	struct disk_file *file;
	char *gone; /* deleted: where its bytes wait. NULL: created */
};

/* What a handle holds, so that death can let go of it. */
struct disk_locks {
	int level;
	uint16_t shared, exclusive; /* bits of the -shm's locks */
};

struct disk_handle {
	sqlite3_file base; /* first: SQLite knows no more of it */
	struct disk *disk;
	struct disk_file *file; /* NULL: a temporary file, which nobody asks about */
	sqlite3_file *real;
	unsigned life;
	bool dead;
	struct disk_locks locks;
};

struct disk {
	struct disk_options options;
	sqlite3_vfs vfs, *real;
	char *dir;
	struct rng rng, noise; /* noise is what SQLite gets */
	unsigned life;
	VEC(bool) dead; /* by life; a longer one than the list was never seen */
	VEC(struct disk_file *) files;
	VEC(struct disk_entry) entries;
	VEC(struct disk_handle *) handles;
	uint64_t gone;  /* counts deleted files, for names */
	int last_errno; /* of an injected fault, until the next lock; 0: ask the system */
	struct disk_stats stats;
};

extern const sqlite3_io_methods disk_methods;

/*
 * Asks, counts, and kills the life if that is the answer. DISK_KILL also when the question itself
 * ended the life.
 */
enum disk_fault disk_ask(struct disk *d, unsigned life, enum disk_call call, const char *path);
/* SQLite's code for a call that was made to fail; notes the errno. */
int disk_failed(struct disk *d, enum disk_call call, enum disk_fault fault);

struct disk_file *disk_file_find(struct disk *d, const char *path);
/* A new one in the list, of this size on the disk. */
struct disk_file *disk_file_add(struct disk *d, const char *path, int64_t size);
void disk_file_unref(struct disk_file *f);

/* The folder: what changed, and that it is durable now. */
void disk_entry_created(struct disk *d, struct disk_file *f);
/* Takes the file off the folder; it may come back. */
void disk_entry_deleted(struct disk *d, struct disk_file *f);
void disk_entries_sync(struct disk *d);
/* Undoes the newest ones, as many as the dice say. */
void disk_entries_cut(struct disk *d);

/* Before a write or a truncate is made: remembers what it changes. */
void disk_undo_write(struct disk_file *f, sqlite3_file *real, int64_t at, int64_t n);
void disk_undo_truncate(struct disk_file *f, sqlite3_file *real, int64_t size);
void disk_undo_sync(struct disk_file *f);
void disk_undo_sync_failed(struct disk_file *f);
/* The file is what is on the disk, and of this size. */
void disk_undo_reset(struct disk_file *f, int64_t size);
/* Undoes any part of what was not synced, on the file itself; gives the sectors changed. */
uint64_t disk_undo_cut(struct disk_file *f, struct rng *rng);
size_t disk_undo_bytes(const struct disk_file *f);
