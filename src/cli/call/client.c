#include "cli/call/client.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/call/child.h"
#include "data/message/jsonrpc.h"
#include "data/value/json.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"

enum { ANSWER_MAX = 64 * 1024 * 1024, REGISTRATION_MAX = 64 * 1024, EVENTS_HELD_MAX = 100000 };

void client_init(struct client *c, struct arena *a)
{
	*c = (struct client){ .arena = a, .fd = -1, .signal_fd = -1, .out_fd = -1, .next_id = 1 };
	ndjson_init(&c->lines, ANSWER_MAX);
}

void client_done(struct client *c)
{
	fd_closep(&c->fd);
	fd_closep(&c->signal_fd);
	ndjson_done(&c->lines);
	for (size_t i = c->events_taken; i < c->events.n; i++)
		mem_free((char *)c->events.p[i].p);
	vec_done(&c->events);
}

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int store_shown(struct arena *a, const char *dir, struct ov_err *err)
{
	static const char *const signs[] = { "config.toml", "daemon.json", "store.db" };
	const char *run = getenv("OVERSEER_RUN");

	if (!run || !*run || !is_dir(dir))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(signs); i++)
		if (file_exists(path_join(a, dir, signs[i])))
			return 0;
	return ov_fail(err, OV_ESTATE,
			"this is run %s of Overseer: its store %s cannot be seen or used in the "
			"sandbox",
			run, dir);
}

static int no_store(struct ov_err *err, const char *where)
{
	ov_fail(err, OV_ENOTFOUND, "there is no .overseer folder in %s", where);
	return ov_next(err, "overseer init");
}

int store_find(struct arena *a, const char *given, const char **ret, struct ov_err *err)
{
	const char *from = given ? given : getenv("OVERSEER_DIR");
	char real[PATH_MAX];

	if (from && *from) {
		if (!realpath(from, real))
			return ov_fail(err, OV_ENOTFOUND, "%s: %s", from, strerror(errno));
		if (is_dir(path_join(a, real, ".overseer")))
			*ret = path_join(a, real, ".overseer");
		else if (str_ends(str_from(real), STR("/.overseer")) ||
				file_exists(path_join(a, real, "config.toml")))
			*ret = arena_cstr(a, str_from(real));
		else
			return no_store(err, from);
		return store_shown(a, *ret, err);
	}
	if (!getcwd(real, sizeof(real)))
		return ov_fail_errno(err, errno, "the working folder");
	for (;;) {
		char *slash = strrchr(real, '/'), *path = path_join(a, real, ".overseer");

		if (is_dir(path)) {
			*ret = path;
			return store_shown(a, path, err);
		}
		if (!slash || real[1] == '\0')
			return no_store(err, "this folder or one above it");
		slash[slash == real ? 1 : 0] = '\0';
	}
}

static int not_running(struct ov_err *err)
{
	ov_fail(err, OV_EUNAVAILABLE, "the daemon is not running");
	return ov_next(err, "overseer up");
}

/* The socket that the daemon registered, else the usual one. */
static const char *socket_path(struct client *c)
{
	const char *usual = path_join(c->arena, c->dir, "overseer.sock");
	value *v;
	str text, s;

	if (file_read(c->arena, path_join(c->arena, c->dir, "daemon.json"), REGISTRATION_MAX, &text,
			    NULL) < 0 ||
			json_parse(c->arena, text, NULL, &v, NULL) < 0)
		return usual;
	s = value_str_at(v, "socket");
	return s.n && s.p[0] == '/' ? arena_cstr(c->arena, s) : usual;
}

/* Who listens, by the kernel's word: a stranger's socket gets none of our requests. */
static int check_peer(struct client *c, int fd, const char *path, struct ov_err *err)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return ov_fail_errno(err, errno, "%s", path);
	if (peer.uid != geteuid() && peer.uid != 0 && geteuid() != 0)
		return ov_fail(err, OV_EUNAUTHORIZED, "%s is served by another user (uid %u)", path,
				(unsigned)peer.uid);
	c->peer_pid = peer.pid;
	return 0;
}

int client_connect(struct client *c, struct ov_err *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const char *path;
	int fd, r;

	if (c->fd >= 0)
		return 0;
	path = socket_path(c);
	if (strlen(path) >= sizeof(addr.sun_path))
		return not_running(err);
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return ov_fail_errno(err, errno, "making a socket");
	while ((r = connect(fd, (struct sockaddr *)&addr, sizeof(addr))) < 0 && errno == EINTR)
		;
	if (r < 0 && (errno == ENOENT || errno == ECONNREFUSED || errno == ENOTSOCK))
		r = not_running(err);
	else if (r < 0 && errno == EACCES)
		r = ov_fail(err, OV_EUNAUTHORIZED, "connecting to %s: %s", path, strerror(errno));
	else if (r < 0)
		r = ov_fail_errno(err, errno, "connecting to %s", path);
	else
		r = check_peer(c, fd, path, err);
	if (r < 0) {
		close(fd);
		return r;
	}
	c->fd = fd;
	return 0;
}

