/*
 * `overseer hook`: what an agent's hooks call. It stands between an agent and its work, so it waits
 * for nobody, says nothing that was not asked for, and fails by leaving things as they are. All
 * that it touches lies in the folder of the run, which the agent can write to as well: nothing
 * there is trusted beyond what the agent could do anyway, and no link leads out of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/read/hook.h"
#include "agent/table/hook_scope.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "cli/call/command.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"

/* The name of a file of hook.h within its folder. */
#define IN_DIR(path) (&(path)[sizeof(HOOK_DIR)])

enum { INPUT_WAIT_MS = 10 * 1000 }; /* an agent writes its call at once, or not at all */

/* The folder of the hooks of this run. */
struct box {
	struct arena *arena;
	int fd; /* or -1: there is none */
};

struct next {
	str dispatch, text;
};

static int box_open(const char *run_dir)
{
	_cleanup_(fd_closep) int dir = open(run_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return dir < 0 ? -1 : file_openat_beneath(dir, HOOK_DIR, O_PATH | O_DIRECTORY);
}

/* What is open as standard input and output must not become a file of ours by chance. */
static void hold_standard_fds(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* All of it, bounded in size and, where nobody ends it, in time. */
static str read_input(struct arena *a, int fd, size_t max)
{
	uint64_t until = clock_mono_us() + INPUT_WAIT_MS * 1000ULL, now;
	struct buf b = BUF_INIT;
	str s;

	while (b.n <= max && (now = clock_mono_us()) < until) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t n;

		buf_reserve(&b, 64 << 10);
		if (poll(&p, 1, (int)((until - now) / 1000)) < 0 && errno != EINTR)
			break;
		if (p.revents == 0)
			continue;
		n = read(fd, b.p + b.n, 64 << 10);
		if (n <= 0 && !(n < 0 && (errno == EINTR || errno == EAGAIN)))
			break;
		b.n += n > 0 ? (size_t)n : 0;
	}
	s = arena_str(a, buf_str(&b));
	buf_done(&b);
	return s;
}

static bool box_read(const struct box *b, const char *name, str *ret)
{
	_cleanup_(fd_closep) int fd = file_openat_beneath(b->fd, name, O_RDONLY | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > HOOK_FILE_MAX)
		return false;
	*ret = read_input(b->arena, fd, HOOK_FILE_MAX);
	return true;
}

/* As one write of one line, so that hooks that run at the same time do not mix. */
static void append(const struct box *b, str line, off_t max)
{
	_cleanup_(fd_closep) int fd = file_openat_beneath(b->fd, IN_DIR(HOOK_EVENTS),
			O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK);
	struct buf out = BUF_INIT;
	struct stat st;
	char last = '\n';

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
			st.st_size + (off_t)line.n >= max)
		return;
	/*
	 * A disk that was full may have left half a line. Another hook that is writing just now
	 * looks the same: what comes of that is an empty line, which means nothing.
	 */
	if (st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) != 1)
		last = '\n';
	if (last != '\n')
		buf_addc(&out, '\n');
	buf_adds(&out, line);
	buf_addc(&out, '\n');
	/* Whoever cannot be told is not: the agent goes on. */
	if (write(fd, out.p, out.n) < 0)
		errno = 0;
	buf_done(&out);
}

static off_t events_size(const struct box *b)
{
	struct stat st;

	return fstatat(b->fd, IN_DIR(HOOK_EVENTS), &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_size : 0;
}

/* The last line of a full file, by whoever comes first. */
static void tell_dropped(const struct box *b)
{
	_cleanup_(fd_closep) int fd = file_openat_beneath(b->fd, "dropped",
			O_WRONLY | O_CREAT | O_EXCL);

	if (fd >= 0)
		append(b, hook_line_dropped(b->arena, clock_wall()), HOOK_EVENTS_MAX);
}

static void record(const struct box *b, const struct hook_call *c, bool denied, str taken)
{
	str line = hook_line(b->arena, c, clock_wall(), denied, taken);
	off_t room = HOOK_EVENTS_MAX - (taken.n ? HOOK_LINE_MAX : HOOK_EVENTS_KEEP);

	if (events_size(b) + (off_t)line.n < room)
		append(b, line, room);
	else if (!taken.n)
		tell_dropped(b);
}

static bool box_rename(const struct box *b, const char *from, const char *to)
{
	return renameat2(b->fd, from, b->fd, to, RENAME_NOREPLACE) == 0;
}

static char *taken_name(struct arena *a, str dispatch)
{
	return arena_cstr(a, arena_printf(a, "%s." STR_FMT, IN_DIR(HOOK_NEXT), STR_ARG(dispatch)));
}

/*
 * What is to be handed over, if we are the one to do so: of several that try, the one whose rename
 * succeeds. It is read again under its new name, since another one may have been laid
 * there between.
 */
static bool take_next(const struct box *b, struct next *ret)
{
	const char *at = IN_DIR(HOOK_NEXT);
	struct next n = { 0 }, before;
	str text;

	for (int i = 0; i < 3; i++) {
		before = n;
		if (!box_read(b, at, &text) ||
				hook_next_read(b->arena, text, &n.dispatch, &n.text, NULL) < 0)
			return false;
		if (i > 0 && str_eq(n.dispatch, before.dispatch)) {
			*ret = n;
			return true;
		}
		if (!box_rename(b, at, taken_name(b->arena, n.dispatch)))
			return false;
		at = taken_name(b->arena, n.dispatch);
	}
	return false;
}

static bool answer(str text)
{
	while (text.n) {
		ssize_t n = write(STDOUT_FILENO, text.p, text.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		text = str_sub(text, (size_t)n, text.n);
	}
	return true;
}

static void handle(const struct box *b, const struct hook_call *c)
{
	const struct agent_format *format = NULL;
	struct tool_scope scope;
	struct next next = { 0 };
	struct hook_reply reply;
	bool scoped = false;
	str text;

	if (str_is(c->event, "PreToolUse"))
		scoped = box_read(b, IN_DIR(HOOK_SCOPE), &text) &&
				hook_scope_read(b->arena, text, &format, &scope, NULL) == 0;
	if (hook_may_go_on(c))
		(void)take_next(b, &next);
	reply = hook_answer(b->arena, c, format, scoped ? &scope : NULL, next.text);
	if (!answer(reply.text) && next.dispatch.n) {
		/* Nobody heard it: it is still to be handed over. */
		(void)box_rename(b, taken_name(b->arena, next.dispatch), IN_DIR(HOOK_NEXT));
		next = (struct next){ 0 };
	}
	record(b, c, reply.denied, next.dispatch);
}

int cmd_hook(struct cli *c, struct ov_err *err _unused_)
{
	const char *run_dir = getenv(HOOK_RUN_DIR);
	struct box b = { .arena = c->arena, .fd = -1 };
	struct hook_call call = { 0 };
	str input;

	if (!run_dir || run_dir[0] != '/')
		return 0;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	hold_standard_fds();
	input = read_input(c->arena, STDIN_FILENO, HOOK_INPUT_MAX);
	if (hook_read(c->arena, input, c->args_n ? c->args[0] : STR(""), &call, NULL) < 0)
		call = (struct hook_call){ .event = c->args_n ? c->args[0] : STR("unreadable") };
	b.fd = box_open(run_dir);
	handle(&b, &call);
	fd_closep(&b.fd);
	return 0;
}
