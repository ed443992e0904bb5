#pragma once
/* The fields of events, for the files of core/event/event. Private to core. */
#include "core/event/event.h"

struct event_fields {
	const struct event_field *fields;
	size_t n;
};

#define TEXT(name, help)                        \
	{                                       \
		name, V_STR, true, help, V_NULL \
	}
#define TEXT_OPT(name, help)                     \
	{                                        \
		name, V_STR, false, help, V_NULL \
	}
#define NUM(name, help)                         \
	{                                       \
		name, V_INT, true, help, V_NULL \
	}
#define NUM_OPT(name, help)                      \
	{                                        \
		name, V_INT, false, help, V_NULL \
	}
#define FLAG_OPT(name, help)                      \
	{                                         \
		name, V_BOOL, false, help, V_NULL \
	}
#define LIST_OPT(name, help)                       \
	{                                          \
		name, V_ARRAY, false, help, V_NULL \
	}

#define OBJECTS_OPT(name, help)                      \
	{                                            \
		name, V_ARRAY, false, help, V_OBJECT \
	}

#define OBJECT_OPT(name, help)                      \
	{                                           \
		name, V_OBJECT, false, help, V_NULL \
	}

/* run.started says all in its envelope. */
#define NO_FIELDS       \
	{               \
		NULL, 0 \
	}
#define FIELDS(list)                  \
	{                             \
		list, ARRAY_LEN(list) \
	}

/* Each kind is in one of them. */
extern const struct event_fields event_fields[EVENT_KIND_COUNT],
		oversight_event_fields[EVENT_KIND_COUNT];
