#pragma once
/* The kinds of events, and a struct for what each holds: both from core/event/events.def. */
#include "base/ov.h"
#include "core/model/transition.h"
#include "core/shape/shape.h"

#define EVENT(sym, type, name, help) sym,
enum event_kind {
#include "core/event/kinds.def"
	EVENT_KIND_COUNT
};

#include "core/shape/members.def"
/* The formatter would take the halves of a struct for whole statements. */
/* clang-format off */
#define EVENT(sym, type, name, help) struct ev_##type {
#define END(type) };
/* clang-format on */
#include "core/event/events.def"
