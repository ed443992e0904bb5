#pragma once
/*
 * What agents and tools keep in a home, as far as a sandbox has to know it: a table. A folder of
 * the table is not the user's own inside: it is a copy without content, into which each entry of
 * the user's is shown to be read (settings, hooks, plugins, servers of MCP, programs, and
 * everything that is not known), except for those that are shared, which are the user's own and can
 * be written (logins, transcripts), and those that each sandbox has its own of (caches, logs,
 * databases). What is created there never reaches the user's home.
 */
#include "base/ov.h"

struct home_folder {
	const char *env;  /* names it, where it is set and absolute; NULL: nothing does */
	const char *sub;  /* what is below that; NULL: nothing */
	const char *path; /* below the home, where it is not set */
	/*
	 * The folder in it with a file for each session, which its hooks name; NULL: none is read.
	 */
	const char *sessions;
	/* Names of entries; end with NULL. A "/" at the end: a folder, made where it is missing. */
	const char *const *shared;
	const char *const *own;  /* names, or patterns as of home_entry(); ends with NULL */
	const char *const *copy; /* files of the home that are replaced by rename; may be NULL */
	/*
	 * The text of such a file, in which a worktree is known as its repository is; may be NULL.
	 */
	str (*adapt)(struct arena *a, str text, const char *repo, const char *worktree);
	/*
	 * The file that says which repositories the user trusts: below what env names, and
	 * below the home.
	 */
	const char *known[2];
	bool (*trusted)(str text, const char *repo); /* may be NULL */
	bool cache; /* one for all runs of the store, not for each assignment */
};

enum home_way { HOME_READ, HOME_SHARE, HOME_OWN };

/* Of an agent of this format; empty when nothing is known of it. */
const struct home_folder *home_folders(str format, size_t *ret_n);
/* Where tools keep what they could get again. */
const struct home_folder *home_caches(size_t *ret_n);
/*
 * Below the home: folders in which other programs have sockets and keys to themselves; ends
 * with NULL.
 */
extern const char *const home_hidden[];
/* Below the home: folders in which nothing but sockets is hidden; ends with NULL. */
extern const char *const home_sockets[];
/* Right below the home: keys to the user's screen; ends with NULL. */
extern const char *const home_keys[];
/* How an entry of a folder is shown. A pattern may have one "*" at either end. */
enum home_way home_entry(const struct home_folder *f, str name);
