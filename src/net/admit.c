#include "net/admit.h"

static bool is_reserved(const struct admit_limits *l, const struct admit_counts *n)
{
	return n->conns + l->reserved >= l->conns;
}

const char *admit_unknown(const struct admit_limits *l, const struct admit_counts *n, bool owner)
{
	if (n->conns >= l->conns)
		return "too many connections";
	if (n->of_process >= l->per_process)
		return "too many connections of one process";
	if (!owner && n->of_user >= l->per_user)
		return "too many connections of this user";
	if (is_reserved(l, n) && (!owner || n->of_process))
		return "too many connections: the last ones are kept for others";
	return NULL;
}

const char *admit_known(const struct admit_limits *l, const struct admit_counts *n, bool guest)
{
	if (guest && n->guests >= l->guests)
		return "too many connections of agents";
	if (guest && is_reserved(l, n))
		return "too many connections: the last ones are kept for people";
	return NULL;
}
