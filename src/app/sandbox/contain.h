#pragma once
/*
 * How runs are held together on this machine: in a control group each, where the daemon may make
 * some, else by their shim and the sweep alone. Looked at once, when the daemon starts; what is
 * missing is no error, and `doctor` says it. Owns only texts.
 */
#include "base/ov.h"
#include "core/config/config.h"
#include "core/state/state.h"

struct contain;

struct contain *contain_new(const struct config *c);
void contain_free(struct contain *k); /* NULL allowed */
/* Other agents, other limits. */
void contain_set_config(struct contain *k, const struct config *c);
/* The folder below which runs get their groups; NULL: they get none. */
const char *contain_cgroup(const struct contain *k);
/* What a run gets. */
struct sandbox_level {
	enum sandbox is;   /* SANDBOX_FENCE, SANDBOX_BWRAP or SANDBOX_NONE */
	const char *bwrap; /* the program; NULL: none is needed */
};
/*
 * What becomes of the level that is asked for. The program is found and tried, once, until it
 * works; that takes some milliseconds. auto becomes none where it does not work, and err says why
 * although 0 is returned; for other levels that is OV_EUNAVAILABLE. Once it has worked, auto never
 * becomes none.
 */
int contain_level(struct contain *k, enum sandbox asked, struct sandbox_level *ret,
		struct ov_err *err);
/* Why auto became none when it was last asked for; NULL: it did not, or nobody has asked. */
const char *contain_unfenced(const struct contain *k);
/*
 * Ends and removes groups of runs that are over by the state: their shim was killed when no daemon
 * was there to see it. Groups of others are left alone.
 */
void contain_clear(const struct contain *k, const struct state *s);
