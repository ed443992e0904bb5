#pragma once
/*
 * A disk that fails on demand, beneath the real store: a SQLite VFS over the system's own, made the
 * default of the process as long as the disk lives. The files are real ones in a folder of the disk
 * (disk_dir), so that open, stat and flock on them work as ever; what is simulated is what the disk
 * keeps. Before each call that changes something the owner is asked whether it fails, and how.
 *
 * Several daemons live in one process: a life is one of them, from its start to its end. The owner
 * says on whose behalf calls are made (disk_set_life) before every call that may reach the store,
 * its closing included; a handle belongs to the life that opened it, and is used by no other. A
 * life that died can do nothing but close: every call on its handles fails and changes nothing. Its
 * locks are gone at once, as the kernel does it; its stores have to be closed before another life
 * opens the same files, since SQLite shares the memory of one file's handles in a process.
 *
 * Killing a process leaves what it wrote: the system has it. A power cut kills every life and
 * takes, per file and sector of 512 bytes, any part of what was not synced since; files come back
 * that were deleted, and vanish that were created, when nothing synced the folder after that (the
 * newest first). What a sync that reported success was told of stays; what one that failed was told
 * of is not made good by the next, but by being written again, since systems take such pages
 * for written.
 *
 * Everything is decided by the seed and by the order of calls. One disk at a time in a process.
 */
#include "base/ov.h"

struct disk;

enum disk_call {
	DISK_CALL_WRITE,
	DISK_CALL_TRUNCATE,
	DISK_CALL_SYNC,
	DISK_CALL_DELETE,
	DISK_CALL_CREATE,
	DISK_CALL_READ, /* asked about only if the options say so */
	DISK_CALL_COUNT,
};

enum disk_fault {
	DISK_OK,
	DISK_FULL,       /* no space; of a write a part may have been made */
	DISK_IOERR,      /* the same, and the disk says so */
	DISK_KILL,       /* the process dies before the call */
	DISK_KILL_AFTER, /* and after it */
	DISK_TORN,       /* and within: of a write some sectors were made. As DISK_KILL elsewhere */
	DISK_FAULT_COUNT,
};

struct disk_options {
	uint64_t seed;
	/*
	 * The file is its base name. NULL: nothing fails. It may kill lives and cut the
	 * power itself.
	 */
	enum disk_fault (*ask)(void *user, enum disk_call call, str file);
	/* what SQLite takes for the time; NULL: the same moment always */
	ov_time (*now)(void *user);
	void *user;
	bool ask_reads;
};

/* Counted since the beginning; the -shm files are memory, and not counted. */
struct disk_stats {
	uint64_t calls[DISK_CALL_COUNT], faults[DISK_FAULT_COUNT];
	uint64_t kills, cuts, sleeps;
	uint64_t lost_sectors; /* undone by power cuts */
	size_t unsynced_bytes; /* now: what the next cut could undo */
};

/* Aborts when no folder can be made: there is nothing to simulate on. */
struct disk *disk_new(const struct disk_options *options);
/* Removes the folder; every handle has to be closed. NULL allowed. */
void disk_free(struct disk *d);
/* In memory if the system has such a file system. Without a slash at the end. */
const char *disk_dir(const struct disk *d);
const struct disk_stats *disk_stats(struct disk *d);
/* The name of a call or a fault, for traces. */
const char *disk_call_name(enum disk_call call);
const char *disk_fault_name(enum disk_fault fault);

/* Lives are numbered by the owner, from 0 without big gaps; 0 is the first one. */
void disk_set_life(struct disk *d, unsigned life);
void disk_kill(struct disk *d, unsigned life);
bool disk_is_dead(const struct disk *d, unsigned life);
/* Kills every life that was ever set. */
void disk_power_cut(struct disk *d);
