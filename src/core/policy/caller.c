#include "core/policy/caller.h"

#include "base/arena.h"
#include "base/str.h"

const char *caller_name(enum caller c)
{
	static const char *const names[] = {
		[CALLER_PERSON] = "person",
		[CALLER_AGENT] = "agent",
		[CALLER_OVERSEER] = "overseer",
		[CALLER_READER] = "reader",
	};

	return names[c];
}

struct caller_verdict caller_judge(const struct caller_facts *f)
{
	if (f->own)
		return (struct caller_verdict){ CALLER_OVERSEER, WHY_NOTHING };
	if (f->place == PLACE_RUN)
		return (struct caller_verdict){ CALLER_AGENT, WHY_RUN };
	/* Without runs there is nobody who could pretend to be a person. */
	if (!f->runs_live)
		return (struct caller_verdict){ CALLER_PERSON, WHY_NOTHING };
	if (f->place == PLACE_GONE)
		return (struct caller_verdict){ CALLER_AGENT, WHY_GONE };
	if (f->place == PLACE_UNSEEN)
		return (struct caller_verdict){ CALLER_READER, WHY_UNSEEN };
	if (f->hidden)
		return (struct caller_verdict){ CALLER_READER, WHY_HIDDEN };
	return (struct caller_verdict){ CALLER_PERSON, WHY_NOTHING };
}

/* What is said to whom: "OPERATION is for people: " and this, around the name of the run. */
static const struct {
	const char *before, *after, *next;
} refusals[WHY_COUNT] = {
	[WHY_NOTHING] = { "other callers may not use it", NULL, "" },
	[WHY_RUN] = { "this call came from ", ", and an agent can read and report, but not decide",
			"a person runs the command outside of the run" },
	[WHY_GONE] = { "the process that called has ended, so it may have belonged to ", "",
			"call again, and wait for the answer before the process ends" },
	[WHY_UNSEEN] = { "the process that called cannot be seen from here, so it may belong to ",
			"", "call from outside of the container, or when no run is live" },
	[WHY_HIDDEN] = { "this HTTP call may come from ",
			", which has processes that cannot be looked at",
			"use the command overseer, or set a sandbox for the agent" },
};

static const char *for_whom(unsigned allowed)
{
	return allowed == NO_AGENTS ? "not for agents" : "for people";
}

int caller_check(unsigned allowed, const char *operation, struct caller_verdict v, str run,
		struct ov_err *err)
{
	if (allowed & CALLERS(v.caller))
		return 0;
	if (!refusals[v.why].after)
		run = STR("");
	else if (!run.n)
		run = STR("a run");
	ov_fail(err, OV_EUNAUTHORIZED, "%s is %s: %s" STR_FMT "%s", operation, for_whom(allowed),
			refusals[v.why].before, STR_ARG(run),
			refusals[v.why].after ? refusals[v.why].after : "");
	return ov_next(err, "%s", refusals[v.why].next);
}

str callers_text(struct arena *a, unsigned allowed)
{
	str text = STR("");

	for (int c = 0; c < CALLER_COUNT; c++)
		if (allowed & CALLERS(c))
			text = arena_printf(a, STR_FMT "%s%s", STR_ARG(text), text.n ? ", " : "",
					caller_name((enum caller)c));
	return text;
}
