/*
 * An agent with a terminal. The shim was started in one, which people look at and type into; the
 * agent gets another one that is ours, and everything passes through here: so its output is kept as
 * that of any other run is, and a viewer that goes away takes nothing along that was not recorded.
 */
#include "shim/shim_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum { PIECE = 4096, QUEUED = 64 * 1024 };

/* What the terminal around ours put there for its own. */
static const char *const outer[] = { "TMUX", "TMUX_PANE", "TERM_PROGRAM", "TERM_PROGRAM_VERSION" };

static void copy_size(struct shim *s)
{
	struct winsize size;

	if (s->terminal.pane >= 0 && s->output.pipe >= 0 &&
			ioctl(s->terminal.pane, TIOCGWINSZ, &size) == 0)
		(void)ioctl(s->output.pipe, TIOCSWINSZ, &size);
}

void terminal_resized(struct shim *s)
{
	if (s->terminal.on)
		copy_size(s);
}

int terminal_hold(struct shim *s)
{
	struct termios raw;

	s->terminal.pane = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	if (s->terminal.pane < 0 || tcgetattr(s->terminal.pane, &raw) < 0)
		return record_complain("no terminal");
	cfmakeraw(&raw);
	if (tcsetattr(s->terminal.pane, TCSANOW, &raw) < 0 ||
			fcntl(s->terminal.pane, F_SETFL, O_NONBLOCK) < 0)
		return record_complain("cannot set up the terminal");
	for (size_t i = 0; i < ARRAY_LEN(outer); i++)
		unsetenv(outer[i]);
	return 0;
}

int terminal_open(struct shim *s, int io[3])
{
	char name[64];
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);

	if (master < 0)
		return -1;
	s->output.pipe = master;
	if (grantpt(master) < 0 || unlockpt(master) < 0 ||
			ptsname_r(master, name, sizeof(name)) != 0)
		return -1;
	copy_size(s);
	s->to_agent = fcntl(master, F_DUPFD_CLOEXEC, 3);
	io[1] = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	io[2] = fcntl(io[1], F_DUPFD_CLOEXEC, 3);
	/* What was to be read from standard input is; else people and the socket type. */
	io[0] = open_file(RUN_PROMPT, O_RDONLY);
	if (io[0] < 0 && errno == ENOENT)
		io[0] = fcntl(io[1], F_DUPFD_CLOEXEC, 3);
	return s->to_agent < 0 || io[0] < 0 || io[1] < 0 || io[2] < 0 ? -1 : 0;
}

/* Nobody is there any more, and nobody ever will be. */
static void hung_up(struct shim *s)
{
	close(s->terminal.pane);
	s->terminal.pane = -1;
	buf_done(&s->terminal.shown);
	snprintf(s->message, sizeof(s->message), "its terminal was closed");
	agent_hang_up(s);
}

static void terminal_flush(struct shim *s)
{
	struct buf *b = &s->terminal.shown;

	while (s->terminal.pane >= 0 && b->n > 0) {
		ssize_t n = write(s->terminal.pane, b->p, b->n);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) {
			hung_up(s);
			return;
		}
		buf_consume(b, (size_t)n);
	}
	buf_done(b);
}

void terminal_show(struct shim *s, const char *p, size_t n)
{
	if (s->terminal.pane < 0)
		return;
	buf_add(&s->terminal.shown, p, n);
	terminal_flush(s);
}

/* Who looks slower than the agent writes holds it up, as any terminal does. */
bool terminal_is_full(const struct shim *s)
{
	return s->terminal.pane >= 0 && s->terminal.shown.n >= QUEUED;
}

short terminal_events(const struct shim *s)
{
	return (short)((s->input.n < QUEUED ? POLLIN : 0) | (s->terminal.shown.n ? POLLOUT : 0));
}

void terminal_serve(struct shim *s, short events)
{
	char piece[PIECE];
	ssize_t n;

	if (events & POLLOUT)
		terminal_flush(s);
	if (s->terminal.pane < 0 || !(events & (POLLIN | POLLHUP | POLLERR)))
		return;
	n = read(s->terminal.pane, piece, sizeof(piece));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		hung_up(s);
		return;
	}
	if (s->to_agent >= 0) {
		buf_add(&s->input, piece, (size_t)n);
		agent_feed(s);
	}
}
