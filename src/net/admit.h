#pragma once
/*
 * Who gets one of the connections that there are: pure, asked twice for each. First by what costs
 * nothing to know, so that thousands who wait are turned away without a look at them; then by who
 * it turned out to be. No process and no other user can take all of them, guests (agents) not even
 * together, and the last ones are for people who have none yet: `overseer status` gets in.
 */
#include "base/ov.h"

struct admit_limits {
	size_t conns;       /* altogether */
	size_t per_process; /* of one process; those that cannot be seen count as one */
	size_t per_user;    /* of a user who is not the owner */
	size_t guests;      /* of all guests together */
	size_t reserved;    /* of the last ones, for a process of the owner's that has none */
};

struct admit_counts {
	size_t conns, of_process, of_user, guests;
};

/* Why not, for the one who is refused; NULL: it may come in. */
const char *admit_unknown(const struct admit_limits *l, const struct admit_counts *n, bool owner);
const char *admit_known(const struct admit_limits *l, const struct admit_counts *n, bool guest);
