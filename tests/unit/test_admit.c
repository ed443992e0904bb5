#include "tests/test.h"

#include "net/admit.h"

static const struct admit_limits limits = { .conns = 100,
	.per_process = 20,
	.per_user = 30,
	.guests = 40,
	.reserved = 10 };

struct row {
	const char *what;
	struct admit_counts n;
	bool owner, guest;
	bool unknown, known; /* let in at the first question; and at the second */
};

static const struct row rows[] = {
	{ "the first one", { 0, 0, 0, 0 }, true, false, true, true },
	{ "all are taken", { 100, 0, 0, 0 }, true, false, false, true },
	{ "one process, nearly", { 50, 19, 50, 0 }, true, false, true, true },
	{ "one process", { 50, 20, 50, 0 }, true, false, false, true },
	{ "the owner has no bound of its own", { 89, 0, 89, 0 }, true, false, true, true },
	{ "another user, nearly", { 50, 1, 29, 0 }, false, false, true, true },
	{ "another user", { 50, 1, 30, 0 }, false, false, false, true },
	{ "the last but the kept ones", { 89, 5, 89, 0 }, true, false, true, true },
	{ "a kept one, for who has some", { 90, 1, 90, 0 }, true, false, false, true },
	{ "a kept one, for who has none", { 90, 0, 90, 0 }, true, false, true, true },
	{ "the very last one", { 99, 0, 99, 0 }, true, false, true, true },
	{ "a kept one, for another user", { 90, 0, 0, 0 }, false, false, false, true },
	{ "guests, nearly", { 60, 0, 60, 39 }, true, true, true, true },
	{ "guests", { 60, 0, 60, 40 }, true, true, true, false },
	{ "people beside as many guests as there may be", { 60, 0, 60, 40 }, true, false, true,
			true },
	{ "a kept one, for a guest", { 90, 0, 90, 3 }, true, true, true, false },
};

TEST(who_gets_a_connection)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];

		if ((admit_unknown(&limits, &r->n, r->owner) == NULL) != r->unknown ||
				(admit_known(&limits, &r->n, r->guest) == NULL) != r->known)
			fail_msg("%s", r->what);
	}
}

/* Whatever others do, a person who has no connection gets one, as long as there is any. */
TEST(guests_and_other_users_never_take_the_last_ones)
{
	struct admit_counts n = { 0 };

	/* Each of a process of its own, so that only what is theirs together stops them. */
	while (!admit_unknown(&limits, &n, true) && !admit_known(&limits, &n, true)) {
		n.conns++;
		n.guests++;
	}
	assert_int_equal(n.conns, limits.guests);
	while (!admit_unknown(&limits, &n, false)) {
		n.conns++;
		n.of_user++;
	}
	assert_int_equal(n.conns, limits.guests + limits.per_user);
	n.of_process = 0;
	assert_null(admit_unknown(&limits, &n, true));
	assert_null(admit_known(&limits, &n, false));
}

TEST_MAIN
