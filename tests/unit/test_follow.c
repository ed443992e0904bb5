#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/host/clock.h"
#include "sys/host/rand.h"
#include "sys/loop/follow.h"
#include "sys/loop/loop.h"
#include "tests/test.h"

enum { APPENDS = 10000, STEP_US = 1000000, DEADLINE_US = 60000000 };

struct seen {
	struct buf b;
	uint64_t from;
	struct follow *f;
	size_t close_after; /* 0: never */
	size_t largest;
};

static void on_bytes(void *user, str bytes, uint64_t at)
{
	struct seen *s = user;

	assert_int_equal(at, s->from + s->b.n); /* in order, without a hole */
	assert_true(bytes.n > 0);
	buf_adds(&s->b, bytes);
	s->largest = MAX(s->largest, bytes.n);
	if (s->close_after && s->b.n >= s->close_after)
		follow_close(TAKE_PTR(s->f));
}

static char path[64];
static struct loop *loop;

static int begin(void)
{
	int fd;

	snprintf(path, sizeof(path), "/tmp/ov-follow-XXXXXX");
	fd = mkostemp(path, O_APPEND | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(loop_new(&loop, NULL), 0);
	return fd;
}

static void end(int fd)
{
	close(fd);
	unlink(path);
	loop_free(loop);
}

static void step_until(struct seen *s, size_t n)
{
	uint64_t start = clock_mono_us();

	while (s->b.n < n && clock_mono_us() - start < DEADLINE_US)
		loop_step(loop, STEP_US);
	assert_int_equal(s->b.n, n);
}

static void put(int fd, str bytes)
{
	assert_int_equal(write(fd, bytes.p, bytes.n), (ssize_t)bytes.n);
}

TEST(old_and_new_bytes_come_in_order_from_the_offset)
{
	struct seen s = { .from = 3 };
	int fd = begin();

	put(fd, STR("abcdef"));
	assert_int_equal(follow_open(loop, path, 3, on_bytes, &s, &s.f, NULL), 0);
	assert_int_equal(s.b.n, 0); /* not from inside the call */
	put(fd, STR("ghi"));
	step_until(&s, 6);
	put(fd, STR("jkl"));
	step_until(&s, 9);
	assert_string_equal(buf_cstr(&s.b), "defghijkl");
	assert_int_equal(follow_offset(s.f), 12);
	follow_close(s.f);
	buf_done(&s.b);
	end(fd);
}

TEST(what_cannot_be_followed_is_refused)
{
	struct seen s = { 0 };
	struct ov_err err;
	int fd = begin();

	assert_int_equal(follow_open(loop, "/tmp/no-such-file-here", 0, on_bytes, &s, &s.f, &err),
			OV_ENOTFOUND);
	assert_int_equal(follow_open(loop, "/tmp", 0, on_bytes, &s, &s.f, &err), OV_EINVALID);
	assert_int_equal(follow_open(loop, path, UINT64_MAX, on_bytes, &s, &s.f, &err),
			OV_EINVALID);
	assert_null(s.f);
	follow_close(NULL);
	end(fd);
}

/* Writes numbered lines, each by one write, as fast as it can; then the length of all as exit. */
static void append_lines(void)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	char line[32];

	for (int i = 0; i < APPENDS; i++) {
		int n = snprintf(line, sizeof(line), "line %d\n", i);

		if (write(fd, line, (size_t)n) != n)
			_exit(1);
	}
	_exit(0);
}

TEST(ten_thousand_appends_by_another_process_arrive_exactly)
{
	struct seen s = { 0 };
	struct buf want = BUF_INIT;
	int fd = begin(), status;
	pid_t pid;

	for (int i = 0; i < APPENDS; i++)
		buf_addf(&want, "line %d\n", i);
	/* The writer is under way before the follower opens: nothing may fall in between. */
	pid = fork();
	if (pid == 0)
		append_lines();
	assert_int_equal(follow_open(loop, path, 0, on_bytes, &s, &s.f, NULL), 0);
	step_until(&s, want.n);
	assert_true(str_eq(buf_str(&s.b), buf_str(&want)));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	follow_close(s.f);
	buf_done(&s.b);
	buf_done(&want);
	end(fd);
}

