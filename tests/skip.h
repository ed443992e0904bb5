/* Skipping with a reason, which tools/run-tests shows with the number of tests that had it. */
#pragma once

#include <stdio.h>

#include "tests/test.h"

#define NO_MOUNTS \
	"namespaces: nothing can be mounted here: neither root nor user namespaces may do it"

#define skip_for(reason)                             \
	do {                                         \
		printf("# skipped: %s\n", (reason)); \
		fflush(stdout);                      \
		skip();                              \
	} while (0)
