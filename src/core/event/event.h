#pragma once
/*
 * Events: the append-only facts from which all state is folded. Every kind stands once, in a file
 * *.def of this folder, with its fields:
 *
 *	EVENT(EV_RUN_SESSION, run_session, "run.session", "what it says, for docs/events.md")
 *		TEXT(REQ, session, "the agent's own id of it")
 *		TEXT(OPT, model, "that it works with")
 *	END(run_session)
 *
 * From that come the enum, struct ev_run_session, its reader and writer, their checks, the document,
 * and the declarations of whoever handles all kinds. A log never holds a field that nobody knows.
 *
 * Fields: TEXT str, NOTE a str that is cut to LIMIT_NOTE, NUM int64_t, FLAG bool, LIST struct texts, OBJECT and OBJECTS (an array of them)
 * const value *. Needs: REQ is always there; OPT is left out when it is zero, empty or NULL;
 * MAYBE where that would say something else: has_NAME tells whether it is there.
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
	value *data;                     /* an object, per event_info(kind).fields */
	void *is;                        /* the same as the struct of its kind: as_KIND(e) */
};

/* A batch of events in an arena-free vector of pointers; the events live in an arena. */
struct events {
	struct event **p;
	size_t n, cap;
};

enum event_need { REQ, OPT, MAYBE };
enum event_type {
	EVENT_TEXT,
	EVENT_NOTE,
	EVENT_NUM,
	EVENT_FLAG,
	EVENT_LIST,
	EVENT_OBJECT,
	EVENT_OBJECTS
};

struct event_field {
	const char *name;
	enum event_type type;
	enum event_need need;
	const char *help;
	size_t offset; /* in the struct of its kind */
	size_t has;    /* of has_NAME there, or SIZE_MAX */
};

struct event_info {
	const char *name, *help;
	const struct event_field *fields;
	size_t n;
	size_t size; /* of the struct */
};

struct event_info event_info(enum event_kind kind);
/* What its values are in JSON. */
enum value_kind event_value_kind(enum event_type type);

/* Sets a field that may be absent. */
#define MAYBE_SET(e, name, x)             \
	do {                              \
		__typeof__(e) set_ = (e); \
		set_->has_##name = true;  \
		set_->name = (x);         \
	} while (0)
/* An array of texts as a list; NULL is none. */
struct texts texts_from(struct arena *a, const value *list);

/* The kind with this name, or -1. */
int event_kind_parse(str name);
/* 0, or OV_EINVALID with what is wrong about the data. */
int event_check(const struct event *e, struct ov_err *err);
/* Fills the struct of its kind from data that is, or will be, checked. */
void event_fill(struct arena *a, struct event *e);
/* What is in the struct, as an object that shares nothing with it: texts are copied, and made UTF-8. */
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
