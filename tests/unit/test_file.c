#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/file/file.h"
#include "sys/host/rand.h"
#include "tests/test.h"

static struct arena arena;
static char dir[64];

static void begin(void)
{
	snprintf(dir, sizeof(dir), "/tmp/ov-file-XXXXXX");
	assert_non_null(mkdtemp(dir));
}

static void end(void)
{
	str *names;
	size_t n;

	assert_int_equal(dir_list(&arena, dir, 100, &names, &n, NULL), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(remove(path_join(&arena, dir, names[i].p)), 0);
	assert_int_equal(rmdir(dir), 0);
	arena_done(&arena);
}

static char *in_dir(const char *name)
{
	return path_join(&arena, dir, name);
}

static size_t count_entries(void)
{
	str *names;
	size_t n;

	assert_int_equal(dir_list(&arena, dir, 100, &names, &n, NULL), 0);
	return n;
}

TEST(what_is_written_is_read_and_bounds_hold)
{
	struct ov_err err;
	struct stat st;
	str got = { 0 };

	begin();
	assert_int_equal(file_write_atomic(in_dir("f"), STR("hello\0you"), 0640, &err), 0);
	assert_int_equal(file_read(&arena, in_dir("f"), 9, &got, &err), 0);
	assert_true(str_eq(got, STR("hello\0you")));
	assert_int_equal(stat(in_dir("f"), &st), 0);
	assert_int_equal(st.st_mode & 0777 & ~0640u, 0);
	got = (str){ 0 };
	assert_int_equal(file_read(&arena, in_dir("f"), 8, &got, &err), OV_ELIMIT);
	assert_null(got.p);
	assert_int_equal(file_write_atomic(in_dir("f"), STR(""), 0600, &err), 0);
	assert_int_equal(file_read(&arena, in_dir("f"), 0, &got, &err), 0);
	assert_int_equal(got.n, 0);
	assert_int_equal(file_read(&arena, in_dir("absent"), 8, &got, &err), OV_ENOTFOUND);
	assert_int_equal(err.code, OV_ENOTFOUND);
	assert_non_null(strstr(err.msg, "absent"));
	assert_int_equal(file_read(&arena, dir, 8, &got, &err), OV_EINVALID);
	assert_int_equal(mkfifo(in_dir("fifo"), 0600), 0);
	assert_int_equal(file_read(&arena, in_dir("fifo"), 8, &got, &err), OV_EINVALID);
	assert_int_equal(file_read(&arena, "/proc/self/stat", 4096, &got, &err), 0);
	assert_true(got.n > 10);
	assert_int_equal(count_entries(), 2); /* no temporary file is left */
	end();
}

TEST(large_files_survive)
{
	size_t n = 3 * 1024 * 1024 + 17;
	char *bytes = mem_alloc(n);
	str got;

	begin();
	rand_bytes(bytes, n);
	assert_int_equal(file_write_atomic(in_dir("big"), (str){ bytes, n }, 0600, NULL), 0);
	assert_int_equal(file_read(&arena, in_dir("big"), n, &got, NULL), 0);
	assert_true(str_eq(got, (str){ bytes, n }));
	assert_int_equal(file_read(&arena, in_dir("big"), n - 1, &got, NULL), OV_ELIMIT);
	mem_free(bytes);
	end();
}

TEST(create_refuses_to_replace)
{
	struct ov_err err;
	str got;

	begin();
	assert_int_equal(file_create_atomic(in_dir("one"), STR("first"), 0600, &err), 0);
	assert_int_equal(file_create_atomic(in_dir("one"), STR("second"), 0600, &err),
			OV_ECONFLICT);
	assert_int_equal(file_read(&arena, in_dir("one"), 100, &got, &err), 0);
	assert_true(str_eq(got, STR("first")));
	assert_int_equal(count_entries(), 1);
	assert_true(file_exists(in_dir("one")));
	assert_int_equal(file_remove(in_dir("one"), &err), 0);
	assert_int_equal(file_remove(in_dir("one"), &err), 0);
	assert_false(file_exists(in_dir("one")));
	assert_int_equal(file_remove(dir, &err), OV_EIO);
	end();
}

TEST(bad_paths_are_refused)
{
	char *longest = mem_zalloc(1, PATH_MAX + 1);
	struct ov_err err;
	str got;

	begin();
	memset(longest, 'a', PATH_MAX);
	longest[0] = '/';
	assert_int_equal(file_read(&arena, longest, 1, &got, &err), OV_ELIMIT);
	assert_int_equal(file_write_atomic(longest, STR("x"), 0600, &err), OV_ELIMIT);
	assert_int_equal(dir_make(longest, 0700, &err), OV_ELIMIT);
	assert_int_equal(file_write_atomic("", STR("x"), 0600, &err), OV_EINVALID);
	assert_int_equal(file_write_atomic(in_dir("sub/"), STR("x"), 0600, &err), OV_EINVALID);
	assert_int_equal(file_write_atomic(in_dir("no/file"), STR("x"), 0600, &err), OV_ENOTFOUND);
	assert_int_equal(dir_make(in_dir("d"), 0700, &err), 0);
	assert_int_equal(file_write_atomic(in_dir("d"), STR("x"), 0600, &err), OV_EIO);
	assert_int_equal(count_entries(), 1);
	mem_free(longest);
	end();
}

/* In a child: a limit on file sizes stands for the full disk. 0 if all is as it should be. */
static int write_over_the_limit(const char *path)
{
	struct rlimit limit = { 1000, 1000 };
	char bytes[5000] = { 0 };
	struct ov_err err;

	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
		return 1;
	if (file_write_atomic(path, (str){ bytes, sizeof(bytes) }, 0600, &err) != OV_EIO)
		return 2;
	return strstr(err.msg, "too large") ? 0 : 3;
}

TEST(a_failed_write_leaves_the_old_file_and_nothing_else)
{
	str got;
	int status;
	pid_t pid;

	begin();
	assert_int_equal(file_write_atomic(in_dir("f"), STR("old"), 0600, NULL), 0);
	pid = fork();
	if (pid == 0)
		_exit(write_over_the_limit(in_dir("f")));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(file_read(&arena, in_dir("f"), 100, &got, NULL), 0);
	assert_true(str_eq(got, STR("old")));
	assert_int_equal(count_entries(), 1);
	end();
}

TEST(a_full_disk_leaves_the_old_file_and_nothing_else)
{
	static char big[256 * 1024];
	struct ov_err err;
	str got;

	begin();
	if (mount("tmpfs", dir, "tmpfs", 0, "size=64k") < 0) {
		rmdir(dir);
		skip();
	}
	assert_int_equal(file_write_atomic(in_dir("f"), STR("old"), 0600, NULL), 0);
	assert_int_equal(file_write_atomic(in_dir("f"), (str){ big, sizeof(big) }, 0600, &err),
			OV_EIO);
	assert_non_null(strstr(err.msg, "No space left"));
	assert_int_equal(file_read(&arena, in_dir("f"), 100, &got, NULL), 0);
	assert_true(str_eq(got, STR("old")));
	assert_int_equal(count_entries(), 1);
	/* Space came back with the temporary file. */
	assert_int_equal(file_write_atomic(in_dir("f"), (str){ big, 30000 }, 0600, &err), 0);
	assert_int_equal(umount(dir), 0);
	end();
}

TEST(directories_are_made_and_listed)
{
	struct ov_err err;
	str *names;
	size_t n = 99;

	begin();
	assert_int_equal(dir_make(in_dir("a/b//c/"), 0700, &err), 0);
	assert_int_equal(dir_make(in_dir("a/b/c"), 0700, &err), 0);
	assert_int_equal(dir_make("/", 0700, &err), 0);
	assert_int_equal(dir_make("/proc", 0700, &err), 0);
	assert_int_equal(file_write_atomic(in_dir("file"), STR(""), 0600, &err), 0);
	assert_int_equal(dir_make(in_dir("file"), 0700, &err), OV_ECONFLICT);
	assert_int_equal(dir_make(in_dir("file/x"), 0700, &err), OV_ENOTFOUND);
	assert_int_equal(file_write_atomic(in_dir("Zed"), STR(""), 0600, &err), 0);
	assert_int_equal(dir_list(&arena, dir, 3, &names, &n, &err), 0);
	assert_int_equal(n, 3);
	assert_string_equal(names[0].p, "Zed");
	assert_string_equal(names[1].p, "a");
	assert_string_equal(names[2].p, "file");
	assert_int_equal(dir_list(&arena, dir, 2, &names, &n, &err), OV_ELIMIT);
	assert_int_equal(dir_list(&arena, in_dir("a/b/c"), 0, &names, &n, &err), 0);
	assert_int_equal(n, 0);
	assert_int_equal(dir_list(&arena, in_dir("absent"), 2, &names, &n, &err), OV_ENOTFOUND);
	rmdir(in_dir("a/b/c"));
	rmdir(in_dir("a/b"));
	end();
}

TEST(a_lock_excludes_and_dies_with_its_owner)
{
	struct ov_err err;
	int ready[2], fd = -1, status;
	bool held = true;
	char c;
	pid_t pid;

	begin();
	assert_int_equal(lock_probe(in_dir("lock"), &held, &err), 0);
	assert_false(held);
	assert_false(file_exists(in_dir("lock")));
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		int r = lock_take(in_dir("lock"), &fd, NULL);

		if (r != 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(lock_probe(in_dir("lock"), &held, &err), 0);
	assert_true(held);
	assert_int_equal(lock_take(in_dir("lock"), &fd, &err), OV_ECONFLICT);
	assert_non_null(strstr(err.msg, "lock"));
	assert_int_equal(fd, -1);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(lock_probe(in_dir("lock"), &held, &err), 0);
	assert_false(held);
	assert_int_equal(lock_take(in_dir("lock"), &fd, &err), 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	fd_closep(&fd);
	close(ready[0]);
	close(ready[1]);
	end();
}

TEST(probing_never_makes_taking_fail)
{
	int ready[2], fd, status;
	bool held;
	char c;
	pid_t pid;

	begin();
	assert_int_equal(lock_take(in_dir("lock"), &fd, NULL), 0);
	fd_closep(&fd);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			(void)lock_probe(in_dir("lock"), &held, NULL);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	for (int i = 0; i < 2000; i++) {
		assert_int_equal(lock_take(in_dir("lock"), &fd, NULL), 0);
		fd_closep(&fd);
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(ready[0]);
	close(ready[1]);
	end();
}

/*
 * Nobody is at the other end, so that a plain open() would wait for ever: the alarm would end us.
 */
TEST(only_regular_files_are_opened_and_nothing_is_waited_for)
{
	static const int ways[] = { O_RDONLY, O_WRONLY, O_RDWR, O_WRONLY | O_CREAT | O_TRUNC,
		O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW };
	const char *others[] = { in_dir("pipe"), in_dir("link"), "/dev/null", "/dev/tty" };
	bool held;
	str text;
	int fd;

	begin();
	others[0] = in_dir("pipe");
	others[1] = in_dir("link");
	assert_int_equal(mkfifo(others[0], 0600), 0);
	assert_int_equal(symlink("pipe", others[1]), 0);
	alarm(30);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		for (size_t k = 0; k < ARRAY_LEN(ways); k++) {
			errno = 0;
			assert_int_equal(file_open(others[i], ways[k], 0600), -1);
			assert_true(errno == ENXIO || (i == 1 && errno == ELOOP));
		}
	assert_int_equal(file_open(dir, O_RDONLY, 0), -1);
	assert_int_equal(errno, EISDIR);
	assert_int_equal(file_read(&arena, others[0], 10, &text, NULL), OV_EINVALID);
	assert_int_equal(file_copy(others[0], in_dir("copy"), 0600, NULL), OV_EINVALID);
	assert_int_equal(lock_take(others[0], &fd, NULL), OV_EINVALID);
	held = true;
	assert_int_equal(lock_probe(others[0], &held, NULL), 0);
	assert_false(held);
	/* A file is opened as by anybody, and waits like any other. */
	fd = file_open(in_dir("file"), O_WRONLY | O_CREAT, 0640);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFL) & (O_NONBLOCK | O_ACCMODE), O_WRONLY);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	alarm(0);
	end();
}

TEST(paths_are_joined_with_one_slash)
{
	assert_string_equal(path_join(&arena, "a", "b"), "a/b");
	assert_string_equal(path_join(&arena, "/", "b"), "/b");
	assert_string_equal(path_join(&arena, "a/", "b"), "a/b");
	arena_done(&arena);
}

TEST(randomness_differs)
{
	unsigned char a[300] = { 0 }, b[300] = { 0 };

	rand_bytes(a, sizeof(a));
	rand_bytes(b, sizeof(b));
	assert_memory_not_equal(a, b, sizeof(a));
	assert_true(rand_u64() != rand_u64());
}

TEST_MAIN