struct other {
	struct loop_source *src;
	struct seen *seen;
	size_t saw;
	bool served;
};

static void on_other(void *user)
{
	struct other *o = user;

	o->saw = o->seen->b.n;
	o->served = true;
}

TEST(a_long_file_comes_in_pieces_and_others_are_served_between)
{
	size_t n = 4 * 1024 * 1024 + 11;
	char *bytes = mem_alloc(n);
	struct seen s = { 0 };
	struct other o = { .seen = &s };
	int fd = begin();

	rand_bytes(bytes, n);
	put(fd, (str){ bytes, n });
	assert_int_equal(follow_open(loop, path, 0, on_bytes, &s, &s.f, NULL), 0);
	while (s.b.n == 0)
		loop_step(loop, STEP_US);
	o.src = loop_defer(loop, on_other, &o);
	step_until(&s, n);
	assert_true(str_eq(buf_str(&s.b), (str){ bytes, n }));
	assert_int_equal(s.largest, 65536);
	assert_true(o.served);
	assert_true(o.saw < n);
	loop_source_free(o.src);
	follow_close(s.f);
	buf_done(&s.b);
	mem_free(bytes);
	end(fd);
}

TEST(draining_gives_the_last_words_at_once_within_its_bound)
{
	struct seen s = { 0 };
	struct ov_err err;
	int fd = begin();

	put(fd, STR("0123456789"));
	assert_int_equal(follow_open(loop, path, 0, on_bytes, &s, &s.f, NULL), 0);
	assert_int_equal(follow_drain(s.f, 4, &err), OV_ELIMIT);
	assert_string_equal(buf_cstr(&s.b), "0123");
	assert_int_equal(follow_drain(s.f, 6, &err), 0);
	assert_string_equal(buf_cstr(&s.b), "0123456789");
	assert_int_equal(follow_drain(s.f, 100, &err), 0);
	put(fd, STR("more"));
	assert_int_equal(follow_drain(s.f, 100, &err), 0);
	assert_int_equal(s.b.n, 14);
	for (int i = 0; i < 10; i++)
		loop_step(loop, 0);
	assert_int_equal(s.b.n, 14); /* nothing comes twice */
	follow_close(s.f);
	buf_done(&s.b);
	end(fd);
}

TEST(the_callback_may_close)
{
	static char zeros[200000];
	struct seen s = { .close_after = 1 };
	struct follow *f;
	int fd = begin();

	put(fd, (str){ zeros, sizeof(zeros) });
	assert_int_equal(follow_open(loop, path, 0, on_bytes, &s, &s.f, NULL), 0);
	for (int i = 0; i < 10; i++)
		loop_step(loop, 0);
	assert_int_equal(s.b.n, 65536);
	assert_null(s.f);
	buf_done(&s.b);
	s = (struct seen){ .close_after = 1 };
	assert_int_equal(follow_open(loop, path, 0, on_bytes, &s, &s.f, NULL), 0);
	f = s.f;
	assert_int_equal(follow_drain(f, sizeof(zeros), NULL), 0);
	assert_int_equal(s.b.n, 65536);
	buf_done(&s.b);
	end(fd);
}

TEST(a_file_that_was_cut_is_waited_for)
{
	struct seen s = { 0 };
	int fd = begin();

	put(fd, STR("0123456789"));
	assert_int_equal(follow_open(loop, path, 0, on_bytes, &s, &s.f, NULL), 0);
	step_until(&s, 10);
	assert_int_equal(ftruncate(fd, 2), 0);
	for (int i = 0; i < 10; i++)
		loop_step(loop, 0);
	assert_int_equal(s.b.n, 10);
	put(fd, STR("23456789ab"));
	step_until(&s, 12);
	assert_string_equal(buf_cstr(&s.b), "0123456789ab");
	follow_close(s.f);
	buf_done(&s.b);
	end(fd);
}

