/* The SQLite back-end among processes that die, disks that fill up and file systems that refuse. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "base/str.h"
#include "store/sqlite_impl.h"
#include "tests/skip.h"
#include "tests/store/store_test.h"

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* For children, which must not end in cmocka's hands: gives up at once. */
#define MUST(cond)                                 \
	do {                                       \
		if (!(cond))                       \
			_exit(__LINE__ % 200 + 1); \
	} while (0)

/* Runs main in a child with the writing end of a pipe; it is killed or exits by itself. */
static pid_t spawn(void (*child)(const struct test_dir *d, int out), const struct test_dir *d,
		int *ret_in)
{
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(fds[0]);
		child(d, fds[1]);
		_exit(0);
	}
	close(fds[1]);
	*ret_in = fds[0];
	return pid;
}

static void kill_child(pid_t pid)
{
	int status;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSIGNALED(status))
		fail_msg("the child ended by itself: status %d", WEXITSTATUS(status));
}

static void wait_child(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static struct store *child_open(const struct test_dir *d, str holder)
{
	struct arena a = ARENA_INIT;
	struct store_lease lease;
	struct store *s = NULL;

	MUST(store_open(str_from(d->url), STORE_READ_WRITE, &s, NULL) == 0);
	MUST(store_lease_take(s, holder, &a, &lease, NULL) == 0);
	arena_done(&a);
	return s;
}

static void hold_lease(const struct test_dir *d, int out)
{
	child_open(d, STR("{\"instance\":\"the child\"}"));
	MUST(write(out, "x", 1) == 1);
	for (;;)
		pause();
}

TEST(lease_of_a_dead_process_is_taken_over)
{
	struct test_dir d;
	struct arena a = ARENA_INIT;
	struct store_lease lease = { 0 };
	struct ov_err err;
	struct store *s;

	dir_init(&d);
	for (uint64_t round = 0; round < 3; round++) {
		int in;
		pid_t pid = spawn(hold_lease, &d, &in);
		char c;

		assert_int_equal(read(in, &c, 1), 1);
		s = open_store(&d, STORE_READ_WRITE);
		assert_int_equal(store_lease_take(s, STR("me"), &a, &lease, &err), OV_ECONFLICT);
		assert_true(str_is(lease.holder, "{\"instance\":\"the child\"}"));
		assert_int_equal(lease.term, 2 * round + 1);
		assert_non_null(strstr(err.msg, "the child"));
		assert_non_null(strstr(err.msg, d.db));
		kill_child(pid);
		assert_int_equal(store_lease_take(s, STR("me"), &a, &lease, &err), 0);
		assert_int_equal(lease.term, 2 * round + 2);
		append_many(s, round, 1, 1);
		store_close(s);
		close(in);
	}
	arena_done(&a);
	dir_done(&d);
}

/* ---- kill -9 while appending ---- */

struct ack {
	int r;
	uint64_t head;
};

static void acked(void *user, int r, uint64_t head, const struct ov_err *err _unused_)
{
	*(struct ack *)user = (struct ack){ r, head };
}

/* Groups of 1 to 8, by the record that they begin after: so each head is a group's end or not. */
static size_t group_at(uint64_t after)
{
	uint32_t state = (uint32_t)after * 2654435761u + 1;

	return 1 + next_random(&state) % 8;
}

static void append_for_ever(const struct test_dir *d, int out)
{
	struct arena a = ARENA_INIT;
	struct store *s = child_open(d, STR("appender"));
	uint8_t hash[SHA256_LEN];
	uint64_t head;

	MUST(store_head(s, &head, hash, NULL) == 0);
	for (;;) {
		size_t n = group_at(head);
		struct ack ack = { .r = 1 };

		store_append(s, head, make_records(&a, head, n), n, acked, &ack);
		MUST(ack.r == 0 && ack.head == head + n);
		head = ack.head;
		MUST(write(out, &head, sizeof(head)) == sizeof(head));
		arena_reset(&a);
	}
}

/* Lets the child acknowledge n times, kills it, and returns the last head that it acknowledged. */
static uint64_t kill_after(const struct test_dir *d, uint32_t n, uint64_t head)
{
	uint64_t got;
	int in;
	pid_t pid = spawn(append_for_ever, d, &in);

	while (n-- && read(in, &got, sizeof(got)) == sizeof(got))
		head = got;
	kill_child(pid);
	while (read(in, &got, sizeof(got)) == sizeof(got))
		head = got;
	close(in);
	return head;
}

static bool is_group_end(uint64_t head)
{
	uint64_t at = 0;

	while (at < head)
		at += group_at(at);
	return at == head;
}

TEST(acknowledged_records_survive_kill)
{
	int rounds = getenv("OV_VALGRIND") ? 10 : 60;
	uint32_t seed = 4711;
	uint64_t head = 0, acknowledged;
	struct test_dir d;

	dir_init(&d);
	for (int round = 0; round < rounds; round++) {
		struct store *s;

		acknowledged = kill_after(&d, next_random(&seed) % 60, head);
		/* A start that was killed at once may not have come to make a store. */
		s = open_store(&d, STORE_READ_WRITE);
		head = read_all(s, true);
		assert_true(head == acknowledged || head == acknowledged + group_at(acknowledged));
		assert_true(is_group_end(head));
		store_close(s);
	}
	assert_true(head > (uint64_t)rounds * 30);
	dir_done(&d);
}

/* ---- reading while another process writes ---- */

static void open_append_close(const struct test_dir *d, int out)
{
	struct arena a = ARENA_INIT;
	uint64_t head = 0;

	for (int i = 0; i < 60; i++) {
		struct store *s = child_open(d, STR("writer"));
		struct ack ack = { .r = 1 };

		for (int k = 0; k < 5; k++) {
			store_append(s, head, make_records(&a, head, 40), 40, acked, &ack);
			MUST(ack.r == 0);
			head = ack.head;
		}
		store_close(s); /* folds the write-ahead log into the file and removes it */
	}
	MUST(write(out, &head, sizeof(head)) == sizeof(head));
}

TEST(reading_while_another_process_writes)
{
	struct test_dir d;
	struct store *s;
	uint64_t head, end = 0;
	size_t seen = 0;
	pid_t pid;
	int in;

	dir_init(&d);
	store_close(open_store(&d, STORE_READ_WRITE));
	pid = spawn(open_append_close, &d, &in);
	assert_int_equal(fcntl(in, F_SETFL, O_NONBLOCK), 0);
	s = open_store(&d, STORE_READ_ONLY);
	while (read(in, &end, sizeof(end)) < 0 && errno == EAGAIN) {
		struct arena a = ARENA_INIT;
		struct store_record *recs;
		struct ov_err err = { 0 };
		size_t n;

		if (store_read(s, seen, SIZE_MAX, &a, &recs, &n, &err) < 0)
			fail_msg("read: %s", err.msg);
		if (n)
			assert_int_equal(recs[0].seq, seen + 1);
		seen += n;
		head = head_of(s);
		assert_true(head >= seen);
		if (seen % 3 == 0) {
			store_close(s);
			s = open_store(&d, STORE_READ_ONLY);
		}
		arena_done(&a);
	}
	wait_child(pid);
	assert_int_equal(end, 60 * 5 * 40);
	assert_int_equal(read_all(s, true), end);
	store_close(s);
	close(in);
	dir_done(&d);
}

/* ---- file systems of our own ---- */

static bool write_proc(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* Mounts of our own: as root, or as the root of a user namespace. */
static bool unshare_mounts(void)
{
	char uid[64], gid[64];

	if (unshare(CLONE_NEWNS) == 0)
		return true;
	snprintf(uid, sizeof(uid), "0 %u 1", getuid());
	snprintf(gid, sizeof(gid), "0 %u 1", getgid());
	return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
			write_proc("/proc/self/setgroups", "deny") &&
			write_proc("/proc/self/uid_map", uid) &&
			write_proc("/proc/self/gid_map", gid);
}

/* A tmpfs over the directory, seen by this process only; false when the system does not let us. */
static bool mount_tmpfs(const struct test_dir *d, const char *options)
{
	static bool tried, can;

	if (!tried) {
		tried = true;
		can = unshare_mounts() && mount("", "/", "", MS_REC | MS_PRIVATE, "") == 0;
	}
	return can && mount("tmpfs", d->path, "tmpfs", 0, options) == 0;
}

static void remount(const struct test_dir *d, unsigned long flags, const char *options)
{
	assert_int_equal(mount("", d->path, "", MS_REMOUNT | flags, options), 0);
}

static void unmount(struct test_dir *d)
{
	assert_int_equal(umount(d->path), 0);
	dir_done(d);
}

static void write_ballast(const char *path, size_t n)
{
	char zeros[4096] = { 0 };
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	while (n && write(fd, zeros, sizeof(zeros)) == sizeof(zeros))
		n -= sizeof(zeros);
	close(fd);
}

TEST(full_disk)
{
	struct test_dir d;
	struct arena a = ARENA_INIT;
	struct appended got = { 0 };
	struct store_lease lease;
	struct ov_err err = { 0 };
	struct store *s;
	char ballast[320];
	uint64_t head = 0;

	dir_init(&d);
	if (!mount_tmpfs(&d, "size=4m")) {
		dir_done(&d);
		skip_for(NO_MOUNTS);
	}
	snprintf(ballast, sizeof(ballast), "%s/ballast", d.path);
	s = open_held(&d);
	write_ballast(ballast, 2560 * 1024);
	for (; got.r == 0; head += 50)
		got = append(s, head, make_records(&a, head, 50), 50);
	head -= 50;
	assert_int_equal(got.r, OV_EIO);
	assert_int_equal(got.head, head);
	assert_non_null(strstr(got.err.msg, "disk is full"));
	write_ballast(ballast, SIZE_MAX & ~(size_t)4095);
	for (int i = 0; i < 5; i++)
		assert_int_equal(append(s, head, make_records(&a, head, 50), 50).r, OV_EIO);
	assert_int_equal(read_all(s, true), head);
	/* A daemon that stops and starts on a full disk has lost nothing and says what is wrong. */
	store_close(s);
	s = open_store(&d, STORE_READ_ONLY);
	assert_int_equal(read_all(s, true), head);
	store_close(s);
	s = NULL;
	if (store_open(str_from(d.url), STORE_READ_WRITE, &s, &err) == 0) {
		assert_int_equal(read_all(s, true), head);
		/* What was written before cannot be settled without room for it. */
		assert_int_equal(store_lease_take(s, STR("me"), &a, &lease, &err), OV_EIO);
	}
	assert_int_equal(err.code, OV_EIO);
	assert_non_null(strstr(err.msg, "full"));
	assert_int_equal(unlink(ballast), 0);
	if (!s)
		s = open_store(&d, STORE_READ_WRITE);
	assert_int_equal(store_lease_take(s, STR("me"), &a, &lease, &err), 0);
	append_many(s, head, 100, 50);
	assert_int_equal(read_all(s, true), head + 100);
	store_close(s);
	arena_done(&a);
	unmount(&d);
}

TEST(no_space_for_a_new_store)
{
	struct test_dir d;
	struct store *s = NULL;
	struct ov_err err = { 0 };
	char ballast[320];

	dir_init(&d);
	if (!mount_tmpfs(&d, "size=64k")) {
		dir_done(&d);
		skip_for(NO_MOUNTS);
	}
	snprintf(ballast, sizeof(ballast), "%s/ballast", d.path);
	write_ballast(ballast, SIZE_MAX & ~(size_t)4095);
	assert_int_equal(store_open(str_from(d.url), STORE_READ_WRITE, &s, &err), OV_EIO);
	assert_non_null(strstr(err.msg, "full"));
	assert_int_equal(unlink(ballast), 0);
	remount(&d, 0, "size=4m");
	s = open_held(&d);
	append_many(s, 0, 10, 10);
	store_close(s);
	unmount(&d);
}

static void append_and_wait(const struct test_dir *d, int out)
{
	struct arena a = ARENA_INIT;
	struct store *s = child_open(d, STR("child"));
	struct ack ack = { .r = 1 };

	store_append(s, 10, make_records(&a, 10, 10), 10, acked, &ack);
	MUST(ack.r == 0);
	MUST(write(out, "x", 1) == 1);
	for (;;)
		pause();
}

TEST(read_only_file_system)
{
	struct test_dir d;
	struct store *s = NULL;
	struct ov_err err;
	char shm[320], c;
	pid_t pid;
	int in;

	dir_init(&d);
	if (!mount_tmpfs(&d, "size=16m")) {
		dir_done(&d);
		skip_for(NO_MOUNTS);
	}
	snprintf(shm, sizeof(shm), "%s-shm", d.db);
	s = open_held(&d);
	append_many(s, 0, 10, 10);
	store_close(s);
	/* Closed in peace: the file alone. */
	remount(&d, MS_RDONLY, "");
	s = open_store(&d, STORE_READ_ONLY);
	assert_int_equal(read_all(s, true), 10);
	store_close(s);
	s = NULL;
	assert_int_equal(store_open(str_from(d.url), STORE_READ_WRITE, &s, &err), OV_EIO);
	assert_non_null(strstr(err.msg, "read-only"));
	assert_null(s);
	/* Left by a killed daemon: half of the records are in the write-ahead log. */
	remount(&d, 0, "");
	pid = spawn(append_and_wait, &d, &in);
	assert_int_equal(read(in, &c, 1), 1);
	kill_child(pid);
	close(in);
	remount(&d, MS_RDONLY, "");
	s = open_store(&d, STORE_READ_ONLY);
	assert_int_equal(read_all(s, true), 20);
	store_close(s);
	s = NULL;
	assert_int_equal(store_open(str_from(d.url), STORE_READ_WRITE, &s, &err), OV_EIO);
	/* A write-ahead log without its index: refused, rather than read without its records. */
	remount(&d, 0, "");
	assert_int_equal(unlink(shm), 0);
	remount(&d, MS_RDONLY, "");
	assert_int_equal(store_open(str_from(d.url), STORE_READ_ONLY, &s, &err), OV_EIO);
	assert_non_null(strstr(err.msg, d.db));
	remount(&d, 0, "");
	s = open_store(&d, STORE_READ_ONLY);
	assert_int_equal(read_all(s, true), 20);
	store_close(s);
	unmount(&d);
}

TEST_MAIN
