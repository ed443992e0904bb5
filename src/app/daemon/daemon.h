#pragma once
/*
 * The daemon: opens everything in the right order, connects the parts, and lets go of them in the
 * reverse order. Order of a start: configuration, store and lease (from here on we are the only
 * one), state, sockets, runs of the previous instance, registration, the first tick.
 */
#include "base/ov.h"

struct daemon_options {
	const char *dir;         /* the store's folder, absolute */
	const char *repo;        /* root of the checkout, absolute */
	const char *shim;        /* path of overseer-run */
	const char *overseer;    /* path of the program that hooks call; NULL: it was not found */
	const char *const *sets; /* options in place of the file's: "KEY=VALUE" */
	size_t sets_n;
	bool automatic; /* tasks are asked for; when that fails, the daemon ends */
	int ready_fd;   /* told when we are ready, or why not; -1: nobody asks */
};

/* Runs until stopped; returns the exit status (enum daemon_exit). */
int daemon_run(const struct daemon_options *o);
/*
 * Answers one request from stdin to stdout from the store as it is; returns the exit status. With
 * may_write also what works on the store's files.
 */
struct readonly_options {
	const char *dir, *repo, *shim;
	bool may_write;
};
int readonly_run(const struct readonly_options *o);
