#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/host/clock.h"
#include "sys/host/rand.h"
#include "sys/loop/loop.h"
#include "sys/loop/stream.h"
#include "tests/test.h"

enum { STEP_US = 1000000, DEADLINE_US = 60000000, BOUND = 1024 * 1024 };

/* One end of a conversation: what it saw. */
struct side {
	struct stream *s;
	struct buf in;
	int eofs, failures, drains;
	struct ov_err err;
	bool close_on_data, close_on_failed;
};

static void on_data(void *user, str bytes)
{
	struct side *d = user;

	buf_adds(&d->in, bytes);
	if (d->close_on_data)
		stream_close(TAKE_PTR(d->s));
}

static void on_eof(void *user)
{
	((struct side *)user)->eofs++;
}

static void on_failed(void *user, const struct ov_err *err)
{
	struct side *d = user;

	d->failures++;
	d->err = *err;
	if (d->close_on_failed)
		stream_close(TAKE_PTR(d->s));
}

static void on_drained(void *user)
{
	((struct side *)user)->drains++;
}

static const struct stream_ops ops = { on_data, on_eof, on_failed, on_drained };

static struct loop *loop;

static void settle(void)
{
	for (int i = 0; i < 50; i++)
		loop_step(loop, 0);
}

#define STEP_WHILE(condition)                                                 \
	do {                                                                  \
		uint64_t start_ = clock_mono_us();                            \
		while ((condition) && clock_mono_us() - start_ < DEADLINE_US) \
			loop_step(loop, STEP_US);                             \
		assert_false(condition);                                      \
	} while (0)

