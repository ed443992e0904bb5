#pragma once
/* What the decide_*.c files share: emitting events, and the steps of the pipeline. Private to core. */
#include "core/decide/context.h"

enum { PRIORITY_NORMAL = 3 };

struct subject {
	str goal, node, assignment, run;
};

struct subject about_goal(const struct goal *g);
struct subject about_node(const struct node *n);
struct subject about_assignment(const struct assignment *as); /* with its newest run */

struct event *emit(struct decide_ctx *cx, enum event_kind kind, struct subject s);
void ev_str(struct decide_ctx *cx, struct event *e, const char *key, str s);
void ev_note(struct decide_ctx *cx, struct event *e, const char *key,
		str s); /* cut to LIMIT_NOTE */
void ev_cstr(struct decide_ctx *cx, struct event *e, const char *key, const char *s);
void ev_int(struct decide_ctx *cx, struct event *e, const char *key, int64_t i);
void ev_flag(struct decide_ctx *cx, struct event *e, const char *key,
		bool b); /* left out when false */
/* The last step of every decision: takes secrets out of the events from `from` on. */
void events_seal(struct decide_ctx *cx, size_t from);
/* The node's own command, else the repository's; empty: there is nothing to check. */
str check_command(const struct decide_ctx *cx, const struct node *n);
/* A new id: prefix and a ULID from now and the context's entropy. */
str make_id(struct decide_ctx *cx, const char *prefix);

/* What came of an effect, as the executor reports it. */
struct outcome {
	const struct assignment *as; /* NULL for what is about a goal */
	bool ok;
	str outcome, detail;
	const value *data;
};
