#pragma once
/*
 * The hooks of a run, as its driver hears and uses them: the file of events is followed from its
 * beginning, and what the agent is to be told at its next stop is laid beside it. The handle owns
 * its follower; the files are the run's.
 */
#include "agent/fact/fact.h"
#include "agent/format/format.h"
#include "base/ov.h"

struct driver_hooks;
struct loop;

/*
 * f: what the line says, or NULL; taken: a dispatch that was handed over, or empty; line: as it is.
 */
typedef void driver_hook_fn(void *user, const struct fact *f, str taken, str line);

/* format: NULL where nothing but the hooks tells what the agent does. */
int driver_hooks_open(struct loop *l, const char *dir, const struct agent_format *format,
		driver_hook_fn *fn, void *user, struct driver_hooks **ret, struct ov_err *err);
/*
 * What is there by now is told; of a flood only a part, the rest comes from the loop. NULL allowed.
 */
void driver_hooks_drain(struct driver_hooks *h);
/*
 * The run is over: all that is there is told, up to a bound, and whatever was handed over without
 * anybody telling. NULL allowed.
 */
void driver_hooks_end(struct driver_hooks *h);
void driver_hooks_close(struct driver_hooks *h); /* NULL allowed */

/*
 * For its next Stop hook, one at a time. Performed again after a crash it is found: still there, or
 * under the name that it got when it was taken.
 */
int driver_hooks_lay(const char *dir, str dispatch_id, str text, struct ov_err *err);
