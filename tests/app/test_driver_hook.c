/*
 * The events of hooks are written by the run: however many there are, the daemon does not
 * stand still.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/read/hook.h"
#include "app/agents/driver_hook.h"
#include "base/err.h"
#include "sys/loop/loop.h"
#include "tests/test.h"

enum { LINE = 64, BOUND = HOOK_EVENTS_MAX + (1 << 20) };

struct heard {
	size_t bytes, taken;
};

static void on_hook(void *user, const struct fact *f _unused_, str taken, str line)
{
	struct heard *h = user;

	h->bytes += line.n ? line.n + 1 : 0;
	h->taken += taken.n > 0;
}

static void make_dir(char dir[static 64])
{
	strcpy(dir, "/tmp/ov-hooks-XXXXXX");
	assert_non_null(mkdtemp(dir));
}

static void write_lines(const char *dir, size_t bytes)
{
	char path[128], *all = malloc(bytes);
	int fd;

	snprintf(path, sizeof(path), "%s/" HOOK_EVENTS, dir);
	memset(all, ' ', bytes);
	for (size_t i = 0; i < bytes; i += LINE) {
		memcpy(all + i, "{}", 2);
		all[i + LINE - 1] = '\n';
	}
	fd = open(path, O_WRONLY | O_APPEND);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, all, bytes), bytes);
	close(fd);
	free(all);
}

static void remove_dir(const char *dir)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}

TEST(a_flood_is_read_in_parts_and_up_to_a_bound)
{
	struct heard heard = { 0 };
	struct driver_hooks *h;
	struct loop *l;
	char dir[64], taken[128];
	size_t before;

	make_dir(dir);
	assert_int_equal(loop_new(&l, NULL), 0);
	assert_int_equal(driver_hooks_open(l, dir, NULL, on_hook, &heard, &h, NULL), 0);
	write_lines(dir, 32 << 20);
	driver_hooks_drain(h);
	assert_true(heard.bytes > 0 && heard.bytes <= 1 << 20);
	before = heard.bytes;
	driver_hooks_drain(h);
	assert_true(heard.bytes > before && heard.bytes <= before + (1 << 20));
	/* What was handed over is told, though nobody reads as far as where that is said. */
	snprintf(taken, sizeof(taken), "%s/" HOOK_NEXT ".D_1", dir);
	assert_int_equal(close(open(taken, O_CREAT | O_WRONLY, 0600)), 0);
	driver_hooks_end(h);
	assert_true(heard.bytes > HOOK_EVENTS_MAX - LINE && heard.bytes <= BOUND);
	assert_int_equal(heard.taken, 1);
	before = heard.bytes;
	driver_hooks_drain(h);
	driver_hooks_end(h);
	assert_int_equal(heard.bytes, before);
	driver_hooks_close(h);
	loop_free(l);
	remove_dir(dir);
}

TEST(all_that_the_program_writes_is_read)
{
	struct heard heard = { 0 };
	struct driver_hooks *h;
	struct loop *l;
	char dir[64];

	make_dir(dir);
	assert_int_equal(loop_new(&l, NULL), 0);
	assert_int_equal(driver_hooks_open(l, dir, NULL, on_hook, &heard, &h, NULL), 0);
	write_lines(dir, HOOK_EVENTS_MAX);
	driver_hooks_end(h);
	assert_int_equal(heard.bytes, HOOK_EVENTS_MAX);
	driver_hooks_close(h);
	loop_free(l);
	remove_dir(dir);
}

TEST_MAIN
