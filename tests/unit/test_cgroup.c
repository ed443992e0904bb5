#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/proc/cgroup.h"
#include "tests/test.h"

#define HYBRID                                                                \
	"33 25 0:30 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n" \
	"37 33 0:34 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"   \
	"43 33 0:40 / /sys/fs/cgroup/unified rw,relatime shared:4 - cgroup2 cgroup2 rw\n"
#define UNIFIED "30 23 0:26 / /sys/fs/cgroup rw shared:9 master:2 - cgroup2 cgroup2 rw,nsdelegate\n"

TEST(our_group_is_found_in_every_layout)
{
	static const struct {
		const char *mounts, *own, *dir, *error;
	} rows[] = {
		{ HYBRID, "4:memory:/x\n0::/\n", "/sys/fs/cgroup/unified", NULL },
		{ UNIFIED, "0::/user.slice/a.service\n", "/sys/fs/cgroup/user.slice/a.service",
				NULL },
		/* A container sees its part as the whole. */
		{ "30 23 0:26 /docker/c1 /sys/fs/cgroup ro - cgroup2 cgroup ro\n",
				"0::/docker/c1/x\n", "/sys/fs/cgroup/x", NULL },
		{ "30 23 0:26 /docker/c1 /sys/fs/cgroup ro - cgroup2 cgroup ro\n",
				"0::/docker/c11\n", NULL, "not in a cgroup v2 hierarchy" },
		{ "30 23 0:26 / /c/a\\040b rw - cgroup2 c rw\n", "0::/g\n", "/c/a b/g", NULL },
		/* We moved there ourselves. */
		{ UNIFIED, "0::/s/overseer-daemon\n", "/sys/fs/cgroup/s", NULL },
		{ UNIFIED, "0::/overseer-daemon\n", "/sys/fs/cgroup", NULL },
		{ "37 33 0:34 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
				"4:memory:/\n", NULL, "no cgroup v2 hierarchy is mounted" },
		{ UNIFIED, "4:memory:/\n", NULL, "not in a cgroup v2 hierarchy" },
		{ "", "", NULL, "no cgroup v2" },
		{ "1 2 3\n- cgroup2\nx x x x x - cgroup2\n", "0::/\n", NULL, "not in a cgroup" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct arena a = ARENA_INIT;
		struct ov_err err = { 0 };
		const char *dir = NULL;
		int r = cgroup_parse(&a, str_from(rows[i].mounts), str_from(rows[i].own), &dir,
				&err);

		if (rows[i].dir) {
			assert_int_equal(r, 0);
			assert_string_equal(dir, rows[i].dir);
		} else {
			assert_int_equal(r, OV_ENOTFOUND);
			assert_null(dir);
			assert_non_null(strstr(err.msg, rows[i].error));
		}
		arena_done(&a);
	}
}

TEST(what_is_no_group_is_left_alone)
{
	struct ov_err err = { 0 };
	size_t killed = 7;

	assert_int_equal(cgroup_end("/tmp", &killed, &err), OV_EINVALID);
	assert_non_null(strstr(err.msg, "/tmp is not a control group"));
	assert_int_equal(cgroup_end("/ov/missing", &killed, &err), OV_ENOTFOUND);
	assert_int_equal(killed, 7);
	assert_true(cgroup_probe("/proc", &err) < 0);
	assert_int_equal(cgroup_probe("/tmp", &err), OV_EUNAVAILABLE);
	assert_false(cgroup_offers("/tmp", "memory"));
	assert_int_equal(cgroup_enable("/tmp", "memory", &err), OV_EUNAVAILABLE);
	assert_non_null(strstr(err.msg, "\"memory\" is not available in /tmp"));
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* A child that waits for its end. */
static pid_t idle(const char *group)
{
	pid_t pid = fork();
	char text[16];

	assert_true(pid >= 0);
	if (pid == 0)
		for (;;)
			pause();
	snprintf(text, sizeof(text), "%d", (int)pid);
	put(group, text);
	return pid;
}

TEST(a_real_group_is_ended_with_all_below_it)
{
	struct arena a = ARENA_INIT;
	const char *dir, *group, *inner;
	pid_t outer_pid, inner_pid;
	size_t killed = 0;
	int status;

	if (cgroup_find(&a, &dir, NULL) < 0 || cgroup_probe(dir, NULL) < 0) {
		arena_done(&a);
		skip();
	}
	group = arena_printf(&a, "%s/overseer-test-%d", dir, (int)getpid()).p;
	inner = arena_printf(&a, "%s/a", group).p;
	assert_int_equal(mkdir(group, 0700), 0);
	assert_int_equal(mkdir(inner, 0700), 0);
	outer_pid = idle(arena_printf(&a, "%s/cgroup.procs", group).p);
	inner_pid = idle(arena_printf(&a, "%s/cgroup.procs", inner).p);
	assert_int_equal(cgroup_end(group, &killed, NULL), 0);
	assert_true(killed >= 1);
	assert_int_equal(waitpid(outer_pid, &status, 0), outer_pid);
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_int_equal(waitpid(inner_pid, &status, 0), inner_pid);
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_int_equal(access(group, F_OK), -1);
	arena_done(&a);
}

/*
 * Any controller will do: what keeps a group from giving one to its children is the same for all.
 */
TEST(we_make_room_for_a_controller)
{
	struct arena a = ARENA_INIT;
	const char *dir, *group, *name = NULL;
	struct ov_err err = { 0 };
	size_t killed;
	int status;
	pid_t child;

	if (cgroup_find(&a, &dir, NULL) == 0 && cgroup_probe(dir, NULL) == 0)
		for (size_t i = 0; i < 3 && !name; i++) {
			static const char *const known[] = { "pids", "memory", "hugetlb" };

			if (cgroup_enable(dir, known[i], &err) == 0)
				name = known[i];
		}
	if (!name) {
		arena_done(&a);
		skip();
	}
	group = arena_printf(&a, "%s/overseer-test-%d", dir, (int)getpid()).p;
	assert_int_equal(mkdir(group, 0700), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		put(arena_printf(&a, "%s/cgroup.procs", group).p, "0");
		/* The group holds us: we have to go below it, and then find the way back. */
		if (cgroup_enable(group, name, NULL) < 0)
			_exit(1);
		_exit(cgroup_find(&a, &dir, NULL) == 0 && strcmp(dir, group) == 0 ? 0 : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(cgroup_end(group, &killed, NULL), 0);
	arena_done(&a);
}

TEST_MAIN
