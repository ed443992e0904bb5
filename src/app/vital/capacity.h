#pragma once
/*
 * May something new be started on this machine now? A few small questions to the kernel, only when
 * a tick or a person asks.
 */
#include "base/ov.h"
#include "core/config/config.h"

struct op_daemon;

enum { CAPACITY_TEXT = 400 };

/* Empty, or why not, in buf. */
str capacity_lacking(const struct config *c, const struct op_daemon *d, char *buf, size_t size);
