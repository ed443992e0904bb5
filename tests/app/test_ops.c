/* The table of operations: who may call what follows from what it does. */
#include "app/ops/ops.h"
#include "base/str.h"
#include "tests/test.h"

TEST_MAIN

/* Processes of their own that only look. */
static bool only_looks(const struct op *op)
{
	static const char *const names[] = { "report.goal", "report.detectors", "report.period",
		"rescue.list", "rescue.show", "store.verify" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(op->name, names[i]) == 0)
			return true;
	return false;
}

static unsigned expected(const struct op *op)
{
	if (op->kind == OP_READ || strcmp(op->name, "events.follow") == 0)
		return ANYBODY;
	if (only_looks(op))
		return NO_AGENTS;
	/* What the daemon does by itself once a day. */
	return strcmp(op->name, "rescue.prune") == 0 ? PEOPLE_AND_OVERSEER : PEOPLE;
}

TEST(only_people_change_anything)
{
	for (size_t i = 0; i < OP_COUNT; i++)
		if (op_rows[i].name && op_rows[i].callers != expected(&op_rows[i]))
			fail_msg("%s", op_rows[i].name);
}
