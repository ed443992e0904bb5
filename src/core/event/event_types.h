#pragma once
/* The kinds of events, and a struct for what each holds: both from core/event/events.def. */
#include "base/ov.h"
#include "data/value/value.h"

/* A list of texts in an arena. p is NULL where the list is absent. */
struct texts {
	str *p;
	size_t n;
};

#define EVENT(sym, type, name, help) sym,
enum event_kind {
#include "core/event/kinds.def"
	EVENT_KIND_COUNT
};

/* The formatter would take the halves of a struct for whole statements. */
/* clang-format off */
#define EVENT(sym, type, name, help) struct ev_##type {
#define TEXT(need, name, help) EVENT_##need(str, name)
#define NOTE(need, name, help) EVENT_##need(str, name)
#define NUM(need, name, help) EVENT_##need(int64_t, name)
#define FLAG(need, name, help) EVENT_##need(bool, name)
#define LIST(need, name, help) EVENT_##need(struct texts, name)
#define OBJECT(need, name, help) EVENT_##need(const value *, name)
#define OBJECTS(need, name, help) EVENT_##need(const value *, name)
#define EVENT_REQ(type, name) type name;
#define EVENT_OPT(type, name) type name;
#define EVENT_MAYBE(type, name) bool has_##name; type name;
#define END(type) };
/* clang-format on */
#include "core/event/events.def"
#undef EVENT_REQ
#undef EVENT_OPT
#undef EVENT_MAYBE
