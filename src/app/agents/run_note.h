#pragma once
/*
 * What a run was started as, kept in its folder: whoever finds the run again, or reads its output
 * later, must not depend on a configuration that may have changed since.
 */
#include "agent/format/format.h"
#include "base/ov.h"
#include "core/config/config.h"

struct run_note {
	const char *runtime;               /* "exec" where it is not known */
	const struct agent_format *format; /* never NULL */
	bool hooks;                        /* they were installed */
	const char *sandbox;               /* "fence", "bwrap", "none"; "" where it is not known */
	bool input;                        /* its standard input stayed open */
	bool trusted;                      /* the user had told the agent to trust the repository */
};

int run_note_write(const char *dir, const struct run_note *n, struct ov_err *err);
/* False when there is none. */
bool run_note_find(const char *dir, struct run_note *ret);
/* Without one it is text with an open input: such runs were started before there were notes. */
struct run_note run_note_read(const char *dir);
