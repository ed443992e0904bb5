#pragma once
/*
 * Events: the append-only facts from which all state is folded. Every kind stands once, in a file
 * *.def of this folder, with its fields:
 *
 * 	EVENT(EV_RUN_SESSION, run_session, "run.session", "what it says, for docs/events.md")
 * 		TEXT(REQ, session, "the agent's own id of it")
 * 		TEXT(OPT, model, "that it works with")
 * 	END(run_session)
 *
 * From that come the enum, struct ev_run_session, its reader and writer, their checks, the
 * document, and the declarations of whoever handles all kinds. How rows are written:
 * core/shape/shape.h. A log never holds a field that nobody knows.
 */
#include "base/ov.h"
#include "core/event/event_types.h"
#include "data/value/value.h"

struct event {
	uint64_t seq; /* 0 until it is in the log */
	ov_time at;
	enum event_kind kind;
	str actor;                       /* who caused it: "human:NAME", "overseer" */
	str goal, node, assignment, run; /* what it is about; empty where that does not apply */
	value *data;                     /* an object, per event_shape(kind) */
	void *is;                        /* the same as the struct of its kind: as_KIND(e) */
};

/* A batch of events in an arena-free vector of pointers; the events live in an arena. */
struct events {
	struct event **p;
	size_t n, cap;
};

/* Its fields; name and help as in docs/events.md. */
struct shape event_shape(enum event_kind kind);
const char *event_name(enum event_kind kind);
const char *event_help(enum event_kind kind);

/* The kind with this name, or -1. */
int event_kind_parse(str name);
/* 0, or OV_EINVALID with what is wrong about the data. */
int event_check(const struct event *e, struct ov_err *err);
/* Fills the struct of its kind from data that is, or will be, checked. */
void event_fill(struct arena *a, struct event *e);
/*
 * What is in the struct, as an object that shares nothing with it: texts are copied, and
 * made UTF-8.
 */
value *event_data(struct arena *a, const struct event *e);
/* The body as stored: everything but seq, at and kind; empty members left out. */
value *event_body(struct arena *a, const struct event *e);
/*
 * A stored event back. Texts are borrowed from body. OV_ESTATE when only a newer program can read
 * it, OV_EINVALID when nobody can.
 */
int event_decode(struct arena *a, uint64_t seq, ov_time at, str kind, str body, struct event *ret,
		struct ov_err *err);
/* As shown by `events` and published live: {"seq", "at", "type", "actor", ..., "data"}. */
value *event_view(struct arena *a, const struct event *e);

/* as_run_session(e) and so on: what the event holds, by its kind. */
#define EVENT(sym, type, name, help)                                           \
	static inline const struct ev_##type *as_##type(const struct event *e) \
	{                                                                      \
		assert(e->kind == (sym));                                      \
		return e->is;                                                  \
	}
#include "core/event/kinds.def"
