#pragma once
/*
 * What tests of readers of agents' session files share: a folder of the test's own, with a home in
 * which an agent keeps its sessions and a run's folder that says where they are, and a loop. All of
 * it lasts from sessions_begin to sessions_end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/session/sessions.h"
#include "base/arena.h"
#include "base/str.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"
#include "sys/loop/loop.h"
#include "tests/test.h"

static char root[64];
static struct loop *loop;
static struct arena a;
static bool over;

static const char *at(const char *name)
{
	return path_join(&a, root, name);
}

static void put(const char *name, str text)
{
	assert_int_equal(file_write_atomic(at(name), text, 0600, NULL), 0);
}

/* Tells run_to_end that the reader has read everything. */
static void on_done(void *user)
{
	(void)user;
	over = true;
}

static void run_to_end(void)
{
	while (!over)
		loop_step(loop, 1000000);
}

/*
 * The run's sessions are files in home/`below`, of which the folder `folder` is made; session
 * may be empty.
 */
static void sessions_begin(const char *below, const char *folder, str session, bool resumed)
{
	struct sessions s;

	a = ARENA_INIT;
	over = false;
	snprintf(root, sizeof(root), "/tmp/ov-sessions-XXXXXX");
	assert_non_null(mkdtemp(root));
	s = (struct sessions){ .root = at("home"),
		.below = below,
		.session = session,
		.resumed = resumed,
		.since = clock_file() };
	assert_int_equal(dir_make(at(folder), 0700, NULL), 0);
	assert_int_equal(dir_make(at("run"), 0700, NULL), 0);
	assert_int_equal(sessions_keep(&a, at("run"), &s, NULL), 0);
	assert_int_equal(loop_new(&loop, NULL), 0);
}

static void sessions_end(void)
{
	loop_free(loop);
	assert_int_equal(system(arena_printf(&a, "rm -rf '%s'", root).p), 0);
	arena_done(&a);
}
