#include "drive/tmux/tmux.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/list.h"
#include "base/str.h"
#include "data/id/sha256.h"
#include "drive/tmux/tmux_request_impl.h"
#include "drive/tmux/tmux_wire.h"
#include "sys/file/file.h"
#include "sys/loop/loop.h"
#include "sys/loop/stream.h"
#include "sys/proc/proc.h"

enum {
	HEX = 8,               /* of the hash that tells stores apart */
	QUEUED_MAX = 64 << 20, /* bytes that wait for the server to read them */
	REPLY_MS = 20 * 1000,  /* a server that is silent for so long is given up */
	LINGER_MS = 200,       /* a connection that nobody needs any more */
	CONNECT_TRIES = 5, /* one that ends at once may have met a server that was just ending */
	CONNECT_AGAIN_MS = 30, /* and again, twice as long each time */
	ABANDON_MS = 1000,
};

struct tmux {
	struct loop *loop;
	struct arena strings;
	const char *program;
	struct tmux_names names;
	const char *env[3];

	struct list requests; /* in order; all of them are written when there is a connection */
	unsigned holders;
	int tries; /* to connect, without an answer to any */

	/* the connection */
	struct stream *stream; /* NULL: there is none */
	struct proc child;     /* pidfd -1: there is none */
	int complaints;        /* the child's stderr, or -1 */
	struct tmux_wire wire;
	bool up;
	struct loop_source *reply_timer, *linger_timer, *again_timer;
};

static void connect_now(struct tmux *t);

/* ---- life cycle ---- */

static void on_again(void *user)
{
	connect_now(user);
}

static void disconnect(struct tmux *t)
{
	struct proc_exit ignored;

	loop_timer_off(t->reply_timer);
	if (!t->stream)
		return;
	stream_close(t->stream);
	t->stream = NULL;
	tmux_wire_done(&t->wire);
	fd_closep(&t->complaints);
	t->up = false;
	/* The client only: the server outlives it, and so do its sessions. */
	proc_signal(&t->child, SIGKILL, NULL);
	if (proc_ended(&t->child, ABANDON_MS))
		(void)proc_reap(&t->child, &ignored, NULL);
	proc_done(&t->child);
}

static void on_linger(void *user)
{
	struct tmux *t = user;

	if (!t->holders && list_empty(&t->requests))
		disconnect(t);
}

static void on_silent(void *user);

struct tmux_names tmux_names(struct arena *a, const char *store, const char *tmp)
{
	str hex = str_sub(sha256_hex(a, str_from(store)), 0, HEX);
	struct tmux_names n;

	tmp = tmp ? tmp : getenv("TMUX_TMPDIR");
	n.tmp = arena_cstr(a, str_from(tmp && *tmp ? tmp : "/tmp"));
	n.label = arena_printf(a, "overseer-" STR_FMT, STR_ARG(hex)).p;
	n.prefix = arena_printf(a, "ov-" STR_FMT, STR_ARG(hex)).p;
	n.socket = arena_printf(a, "%s/tmux-%u/%s", n.tmp, (unsigned)getuid(), n.label).p;
	return n;
}

struct tmux *tmux_new(struct loop *l, const struct tmux_options *o)
{
	struct tmux *t = mem_zalloc(1, sizeof(*t));
	struct arena *a = &t->strings;
	const char *path = getenv("PATH");

	t->loop = l;
	t->complaints = -1;
	list_init(&t->requests);
	t->names = tmux_names(a, o->store, o->tmp);
	t->program = arena_cstr(a, str_from(o->program ? o->program : "tmux"));
	t->env[0] = arena_printf(a, "PATH=%s", path ? path : "/usr/local/bin:/usr/bin:/bin").p;
	t->env[1] = arena_printf(a, "TMUX_TMPDIR=%s", t->names.tmp).p;
	t->reply_timer = loop_timer(l, on_silent, t);
	t->linger_timer = loop_timer(l, on_linger, t);
	t->again_timer = loop_timer(l, on_again, t);
	return t;
}

void tmux_free(struct tmux *t)
{
	if (!t)
		return;
	disconnect(t);
	list_each (it, &t->requests)
		tmux_request_free(list_entry(it, struct tmux_request, link));
	loop_source_free(t->reply_timer);
	loop_source_free(t->linger_timer);
	loop_source_free(t->again_timer);
	arena_done(&t->strings);
	mem_free(t);
}

str tmux_session_name(struct arena *a, const struct tmux *t, str name)
{
	return arena_printf(a, "%s-" STR_FMT, t->names.prefix, STR_ARG(name));
}

void tmux_hold(struct tmux *t)
{
	t->holders++;
}

static void look_idle(struct tmux *t)
{
	if (!t->holders && list_empty(&t->requests) && t->stream)
		loop_timer_in(t->linger_timer, LINGER_MS);
}

void tmux_release(struct tmux *t)
{
	assert(t->holders);
	t->holders--;
	look_idle(t);
}

void tmux_forget(struct tmux *t, const void *user)
{
	list_each (it, &t->requests) {
		struct tmux_request *q = list_entry(it, struct tmux_request, link);

		if (q->user == user)
			q->done = NULL;
	}
}

/* ---- the end of requests ---- */

static void finish_all(struct tmux *t, const struct ov_err *err)
{
	struct list mine;

	/* Whoever is told may ask again; that is another try. */
	list_init(&mine);
	list_each (it, &t->requests) {
		list_remove(it);
		list_append(&mine, it);
	}
	while (!list_empty(&mine)) {
		struct tmux_request *q = list_entry(mine.next, struct tmux_request, link);

		list_remove(&q->link);
		tmux_request_fail(q, err);
	}
}

