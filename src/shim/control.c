#include "shim/shim_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/str.h"

static void conn_close(struct conn *c)
{
	close(c->fd);
	c->fd = -1;
	buf_done(&c->in);
	c->in = BUF_INIT;
}

/* A client that does not even read its answers is not waited for. */
static void control_answer(struct conn *c, const char *text)
{
	size_t n = strlen(text);

	if (send(c->fd, text, n, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)n)
		conn_close(c);
}

/* A stranger, or an older connection too many: the newest is the one that is wanted. */
void control_accept(struct shim *s)
{
	int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer;
	socklen_t len = sizeof(peer);
	struct conn *c = &s->conns[0];

	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
			(peer.uid != geteuid() && peer.uid != 0)) {
		close(fd);
		return;
	}
	for (size_t i = 0; i < SHIM_CONNS; i++) {
		if (s->conns[i].fd < 0) {
			c = &s->conns[i];
			break;
		}
		if (s->conns[i].used < c->used)
			c = &s->conns[i];
	}
	if (c->fd >= 0)
		conn_close(c);
	c->fd = fd;
	c->used = ++s->requests;
}

static const char *do_signal(struct shim *s, str number)
{
	int64_t signo;

	if (!str_to_i64(number, &signo) || signo < 1 || signo > SIGRTMAX)
		return "error not a signal number\n";
	if (s->agent == 0)
		return "error the agent has ended\n";
	if (agent_signal(s, (int)signo) < 0)
		return "error the signal could not be sent\n";
	return "ok\n";
}

static const char *do_interrupt(struct shim *s)
{
	if (s->agent == 0)
		return "error the agent has ended\n";
	if (!s->interrupt_signal)
		return "error the agent has no signal that interrupts it\n";
	return agent_interrupt(s) < 0 ? "error the signal could not be sent\n" : "ok\n";
}

static const char *do_freeze(struct shim *s, bool frozen)
{
	if (!group_is_on(s))
		return "error this run has no control group that could be frozen\n";
	return group_freeze(s, frozen) < 0 ? "error the control group refuses that\n" : "ok\n";
}

static const char *do_send(struct shim *s, str bytes)
{
	if (s->agent == 0)
		return "error the agent has ended\n";
	if (s->to_agent < 0 || s->input_closing)
		return "error the agent's input is closed\n";
	if (s->input.n + bytes.n > RUN_QUEUED_MAX)
		return "error the agent does not read its input\n";
	buf_adds(&s->input, bytes);
	agent_feed(s);
	if (s->to_agent < 0)
		return "error the agent has closed its input\n";
	return "ok\n";
}

static bool was_delivered(const struct shim *s, str id)
{
	for (size_t i = s->delivered.n; i > 0; i--)
		if (str_is(id, s->delivered.p[i - 1]))
			return true;
	return false;
}

static void remember_delivery(struct shim *s, str id)
{
	if (s->delivered.n == RUN_IDS_KEPT) {
		mem_free(s->delivered.p[0]);
		vec_remove(&s->delivered, 0);
	}
	vec_push(&s->delivered, mem_dup(id.p, id.n));
}

/* "deliver LEN ID": who asks again did not hear our answer; the agent must not hear it twice. */
static const char *do_deliver(struct shim *s, str line, str bytes)
{
	str id = str_sub(line, str_find_byte(line, ' ') + 1, line.n);
	const char *reply;

	id = str_sub(id, str_find_byte(id, ' ') + 1, id.n);
	if (id.n == 0 || id.n > RUN_ID_MAX)
		return "error a delivery needs a short id\n";
	if (was_delivered(s, id))
		return "ok\n";
	reply = do_send(s, bytes);
	if (strcmp(reply, "ok\n") == 0)
		remember_delivery(s, id);
	return reply;
}

/* Answers one whole request, or NULL when it is none that we know. */
static const char *request(struct shim *s, str line, str bytes)
{
	if (str_starts(line, STR("signal ")))
		return do_signal(s, str_sub(line, 7, line.n));
	if (str_starts(line, STR("send ")))
		return do_send(s, bytes);
	if (str_starts(line, STR("deliver ")))
		return do_deliver(s, line, bytes);
	if (str_is(line, "interrupt"))
		return do_interrupt(s);
	if (str_is(line, "freeze") || str_is(line, "thaw"))
		return do_freeze(s, str_is(line, "freeze"));
	if (str_is(line, "stop")) {
		agent_stop(s);
		return "ok\n";
	}
	if (str_is(line, "close-input")) {
		s->input_closing = true;
		agent_feed(s);
		return "ok\n";
	}
	return NULL;
}

/* How many bytes follow this line; false when it is malformed. */
static bool body_length(str line, uint64_t *ret)
{
	str name, length;

	*ret = 0;
	if (!str_split(&line, ' ', &name) || (!str_is(name, "send") && !str_is(name, "deliver")))
		return true;
	return str_split(&line, ' ', &length) && str_to_u64(length, ret) && *ret <= RUN_SEND_MAX &&
			(line.p != NULL) == str_is(name, "deliver");
}

/* Takes the requests that are complete off the buffer; false when the rest cannot be understood. */
static bool serve_buffer(struct shim *s, struct conn *c)
{
	while (c->fd >= 0 && c->in.n > 0) {
		str all = buf_str(&c->in), line;
		size_t end = str_find_byte(str_sub(all, 0, RUN_LINE_MAX), '\n');
		const char *reply;
		uint64_t body;

		line = str_sub(all, 0, end);
		if (end >= RUN_LINE_MAX)
			return false;
		if (end == all.n)
			return true; /* not yet a whole line */
		if (!body_length(line, &body))
			return false;
		if (all.n - end - 1 < body)
			return true;
		reply = request(s, line, str_sub(all, end + 1, (size_t)body));
		if (!reply)
			return false;
		buf_consume(&c->in, end + 1 + (size_t)body);
		c->used = ++s->requests;
		control_answer(c, reply);
	}
	return true;
}

void control_serve(struct shim *s, struct conn *c)
{
	char piece[16384];
	ssize_t n = recv(c->fd, piece, sizeof(piece), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		conn_close(c);
		return;
	}
	/* Bounded: what serve_buffer leaves is less than one line and one body. */
	buf_add(&c->in, piece, (size_t)n);
	if (!serve_buffer(s, c) && c->fd >= 0) {
		control_answer(c, "error this is not a request\n");
		if (c->fd >= 0)
			conn_close(c);
	}
	if (c->fd >= 0 && c->in.n == 0)
		buf_done(&c->in);
}