/* After a failure in the middle of something nothing further can be said on this connection. */
static void hang_up(struct client *c)
{
	fd_closep(&c->fd);
	c->fd = -1;
	ndjson_done(&c->lines);
	ndjson_init(&c->lines, ANSWER_MAX);
}

/*
 * The next line before the deadline (UINT64_MAX: none): CLIENT_EVENT and the line, CLIENT_TIMEOUT,
 * CLIENT_SIGNAL, or a negative code.
 */
static int read_line(struct client *c, uint64_t deadline, str *ret, struct ov_err *err)
{
	char piece[65536];

	for (;;) {
		struct pollfd p[] = { { .fd = c->fd, .events = POLLIN },
			{ .fd = c->signal_fd, .events = POLLIN },
			{ .fd = c->out_fd } }; /* only its end */
		uint64_t now;
		int wait = -1, r = ndjson_next(&c->lines, ret, err);
		ssize_t n;

		if (r != 0)
			return r < 0 ? r : CLIENT_EVENT;
		now = clock_mono_us();
		if (deadline != UINT64_MAX)
			wait = now < deadline ? (int)MIN((deadline - now) / 1000 + 1, INT_MAX) : 0;
		r = poll(p, ARRAY_LEN(p), wait);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return ov_fail_errno(err, errno, "waiting for the daemon");
		c->unread = (p[2].revents & (POLLERR | POLLHUP)) != 0;
		if (p[1].revents || c->unread)
			return CLIENT_SIGNAL;
		if (r == 0)
			return CLIENT_TIMEOUT;
		n = recv(c->fd, piece, sizeof(piece), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			ov_fail(err, OV_EUNAVAILABLE, "the daemon closed the connection");
			return ov_next(err, "overseer status");
		}
		ndjson_feed(&c->lines, piece, (size_t)n);
	}
}

static int send_all(struct client *c, str s, uint64_t deadline, struct ov_err *err)
{
	while (s.n) {
		ssize_t n = send(c->fd, s.p, s.n, MSG_NOSIGNAL | MSG_DONTWAIT);
		struct pollfd p = { .fd = c->fd, .events = POLLOUT };
		uint64_t now = clock_mono_us();

		if (n >= 0) {
			s = str_sub(s, (size_t)n, s.n);
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return ov_fail(err, OV_EUNAVAILABLE, "sending to the daemon: %s",
					strerror(errno));
		if (now >= deadline || poll(&p, 1, (int)((deadline - now) / 1000 + 1)) == 0)
			return ov_fail(err, OV_EUNAVAILABLE, "the daemon takes no request");
	}
	return 0;
}

static int bad_answer(struct ov_err *err, int r)
{
	return ov_wrap(err, r == OV_ELIMIT ? r : OV_EINTERNAL, "the daemon's answer");
}

/* Takes one message: 1 when it is the answer to `id`, 0 when something else came. */
static int take_message(struct client *c, str line, int64_t id, const value **ret,
		struct ov_err *err)
{
	struct rpc_msg m;
	int rpc_code, r;
	value *doc;

	r = json_parse(c->arena, arena_str(c->arena, line), NULL, &doc, err);
	if (r == 0)
		r = rpc_parse(doc, &m, &rpc_code, err);
	if (r < 0) {
		err->code = OV_EINTERNAL;
		return bad_answer(err, OV_EINTERNAL);
	}
	if (m.kind == RPC_NOTIFICATION) {
		if (c->events.n - c->events_taken >= EVENTS_HELD_MAX)
			return ov_fail(err, OV_ELIMIT, "too many events before an answer");
		vec_push(&c->events, ((str){ mem_dup(line.p, line.n), line.n }));
		return 0;
	}
	if (m.kind == RPC_REQUEST || (m.kind == RPC_RESULT && value_int_or(m.id, -1) != id))
		return 0;
	if (m.kind == RPC_ERROR) {
		struct ov_err answer = { 0 };

		rpc_to_err(&m, &answer);
		*err = answer;
		return answer.code;
	}
	*ret = m.result;
	return 1;
}

static str request_line(struct client *c, int64_t id, const char *method, const value *params)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	rpc_write_request(&b, value_int(c->arena, id), str_from(method), params);
	buf_addc(&b, '\n');
	return arena_str(c->arena, buf_str(&b));
}