/* What the client said on its way out. */
static str complaint(const struct tmux *t, char *to, size_t size)
{
	ssize_t n = t->complaints < 0 ? 0 : read(t->complaints, to, size);

	return str_trim((str){ to, n > 0 ? (size_t)n : 0 });
}

static void broken(struct tmux *t, const char *why)
{
	struct ov_err err = { 0 };
	char text[256];
	str said = complaint(t, text, sizeof(text));
	bool up = t->up;

	ov_fail(&err, OV_EUNAVAILABLE, "tmux: %s%s" STR_FMT, why, said.n ? ": " : "",
			STR_ARG(said));
	disconnect(t);
	if (up)
		t->tries = 0;
	/* Nothing was carried out by a client that never got as far. */
	if (!up && t->tries < CONNECT_TRIES)
		loop_timer_in(t->again_timer, CONNECT_AGAIN_MS << t->tries);
	else
		finish_all(t, &err);
}

static void on_silent(void *user)
{
	broken(user, "it does not answer");
}

static void on_eof(void *user)
{
	broken(user, "the connection ended");
}

static void on_failed(void *user, const struct ov_err *err)
{
	broken(user, err->msg);
}

/* ---- the connection ---- */

static void watch_answers(struct tmux *t)
{
	if (list_empty(&t->requests))
		loop_timer_off(t->reply_timer);
	else
		loop_timer_in(t->reply_timer, REPLY_MS);
}

static void take_answer(struct tmux *t, const struct tmux_said *said)
{
	struct tmux_request *q;

	if (list_empty(&t->requests))
		return;
	q = list_entry(t->requests.next, struct tmux_request, link);
	if (!tmux_request_answer(q, said))
		return;
	list_remove(&q->link);
	tmux_request_finish(q);
	look_idle(t);
}

/* False when there is no connection any more. */
static bool tmux_take(struct tmux *t, const struct tmux_said *said)
{
	switch (said->kind) {
	case TMUX_NOTICE: return true;
	case TMUX_EXIT: broken(t, "the server let go of us"); return false;
	case TMUX_REFUSED:
		if (!said->ours) {
			broken(t, "it does not start");
			return false;
		}
		break;
	case TMUX_DONE: break;
	}
	t->up = true;
	if (said->ours)
		take_answer(t, said);
	return t->stream;
}

static void on_data(void *user, str bytes)
{
	struct tmux *t = user;
	struct tmux_said said;
	int r;

	tmux_wire_feed(&t->wire, bytes);
	while ((r = tmux_wire_next(&t->wire, &said, NULL)) > 0)
		if (!tmux_take(t, &said))
			return;
	if (r < 0)
		broken(t, "it says more than can be understood");
	else
		watch_answers(t);
}

static const struct stream_ops stream_ops = { .data = on_data, .eof = on_eof, .failed = on_failed };

static int spawn_client(struct tmux *t, int fd, int err_fd, struct ov_err *err)
{
	/*
	 * The first session is the client's own, and goes with it: a server without another one
	 * ends. All of this is one step of the server's, so nothing of it is ever left half done.
	 */
	const char *const argv[] = { t->program, "-L", t->names.label, "-f", "/dev/null", "-u",
		"-C", "new-session", "-A", "-s", t->names.prefix, "-x", "80", "-y", "24", "cat",
		";", "set-option", "destroy-unattached", "on", ";", "set-option", "-g",
		"update-environment", "", ";", "set-option", "-g", "history-limit", "10000", ";",
		"set-option", "-s", "escape-time", "50", ";", "set-option", "-g", "status-right",
		"leave it running: C-b d", ";", "set-option", "-g", "status-left-length", "60",
		NULL };
	struct proc_spec p = PROC_SPEC_INIT;

	p.argv = argv;
	p.env = t->env;
	p.cwd = "/";
	p.in = p.out = fd;
	p.err = err_fd;
	p.new_session = true;
	return proc_spawn(&p, &t->child, err);
}

static int open_client(struct tmux *t, struct ov_err *err)
{
	int pair[2] = { -1, -1 }, complaints[2] = { -1, -1 }, r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
			pipe2(complaints, O_CLOEXEC | O_NONBLOCK) < 0) {
		r = ov_fail_errno(err, errno, "tmux: no socket for its client");
		goto out;
	}
	r = spawn_client(t, pair[1], complaints[1], err);
	if (r < 0) {
		ov_wrap(err, r, "tmux cannot be started");
		goto out;
	}
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	r = stream_open(t->loop, TAKE_FD(pair[0]), &stream_ops, t, QUEUED_MAX, &t->stream, err);
	if (r < 0) {
		proc_signal(&t->child, SIGKILL, NULL);
		proc_done(&t->child);
		goto out;
	}
	t->complaints = TAKE_FD(complaints[0]);
	tmux_wire_init(&t->wire);
out:
	fd_closep(&pair[0]);
	fd_closep(&pair[1]);
	fd_closep(&complaints[0]);
	fd_closep(&complaints[1]);
	return r;
}

static void connect_now(struct tmux *t)
{
	struct ov_err err = { 0 };

	if (t->stream || list_empty(&t->requests))
		return;
	t->tries++;
	if (open_client(t, &err) < 0) {
		t->tries = 0;
		finish_all(t, &err);
		return;
	}
	list_each (it, &t->requests)
		stream_write(t->stream, buf_str(&list_entry(it, struct tmux_request, link)->lines));
	watch_answers(t);
}

void tmux_submit(struct tmux *t, struct tmux_request *q)
{
	list_append(&t->requests, &q->link);
	if (t->stream) {
		stream_write(t->stream, buf_str(&q->lines));
		watch_answers(t);
	} else if (t->requests.next == &q->link) {
		t->tries = 0;
		loop_timer_in(t->again_timer, 0);
	}
}
