#pragma once
/*
 * Walks through the store's folder and compares it with the state: worktrees that are gone or that
 * nobody has, rebases that nobody finishes, tasks that the pool gave out and nobody knows, work
 * without a worker. It reads folders and a few small files: when the daemon has started, when a
 * run, a step or a worker's status has changed, and every now and then while work is under way;
 * never when nothing is. What was not there at the last walk goes to the engine as patrol.report,
 * which decides what is done (core/flow/upkeep.c); the patrol itself changes nothing but to keep
 * what is in a stray worktree under a rescue ref. It remembers its last walk only.
 */
#include "base/ov.h"
#include "core/message/message.h"
#include "core/state/state.h"

struct event;
struct git;
struct loop;
struct folder_audit;

struct folder_audit_options {
	struct loop *loop;
	struct git *git;
	const char *dir; /* the store's folder */
	const struct state *(*state)(void *user);
	/* The parameters of patrol.report; valid during the call. */
	void (*report)(void *user, const struct msg_upkeep_report *m);
	void *user;
};

struct folder_audit *folder_audit_new(const struct folder_audit_options *o);
struct folder_audit *folder_audit_free(struct folder_audit *p); /* returns NULL */
/* How often it walks while work is under way. */
void folder_audit_set(struct folder_audit *p, ov_time every);
void folder_audit_published(struct folder_audit *p, const struct event *const *events, size_t n);
/* Others saw this about a run; r may be NULL. */
void folder_audit_note(struct folder_audit *p, enum patrol_fact fact, const struct run *r,
		str detail);
/* Everything may have changed: the daemon has just started. */
void folder_audit_look(struct folder_audit *p);
