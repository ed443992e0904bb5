#pragma once
/* May something new be started on this machine now? Two small reads of /proc, only when a tick asks. */
#include "base/ov.h"
#include "core/config.h"

/* Empty, or why not, in buf. */
str capacity_lacking(const struct config *c, char *buf, size_t size);
