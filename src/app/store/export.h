#pragma once
/* Reading the events of a store for an export. */
#include "base/ov.h"

struct event;

/* An event of the store that is `user`, as struct portable_source reads them. */
bool export_read_event(void *user, struct arena *a, uint64_t seq, struct event *ret);
