#pragma once
/* The fields of events, for the files of core/event. Private to core. */
#include "core/event.h"

struct event_fields {
	const struct event_field *fields;
	size_t n;
};

extern const struct event_fields event_fields[EVENT_KIND_COUNT];
