#pragma once
/*
 * The doctor: a table of checks of everything that a store depends on, each of which says how it
 * found things and what to do, and some of which can put right what is wrong. Nothing that it does
 * takes work away: what could hold any is only named. Private to doctor*.c and rebuild.c.
 */
#include "app/call/op_context.h"
#include "app/store/safe_mode.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/ov.h"

enum doctor_level { DOCTOR_OK, DOCTOR_WARNING, DOCTOR_PROBLEM };

struct doctor {
	struct op_ctx *cx;
	struct arena *a;
	const char *dir, *repo;
	const char *store_path; /* NULL: the store is no file */
	bool held;              /* a daemon holds the store */
	struct safe_store s;    /* as it is now; s.store NULL when it cannot be opened */
	struct ov_err open_err;
	int opened;            /* 0, or why not */
	struct map known_runs; /* ids of all runs that the log speaks of */

	/* Of the check under way. */
	enum doctor_level level;
	struct buf text, next;
};

struct doctor_check {
	const char *name, *what;
	void (*run)(struct doctor *d);
	/* Puts right what run found; NULL when that is a person's business. */
	int (*fix)(struct doctor *d, struct ov_err *err);
	bool offline; /* may be fixed only while no daemon runs */
};

/* One finding of the check under way; the gravest level counts. */
void doctor_say(struct doctor *d, enum doctor_level level, const char *fmt, ...) _printf_(3, 4);
/* What to do about it; the first one counts. */
void doctor_next(struct doctor *d, const char *fmt, ...) _printf_(2, 3);
/* A short program, waited for; its output in the arena. Its exit status, or negative. */
int doctor_ask(struct doctor *d, const char *const *argv, str *ret_out, struct ov_err *err);

/* doctor_store.c */
void doctor_integrity(struct doctor *d);
void doctor_chain(struct doctor *d);
void doctor_snapshot(struct doctor *d);
int doctor_fix_snapshot(struct doctor *d, struct ov_err *err);
void doctor_lease(struct doctor *d);
int doctor_fix_lease(struct doctor *d, struct ov_err *err);
void doctor_copies(struct doctor *d);

/* doctor_files.c */
void doctor_runs(struct doctor *d);
void doctor_worktrees(struct doctor *d);
void doctor_git_folders(struct doctor *d);
void doctor_rescue(struct doctor *d);
void doctor_temporary(struct doctor *d);
int doctor_fix_temporary(struct doctor *d, struct ov_err *err);
void doctor_space(struct doctor *d);
void doctor_permissions(struct doctor *d);
int doctor_fix_permissions(struct doctor *d, struct ov_err *err);

/* doctor_contain.c */
void doctor_containment(struct doctor *d);
void doctor_sandbox(struct doctor *d);

/* rebuild.c: a new store from what can be verified; says in *ret what was done. */
int doctor_rebuild(struct doctor *d, value **ret, struct ov_err *err);