/* A stream on one end of a socket pair; the other end is given back, blocking. */
static int begin(struct side *d)
{
	int fds[2];

	*d = (struct side){ 0 };
	assert_int_equal(loop_new(&loop, NULL), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(stream_open(loop, fds[0], &ops, d, BOUND, &d->s, NULL), 0);
	assert_int_equal(stream_fd(d->s), fds[0]);
	return fds[1];
}

static void end(struct side *d, int peer)
{
	stream_close(d->s);
	buf_done(&d->in);
	if (peer >= 0)
		close(peer);
	loop_free(loop);
}

TEST(bytes_go_both_ways_and_halves_close_apart)
{
	struct side d;
	int peer = begin(&d);
	char text[16] = { 0 };

	assert_int_equal(send(peer, "ping", 4, 0), 4);
	STEP_WHILE(d.in.n < 4);
	assert_string_equal(buf_cstr(&d.in), "ping");
	shutdown(peer, SHUT_WR);
	STEP_WHILE(d.eofs == 0);
	/* Our half still works. */
	assert_true(stream_write(d.s, STR("pong")));
	assert_int_equal(read(peer, text, sizeof(text)), 4);
	assert_string_equal(text, "pong");
	settle();
	assert_int_equal(d.eofs, 1);
	assert_int_equal(d.drains, 0); /* nothing had to wait */
	assert_int_equal(d.failures, 0);
	/* Then the other side is gone. */
	close(peer);
	settle();
	assert_int_equal(d.failures, 0);
	assert_false(stream_write(d.s, STR("lost")));
	assert_int_equal(d.failures, 0); /* only from the loop */
	STEP_WHILE(d.failures == 0);
	settle();
	assert_int_equal(d.failures, 1);
	assert_non_null(strstr(d.err.msg, "gone"));
	assert_false(stream_write(d.s, STR("still")));
	settle();
	assert_int_equal(d.failures, 1);
	end(&d, -1);
}

TEST(a_slow_reader_gets_everything_within_the_bound)
{
	size_t n = BOUND, got = 0;
	char *bytes = mem_alloc(n), *back = mem_alloc(n);
	struct side d;
	int peer = begin(&d);

	rand_bytes(bytes, n);
	assert_true(stream_write(d.s, (str){ bytes, n / 2 }));
	assert_true(stream_queued(d.s) > 0);
	assert_true(stream_write(d.s, (str){ bytes + n / 2, n - n / 2 }));
	while (got < n) {
		ssize_t r = recv(peer, back + got, MIN(n - got, (size_t)10007), MSG_DONTWAIT);

		if (r > 0)
			got += (size_t)r;
		else
			assert_int_equal(errno, EAGAIN);
		loop_step(loop, 0);
	}
	assert_memory_equal(bytes, back, n);
	settle();
	assert_int_equal(stream_queued(d.s), 0);
	assert_int_equal(d.drains, 1);
	mem_free(bytes);
	mem_free(back);
	end(&d, peer);
}

TEST(a_reader_that_is_too_slow_fails_the_stream)
{
	static char bytes[BOUND];
	struct side d;
	int peer = begin(&d);

	assert_true(stream_write(d.s, (str){ bytes, sizeof(bytes) }));
	while (stream_write(d.s, (str){ bytes, 100000 }))
		assert_true(stream_queued(d.s) <= BOUND);
	assert_int_equal(d.failures, 0);
	d.close_on_failed = true;
	STEP_WHILE(d.failures == 0);
	assert_int_equal(d.err.code, OV_ELIMIT);
	settle();
	assert_int_equal(d.failures, 1);
	assert_null(d.s);
	end(&d, peer);
}

TEST(a_single_write_above_the_bound_fails)
{
	static char bytes[8 * BOUND];
	struct side d;
	int peer = begin(&d);

	assert_false(stream_write(d.s, (str){ bytes, sizeof(bytes) }));
	STEP_WHILE(d.failures == 0);
	assert_int_equal(d.err.code, OV_ELIMIT);
	end(&d, peer);
}

TEST(reading_can_be_paused_and_the_callback_may_close)
{
	struct side d;
	int peer = begin(&d);

	stream_pause(d.s, true);
	assert_int_equal(send(peer, "wait", 4, 0), 4);
	settle();
	assert_int_equal(d.in.n, 0);
	close(peer); /* no spinning on the hangup meanwhile */
	settle();
	d.close_on_data = true;
	stream_pause(d.s, false);
	STEP_WHILE(d.in.n < 4);
	assert_null(d.s);
	settle();
	assert_int_equal(d.eofs, 0);
	end(&d, -1);
}

TEST(a_reset_connection_fails_once)
{
	struct side d;
	int peer = begin(&d);

	/* Closing with unread bytes is a reset for the other side. */
	assert_true(stream_write(d.s, STR("unread")));
	close(peer);
	STEP_WHILE(d.failures + d.eofs == 0);
	settle();
	assert_int_equal(d.failures, 1);
	assert_non_null(strstr(d.err.msg, "gone"));
	end(&d, -1);
}

TEST(pipes_are_streams_in_one_direction)
{
	struct side in = { 0 }, out = { 0 };
	int fds[2];

	assert_int_equal(loop_new(&loop, NULL), 0);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(stream_open(loop, fds[0], &ops, &in, BOUND, &in.s, NULL), 0);
	assert_int_equal(stream_open(loop, fds[1], &ops, &out, BOUND, &out.s, NULL), 0);
	assert_true(stream_write(out.s, STR("through")));
	STEP_WHILE(in.in.n < 7);
	stream_close(out.s);
	STEP_WHILE(in.eofs == 0);
	settle();
	assert_int_equal(in.eofs, 1);
	stream_close(in.s);
	/* A pipe without a reader: an error, not a signal. */
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	out = (struct side){ 0 };
	assert_int_equal(stream_open(loop, fds[1], &ops, &out, BOUND, &out.s, NULL), 0);
	close(fds[0]);
	assert_false(stream_write(out.s, STR("x")));
	STEP_WHILE(out.failures == 0);
	stream_close(out.s);
	buf_done(&in.in);
	loop_free(loop);
}

TEST(a_file_is_no_stream_and_is_closed)
{
	struct side d = { 0 };
	struct ov_err err;
	int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);

	assert_int_equal(loop_new(&loop, NULL), 0);
	assert_int_equal(stream_open(loop, fd, &ops, &d, BOUND, &d.s, &err), OV_EINVALID);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	stream_close(NULL);
	loop_free(loop);
}

TEST_MAIN
