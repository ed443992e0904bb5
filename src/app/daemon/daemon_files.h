#pragma once
/*
 * The files by which a daemon is found, and its store: others can remove them while it runs, by
 * accident mostly (git clean, a test that mistakes its folder, an agent). Folders are watched, so
 * that it is noticed at once. The socket and the registration are made anew. A store's file that
 * nobody will find again is the end of the daemon, but not of what it knows: that is saved beside
 * its place first, out of the file that is still open.
 */
#include <sys/types.h>

#include "base/arena.h"
#include "base/ov.h"
#include "sys/loop/loop.h"

struct daemon;

/* Which file it was: as long as we have it open nobody else gets its number. */
struct file_mark {
	const char *path;
	dev_t dev;
	ino_t ino;
	bool known;
};

struct daemon_files {
	struct loop_source *folders[3];
	const char *paths[3]; /* of the folders, without doubles */
	size_t folders_n;
	struct file_mark db, wal;
	const char *registration;
	bool lost;                 /* the store; nothing is written any more */
	const char *saved;         /* where it is now, or NULL */
	struct loop_source *later; /* to save it, and to look at it once more */
	ov_time wait;
	int tries;
};

/* The store is open: from now on its file is known. */
void daemon_files_mark(struct daemon *d);
/* Everything is open: from now on the folders are watched. */
void daemon_files_open(struct daemon *d);
void daemon_files_close(struct daemon *d);
/*
 * Before something is written: false when the store's file is not where it was, which ends
 * the daemon.
 */
bool daemon_files_hold(struct daemon *d);

/* daemon_lost.c: the store's file is gone. */
void daemon_lost(struct daemon *d);
/*
 * 0, or OV_ESTATE: a store that was lost lies beside the place of this one, and waits for a person.
 */
int daemon_lost_check(struct arena *a, const char *url, struct ov_err *err);