int client_ask(struct client *c, enum op_id op, const value *params, int64_t timeout_ms,
		const value **ret, struct ov_err *err)
{
	uint64_t deadline = clock_mono_us() + (uint64_t)timeout_ms * 1000;
	int64_t id = c->next_id++;
	int r = send_all(c, request_line(c, id, op_rows[op].name, params), deadline, err);
	str line;

	while (r == 0) {
		r = read_line(c, deadline, &line, err);
		if (r == CLIENT_SIGNAL)
			break;
		if (r == CLIENT_TIMEOUT) {
			ov_fail(err, OV_EUNAVAILABLE, "the daemon did not answer %s within %s",
					op_rows[op].name,
					duration_format_short(c->arena, timeout_ms).p);
			r = ov_next(err, "--timeout 2m     or, when it hangs:     overseer watch");
			break;
		}
		if (r == OV_ELIMIT)
			r = bad_answer(err, r);
		if (r == CLIENT_EVENT) {
			r = take_message(c, line, id, ret, err);
			if (r < 0 && err->code != OV_EINTERNAL)
				return r; /* an orderly refusal: the connection goes on */
		}
		if (r == 1)
			return 0;
	}
	hang_up(c);
	return r;
}

/* The answer of the store as it lies there. */
static int ask_store(struct client *c, const struct op *op, const value *params, const value **ret,
		struct ov_err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	const char *how = op->kind == OP_CHILD ? "--once" : "--read-only";
	const char *argv[] = { NULL, how, "--dir", c->dir, NULL };
	struct capture spec = { .argv = argv, .max = ANSWER_MAX, .timeout_ms = c->timeout_ms };
	int64_t id = c->next_id++;
	int status, r = program_find(c->arena, "overseerd", "OVERSEERD", &argv[0], err);
	str line;

	if (r < 0)
		return r;
	spec.input = request_line(c, id, op->name, params);
	r = spawn_capture(&spec, &out, &status, err);
	if (r < 0)
		return r;
	line = str_trim(buf_str(&out));
	if (line.n == 0)
		return ov_fail(err, OV_EUNAVAILABLE, "%s %s gave no answer (exit status %d)",
				argv[0], how, status);
	r = take_message(c, line, id, ret, err);
	if (r == 0)
		return ov_fail(err, OV_EINTERNAL, "%s %s answered something else", argv[0], how);
	c->read_only = r == 1 && op->kind == OP_READ;
	return r < 0 ? r : 0;
}

int client_ask_daemon(struct client *c, enum op_id op, const value *params, const value **ret,
		struct ov_err *err)
{
	int r = client_connect(c, err);

	return r < 0 ? r : client_ask(c, op, params, c->timeout_ms, ret, err);
}

int client_call(struct client *c, enum op_id id, const value *params, const value **ret,
		struct ov_err *err)
{
	const struct op *op = &op_rows[id];
	bool reads = op->kind == OP_READ || op->kind == OP_CHILD;
	int r = client_connect(c, err);

	if (r == OV_EUNAVAILABLE && reads)
		return ask_store(c, op, params, ret, err);
	if (r < 0)
		return r;
	r = client_ask(c, id, params, c->timeout_ms, ret, err);
	if (r != OV_EUNAVAILABLE || c->fd >= 0 || reads)
		return r;
	/* Cut off in the middle: it may have been done or not. */
	ov_wrap(err, r, "%s may or may not have been done", op->name);
	return ov_next(err, "overseer status");
}

int client_catch_signals(struct client *c, struct ov_err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0 ||
			(c->signal_fd = signalfd(-1, &set, SFD_CLOEXEC)) < 0)
		return ov_fail_errno(err, errno, "catching signals");
	return 0;
}

int client_follow_signals(struct client *c, struct ov_err *err)
{
	c->out_fd = STDOUT_FILENO;
	return client_catch_signals(c, err);
}

int client_signal_status(const struct client *c)
{
	return c->unread ? 0 : 130;
}

static int parse_event(struct arena *a, str line, const value **ret, struct ov_err *err)
{
	struct rpc_msg m;
	int rpc_code, r;
	value *doc;

	r = json_parse(a, arena_str(a, line), NULL, &doc, err);
	if (r == 0)
		r = rpc_parse(doc, &m, &rpc_code, err);
	if (r < 0)
		return bad_answer(err, r);
	if (m.kind != RPC_NOTIFICATION || !str_is(m.method, "event"))
		return 0;
	*ret = m.params;
	return CLIENT_EVENT;
}

int client_next_event(struct client *c, struct arena *a, int timeout_ms, const value **ret,
		struct ov_err *err)
{
	uint64_t deadline = timeout_ms < 0 ? UINT64_MAX
					   : clock_mono_us() + (uint64_t)timeout_ms * 1000;
	int r = 0;

	while (r == 0) {
		str line;

		if (c->events_taken < c->events.n) {
			line = c->events.p[c->events_taken++];
			r = parse_event(a, line, ret, err);
			mem_free((char *)line.p);
			if (c->events_taken == c->events.n)
				c->events_taken = c->events.n = 0;
			continue;
		}
		r = read_line(c, deadline, &line, err);
		if (r < 0)
			hang_up(c);
		if (r != CLIENT_EVENT)
			return r;
		r = parse_event(a, line, ret, err);
	}
	return r;
}
