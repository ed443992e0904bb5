/* What a run left behind is looked for again, from the loop. */
#include "app/watch/leftovers.h"

#include <signal.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "shim/proto.h"
#include "sys/host/rand.h"
#include "sys/loop/loop.h"
#include "sys/proc/proc.h"
#include "tests/test.h"

TEST(who_was_missed_is_killed_later)
{
	struct proc_spec spec = PROC_SPEC_INIT;
	struct leftovers *w;
	struct proc_exit ex;
	struct loop *loop;
	struct proc p;
	char id[40], entry[80];

	snprintf(id, sizeof(id), "R_%llx", (unsigned long long)rand_u64());
	snprintf(entry, sizeof(entry), RUN_ENV "=%s", id);
	assert_int_equal(loop_new(&loop, NULL), 0);
	spec.argv = (const char *const[]){ "/bin/sleep", "1000", NULL };
	spec.env = (const char *const[]){ entry, NULL };
	assert_int_equal(proc_spawn(&spec, &p, NULL), 0);
	w = leftovers_new(loop);
	leftovers_watch(w, str_from(id));
	assert_int_equal(leftovers_n(w), 1);
	while (!proc_ended(&p, 0))
		loop_step(loop, 1000000);
	assert_int_equal(proc_reap(&p, &ex, NULL), 0);
	assert_int_equal(ex.signal, SIGKILL);
	proc_done(&p);
	leftovers_free(w);
	loop_free(loop);
}

TEST(so_many_at_a_time)
{
	struct loop *loop;
	struct leftovers *w;

	assert_int_equal(loop_new(&loop, NULL), 0);
	w = leftovers_new(loop);
	for (int i = 0; i < LEFTOVERS_MAX + 3; i++)
		leftovers_watch(w, STR("R_nobody"));
	assert_int_equal(leftovers_n(w), LEFTOVERS_MAX);
	leftovers_free(w);
	loop_free(loop);
}

TEST_MAIN
