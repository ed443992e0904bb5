#pragma once
/*
 * Clients for the tests of net: plain non-blocking sockets that live in the same thread as the loop
 * of the server. UNTIL runs both sides until a condition holds, so nothing depends on time.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/ov.h"
#include "base/str.h"
#include "data/value/json.h"
#include "sys/loop/loop.h"
#include "tests/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

struct client {
	int fd;
	struct buf in;
	bool eof;
};

static inline struct client *client_new(int fd)
{
	struct client *c = mem_zalloc(1, sizeof(*c));

	assert_true(fd >= 0);
	c->fd = fd;
	return c;
}

static inline struct client *client_unix(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct client *c = client_new(
			socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	assert_int_equal(connect(c->fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return c;
}

static inline struct client *client_tcp(uint16_t port)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct client *c = client_new(
			socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

	/* Over loopback the handshake is done by the kernel at once, whether or not we accept. */
	assert_true(connect(c->fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 ||
			errno == EINPROGRESS);
	return c;
}

static inline struct client *client_free(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	buf_done(&c->in);
	mem_free(c);
	return NULL;
}

/* Takes what is there. */
static inline void client_read(struct client *c)
{
	char piece[16384];

	while (!c->eof) {
		ssize_t n = recv(c->fd, piece, sizeof(piece), 0);

		if (n > 0)
			buf_add(&c->in, piece, (size_t)n);
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			c->eof = true;
		else
			return;
	}
}

/* As many bytes as the kernel takes. */
static inline size_t client_try_send(struct client *c, str s)
{
	ssize_t n = send(c->fd, s.p, s.n, MSG_NOSIGNAL);

	return n < 0 ? 0 : (size_t)n;
}

static inline uint64_t test_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Runs the loop until cond holds; the bound only turns a hang into a failure. */
#define UNTIL(l, cond)                                                                   \
	do {                                                                             \
		uint64_t _give_up = test_now_ms() + 60000;                               \
		while (!(cond)) {                                                        \
			loop_step((l), 1000);                                            \
			if (test_now_ms() > _give_up)                                    \
				fail_msg("%s:%d: never: %s", __FILE__, __LINE__, #cond); \
		}                                                                        \
	} while (0)

static inline bool client_sent_all(struct client *c, str *rest)
{
	*rest = str_sub(*rest, client_try_send(c, *rest), SIZE_MAX);
	return rest->n == 0;
}

static inline void client_send(struct loop *l, struct client *c, str s)
{
	UNTIL(l, client_sent_all(c, &s));
}

static inline size_t count_of(str s, str needle)
{
	size_t n = 0;

	for (size_t at; (at = str_find(s, needle)) < s.n; n++)
		s = str_sub(s, at + needle.n, SIZE_MAX);
	return n;
}

static inline bool client_has(struct client *c, const char *needle, size_t times)
{
	client_read(c);
	return count_of(buf_str(&c->in), str_from(needle)) >= times;
}

static inline bool client_closed(struct client *c)
{
	client_read(c);
	return c->eof;
}

static inline void idle_over(void *user)
{
	*(bool *)user = true;
}

/*
 * How often the loop wakes up while nothing happens, until a timer of ours ends the waiting: that
 * one iteration, or two, if nothing else is armed.
 */
static inline uint64_t idle_iterations(struct loop *l)
{
	bool over = false;
	struct loop_source *timer = loop_timer(l, idle_over, &over);
	uint64_t before;

	for (int i = 0; i < 20; i++) /* what is still under way */
		loop_step(l, 0);
	before = loop_iterations(l);
	loop_timer_in(timer, 100);
	while (!over)
		loop_step(l, -1);
	loop_source_free(timer);
	return loop_iterations(l) - before;
}

/* valgrind plays the limit of descriptors itself, and closes a connection that goes beyond. */
static inline bool limits_are_real(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return !preload || !strstr(preload, "vgpreload");
}
