#pragma once
/*
 * How runs are held together on this machine: in a control group each, where the daemon may make
 * some, else by their shim and the sweep alone. Looked at once, when the daemon starts; what is
 * missing is no error, and `doctor` says it. Owns only texts.
 */
#include "base/ov.h"
#include "core/config.h"
#include "core/state.h"

struct contain;

struct contain *contain_new(const struct config *c);
void contain_free(struct contain *k); /* NULL allowed */
/* Other agents, other limits. */
void contain_set_config(struct contain *k, const struct config *c);
/* The folder below which runs get their groups; NULL: they get none. */
const char *contain_cgroup(const struct contain *k);
/*
 * The program bwrap, found and tried (once, until it works): OV_EUNAVAILABLE says why it cannot be used.
 * Waits for it, some milliseconds.
 */
int contain_sandbox(struct contain *k, const char **ret, struct ov_err *err);
/*
 * Ends and removes groups of runs that are over by the state: their shim was killed when no daemon was
 * there to see it. Groups of others are left alone.
 */
void contain_clear(const struct contain *k, const struct state *s);
