/* The vital signs: read from real files, by a clock of our own. */
#include "tests/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/file/file.h"
#include "watch/guard/vitals.h"

TEST_MAIN

#define INSTANCE "0123456789abcdef"
#define OTHER "fedcba9876543210"

enum { TIMEOUT = 30 * 1000, STALL = 3600 * 1000 };

struct place {
	struct arena arena;
	char dir[64];
	struct vitals v;
	struct heartbeat beat; /* written next */
	char text[256];
};

static void place_init(struct place *p)
{
	*p = (struct place){ .beat = { .instance = INSTANCE, .at = 1000 } };
	snprintf(p->dir, sizeof(p->dir), "/tmp/overseer-test-vitals.XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	vitals_init(&p->v, &p->arena, p->dir);
	assert_int_equal(vitals_watch(&p->v, NULL), 0);
	vitals_begin(&p->v, INSTANCE, 0);
}

static void place_done(struct place *p)
{
	static const char *const names[] = { VITAL_HEARTBEAT, VITAL_HEALTH, VITAL_HEALTH ".1" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		(void)file_remove(path_join(&p->arena, p->dir, names[i]), NULL);
	assert_int_equal(rmdir(p->dir), 0);
	vitals_done(&p->v);
	arena_done(&p->arena);
}

static void put(const char *path, str bytes, int flags)
{
	int fd = open(path, O_WRONLY | O_CREAT | flags, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes.p, bytes.n), bytes.n);
	close(fd);
}

/* One turn of the loop, and its beat. */
static void beat(struct place *p)
{
	struct buf b = BUF_INIT;

	p->beat.loop++;
	heartbeat_write(&p->beat, &b);
	put(p->v.heartbeat, buf_str(&b), O_TRUNC);
	buf_done(&b);
}

static enum failure check(struct place *p, int64_t now, int64_t slept)
{
	return vitals_check(&p->v, now, slept, TIMEOUT, STALL, p->text, sizeof(p->text));
}

static void health(struct place *p, enum health_kind kind, const char *instance, const char *text)
{
	struct health h = { .kind = kind, .at = 1000 };
	struct buf b = BUF_INIT;

	snprintf(h.instance, sizeof(h.instance), "%s", instance);
	snprintf(h.text, sizeof(h.text), "%s", text);
	health_write(&h, &b);
	put(p->v.health, buf_str(&b), O_APPEND);
	buf_done(&b);
}

TEST(a_loop_that_turns_is_healthy_and_one_that_does_not_is_not)
{
	struct place p;

	place_init(&p);
	for (int64_t now = 15000; now <= 90000; now += 15000) {
		beat(&p);
		assert_int_equal(check(&p, now, 0), FAILURE_NONE);
	}
	assert_int_equal(check(&p, 105000, 0), FAILURE_NONE);
	assert_int_equal(check(&p, 120000, 0), FAILURE_HEARTBEAT);
	assert_string_equal(p.text, "its main loop has not turned for 30s");
	/* Its last beat came after the check at 75 s: so long it was certainly healthy. */
	assert_int_equal(vitals_healthy_ms(&p.v, FAILURE_HEARTBEAT, 120000, TIMEOUT), 75000);
	place_done(&p);
}

TEST(what_is_no_whole_beat_of_this_instance_is_none)
{
	struct place p;

	place_init(&p);
	snprintf(p.beat.instance, sizeof(p.beat.instance), "%s", OTHER);
	beat(&p);
	assert_int_equal(check(&p, 15000, 0), FAILURE_NONE);
	put(p.v.heartbeat, STR("{\"instance_id\":"), O_TRUNC);
	assert_int_equal(check(&p, 29999, 0), FAILURE_NONE);
	assert_int_equal(check(&p, 30000, 0), FAILURE_HEARTBEAT);
	assert_int_equal(vitals_healthy_ms(&p.v, FAILURE_HEARTBEAT, 30000, TIMEOUT), 0);
	place_done(&p);
}

TEST(one_that_hangs_at_once_was_never_healthy)
{
	struct place p;

	place_init(&p);
	beat(&p);
	assert_int_equal(check(&p, 15000, 0), FAILURE_NONE);
	assert_int_equal(check(&p, 45000, 0), FAILURE_HEARTBEAT);
	assert_int_equal(vitals_healthy_ms(&p.v, FAILURE_HEARTBEAT, 45000, TIMEOUT), 0);
	place_done(&p);
}

TEST(one_that_dies_was_healthy_until_then)
{
	struct place p;

	place_init(&p);
	assert_int_equal(vitals_healthy_ms(&p.v, FAILURE_DIED, 1000, TIMEOUT), 0);
	beat(&p);
	assert_int_equal(vitals_healthy_ms(&p.v, FAILURE_DIED, 12000, TIMEOUT), 12000);
	assert_int_equal(vitals_healthy_ms(&p.v, FAILURE_DIED, 99000, TIMEOUT), 1000);
	place_done(&p);
}

/* A machine that was suspended, or a watchdog that was stopped: nobody ran meanwhile. */
TEST(time_in_which_we_did_not_run_does_not_count)
{
	struct place p;

	place_init(&p);
	beat(&p);
	assert_int_equal(check(&p, 15000, 0), FAILURE_NONE);
	assert_int_equal(check(&p, 15000 + OV_HOUR, OV_HOUR), FAILURE_NONE);
	assert_int_equal(check(&p, 15000 + OV_HOUR + TIMEOUT, 0), FAILURE_HEARTBEAT);
	place_done(&p);
}

TEST(a_stall_is_work_that_is_due_and_does_not_move)
{
	struct place p;
	int64_t now = 0;

	place_init(&p);
	p.beat.progress = 5;
	/* Nothing is due. */
	for (int i = 0; i < 500; i++) {
		beat(&p);
		assert_int_equal(check(&p, now += 15000, 0), FAILURE_NONE);
	}
	p.beat.due = true;
	for (int i = 0; i <= STALL / 15000; i++) {
		beat(&p);
		assert_int_equal(check(&p, now += 15000, 0),
				i < STALL / 15000 ? FAILURE_NONE : FAILURE_STALL);
	}
	/* It moves, or cannot: no stall. */
	for (int i = 0; i < 500; i++) {
		p.beat.progress += i % 100 == 0;
		beat(&p);
		assert_int_equal(check(&p, now += 15000, 0), FAILURE_NONE);
	}
	p.beat.degraded = true;
	for (int i = 0; i < 500; i++) {
		beat(&p);
		assert_int_equal(check(&p, now += 15000, 0), FAILURE_NONE);
	}
	place_done(&p);
}

TEST(without_a_new_beat_nobody_speaks_of_a_stall)
{
	struct place p;

	place_init(&p);
	p.beat.due = true;
	beat(&p);
	assert_int_equal(vitals_check(&p.v, 1000, 0, TIMEOUT, 500, p.text, sizeof(p.text)),
			FAILURE_NONE);
	assert_int_equal(vitals_check(&p.v, 6000, 0, TIMEOUT, 500, p.text, sizeof(p.text)),
			FAILURE_NONE);
	beat(&p);
	assert_int_equal(vitals_check(&p.v, 7000, 0, TIMEOUT, 500, p.text, sizeof(p.text)),
			FAILURE_STALL);
	place_done(&p);
}

TEST(only_what_this_instance_says_counts)
{
	struct place p;

	place_init(&p);
	health(&p, HEALTH_FAILED, OTHER, "long ago");
	put(p.v.health, STR("nonsense\n"), O_APPEND);
	health(&p, HEALTH_STARTED, INSTANCE, "");
	health(&p, HEALTH_DEGRADED, INSTANCE, "tired");
	assert_true(vitals_hear(&p.v).health);
	vitals_read_health(&p.v);
	assert_false(p.v.failed);
	assert_true(p.v.degraded);
	assert_string_equal(p.v.text, "tired");
	health(&p, HEALTH_RESTORED, INSTANCE, "");
	health(&p, HEALTH_REQUESTED, INSTANCE, "by somebody");
	health(&p, HEALTH_STOPPED, INSTANCE, "0");
	assert_true(vitals_hear(&p.v).health);
	vitals_read_health(&p.v);
	assert_true(!p.v.degraded && p.v.requested && p.v.stopped == 0);
	vitals_begin(&p.v, OTHER, 0);
	vitals_read_health(&p.v);
	assert_true(p.v.failed && !p.v.requested && p.v.stopped == -1);
	place_done(&p);
}

TEST(half_a_line_is_read_when_it_is_whole)
{
	struct health h = { .kind = HEALTH_FAILED, .instance = INSTANCE, .at = 1000, .text = "x" };
	struct buf b = BUF_INIT;
	struct place p;

	place_init(&p);
	health_write(&h, &b);
	put(p.v.health, (str){ b.p, 10 }, O_APPEND);
	vitals_read_health(&p.v);
	assert_false(p.v.failed);
	put(p.v.health, (str){ b.p + 10, b.n - 10 }, O_APPEND);
	vitals_read_health(&p.v);
	assert_true(p.v.failed);
	buf_done(&b);
	place_done(&p);
}

TEST(the_file_of_health_may_begin_anew)
{
	struct place p;
	char before[128];

	place_init(&p);
	snprintf(before, sizeof(before), "%s.1", p.v.health);
	health(&p, HEALTH_STARTED, INSTANCE, "");
	(void)vitals_hear(&p.v);
	vitals_read_health(&p.v);
	/* The last line of the old file and the first of the new one, at once. */
	health(&p, HEALTH_DEGRADED, INSTANCE, "tired");
	assert_int_equal(rename(p.v.health, before), 0);
	health(&p, HEALTH_REQUESTED, INSTANCE, "");
	assert_true(vitals_hear(&p.v).health);
	vitals_read_health(&p.v);
	assert_true(p.v.degraded && p.v.requested);
	/* It is the new one that is listened to now. */
	(void)vitals_hear(&p.v);
	health(&p, HEALTH_FAILED, INSTANCE, "");
	assert_true(vitals_hear(&p.v).health);
	vitals_read_health(&p.v);
	assert_true(p.v.failed);
	place_done(&p);
}

TEST(a_folder_that_is_made_anew_is_heard_of_again)
{
	struct place p;

	place_init(&p);
	assert_true(p.v.told);
	assert_int_equal(rmdir(p.dir), 0);
	(void)vitals_hear(&p.v);
	assert_false(p.v.told);
	assert_int_equal(vitals_watch(&p.v, NULL), OV_EIO);
	assert_int_equal(dir_make(p.dir, 0700, NULL), 0);
	assert_int_equal(vitals_watch(&p.v, NULL), 0);
	put(path_join(&p.arena, p.dir, VITAL_DAEMON), STR("{}"), 0);
	assert_true(vitals_hear(&p.v).registration);
	assert_int_equal(file_remove(path_join(&p.arena, p.dir, VITAL_DAEMON), NULL), 0);
	place_done(&p);
}

TEST(while_healthy_it_looks_twice_in_the_time_of_a_beat)
{
	struct place p;

	place_init(&p);
	assert_true(vitals_due_ms(&p.v, 0, TIMEOUT, STALL) < 1000);
	beat(&p);
	assert_int_equal(check(&p, 1000, 0), FAILURE_NONE);
	assert_int_equal(vitals_due_ms(&p.v, 1000, TIMEOUT, STALL), 1000 + TIMEOUT / 2);
	/* The deadline is met exactly. */
	assert_int_equal(check(&p, 20000, 0), FAILURE_NONE);
	assert_int_equal(vitals_due_ms(&p.v, 20000, TIMEOUT, STALL), 1000 + TIMEOUT);
	place_done(&p);
}