TEST(many_followers_need_few_fds_and_each_sees_its_own)
{
	enum { N = 200 };
	struct seen a[N] = { 0 }, b = { 0 };
	int fd = begin();
	char other[] = "/tmp/ov-follow-XXXXXX";
	int fd2 = mkstemp(other);

	for (int i = 0; i < N; i++)
		assert_int_equal(follow_open(loop, path, 0, on_bytes, &a[i], &a[i].f, NULL), 0);
	assert_int_equal(follow_open(loop, other, 0, on_bytes, &b, &b.f, NULL), 0);
	put(fd, STR("first"));
	put(fd2, STR("second"));
	for (int i = 0; i < N; i++)
		step_until(&a[i], 5);
	step_until(&b, 6);
	assert_string_equal(buf_cstr(&b.b), "second");
	for (int i = 0; i < N; i++) {
		follow_close(a[i].f);
		buf_done(&a[i].b);
	}
	follow_close(b.f);
	buf_done(&b.b);
	close(fd2);
	unlink(other);
	end(fd);
}

/* ---- holes ---- */

struct pieces {
	struct buf b;
	uint64_t end;
	size_t gaps, zeros;
};

static void on_piece(void *user, str bytes, uint64_t at)
{
	struct pieces *s = user;

	assert_true(at >= s->end);
	s->gaps += at > s->end;
	for (size_t i = 0; i < bytes.n; i++)
		s->zeros += bytes.p[i] == '\0';
	buf_adds(&s->b, bytes);
	s->end = at + bytes.n;
}

static void punch(int fd, off_t from, off_t to)
{
	assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, to - from),
			0);
}

TEST(a_hole_is_skipped_and_seen_by_its_offsets)
{
	enum { BLOCK = 4096, BLOCKS = 40 };
	char block[BLOCK];
	struct pieces s = { 0 };
	struct follow *f;
	int fd = begin();

	for (int i = 0; i < BLOCKS; i++) {
		memset(block, 'a' + i % 26, sizeof(block));
		put(fd, (str){ block, sizeof(block) });
	}
	punch(fd, 2 * BLOCK, 39 * BLOCK);
	assert_int_equal(follow_open(loop, path, 0, on_piece, &s, &f, NULL), 0);
	while (s.end < BLOCKS * BLOCK)
		loop_step(loop, STEP_US);
	assert_int_equal(s.gaps, 1);
	assert_int_equal(s.zeros, 0);
	assert_int_equal(s.b.n, 3 * BLOCK);
	assert_int_equal(s.b.p[2 * BLOCK], 'a' + 39 % 26);
	/* It goes on behind it, and inside of a hole. */
	put(fd, STR("more"));
	while (s.end < BLOCKS * BLOCK + 4)
		loop_step(loop, STEP_US);
	follow_close(f);
	buf_clear(&s.b);
	s = (struct pieces){ .b = s.b };
	assert_int_equal(follow_open(loop, path, 5 * BLOCK + 17, on_piece, &s, &f, NULL), 0);
	assert_int_equal(follow_drain(f, SIZE_MAX, NULL), 0);
	assert_int_equal(s.b.n, BLOCK + 4);
	assert_int_equal(follow_offset(f), BLOCKS * BLOCK + 4);
	follow_close(f);
	buf_done(&s.b);
	end(fd);
}

/* A writer that punches behind itself, as fast as it can, while we read. */
TEST(no_byte_of_a_hole_is_taken_for_data)
{
	enum { BLOCK = 4096, BLOCKS = 6000, BEHIND = 16 };
	struct pieces s = { 0 };
	struct follow *f;
	int fd = begin(), status;
	pid_t writer;

	assert_int_equal(follow_open(loop, path, 0, on_piece, &s, &f, NULL), 0);
	writer = fork();
	assert_true(writer >= 0);
	if (writer == 0) {
		char block[BLOCK];

		memset(block, 'x', sizeof(block));
		for (int i = 0; i < BLOCKS; i++)
			if (write(fd, block, sizeof(block)) != BLOCK ||
					(i > BEHIND &&
							fallocate(fd,
									FALLOC_FL_PUNCH_HOLE |
											FALLOC_FL_KEEP_SIZE,
									BLOCK,
									(off_t)(i - BEHIND) *
											BLOCK) < 0))
				_exit(1);
		_exit(0);
	}
	while (s.end < (uint64_t)BLOCKS * BLOCK)
		loop_step(loop, STEP_US);
	assert_int_equal(waitpid(writer, &status, 0), writer);
	assert_int_equal(status, 0);
	assert_int_equal(s.zeros, 0);
	follow_close(f);
	buf_done(&s.b);
	end(fd);
}

TEST_MAIN
