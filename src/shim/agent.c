#include "shim/shim_impl.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Newer than the headers of the oldest system that this is built on. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

enum {
	SWEEP_GRACE_MS = 1000,    /* at most, for descendants that outlive the agent */
	SWEEP_RETRY_MS = 100,     /* a second look; the first is taken at each child's end */
	SWEEP_GIVE_UP_MS = 10000, /* for what cannot be killed */
	RECORD_RETRY_MS = 100,
	RECORD_RETRY_MAX_MS = 10000,
};

/* Why the agent could not be executed, from the forked child. */
struct exec_failure {
	int step, errnum;
};

enum { STEP_CWD, STEP_FDS, STEP_KEYS, STEP_EXEC };

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* In the child: everything between fork and exec. Signal-safe calls only, as habit. */
_noreturn_ static void become_agent(struct shim *s, const int io[3], int report, pid_t shim)
{
	struct exec_failure f = { .step = STEP_FDS };
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;

	setsid();
	/* The agent must not outlive its shim; the shim may have died before we asked for that. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != shim)
		_exit(RUN_STATUS_FAILED);
	if (s->terminal.on)
		(void)ioctl(io[1], TIOCSCTTY, 0);
	for (int i = 1; i <= SIGRTMAX; i++)
		sigaction(i, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(io[0], 0) >= 0 && dup2(io[1], 1) >= 0 && dup2(io[2], 2) >= 0) {
		f.step = STEP_CWD;
		if (chdir(s->cwd) == 0) {
			f.step = STEP_KEYS;
			if (!s->sandboxed || leave_keys() == 0) {
				f.step = STEP_EXEC;
				execvp(s->argv[0], s->argv);
			}
		}
	}
	f.errnum = errno;
	if (write(report, &f, sizeof(f)) < 0)
		_exit(RUN_STATUS_FAILED);
	_exit(127);
}

static int make_memory(void)
{
	int fd = memfd_create(RUN_PROMPT, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	/* Older than that flag (6.3). */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(RUN_PROMPT, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd;
}

/*
 * What the agent reads is a copy that nobody can change: the file itself could be opened again for
 * writing, by its name in /proc, from within a sandbox that does not show it.
 */
static int copy_sealed(int from)
{
	int fd = make_memory();
	char text[64 * 1024];
	ssize_t n = 0;

	while (fd >= 0 && (n = read(from, text, sizeof(text))) > 0)
		if (write(fd, text, (size_t)n) != n) {
			n = -1;
			break;
		}
	if (fd >= 0 && n == 0 && lseek(fd, 0, SEEK_SET) == 0 &&
			fcntl(fd, F_ADD_SEALS,
					F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) ==
					0)
		return fd;
	close_fd(&fd);
	return -1;
}

/* The prompt file if there is one, else a pipe that the socket feeds. */
static int open_input(struct shim *s)
{
	int file = open_file(RUN_PROMPT, O_RDONLY), fds[2], in;

	if (file >= 0) {
		in = copy_sealed(file);
		close_fd(&file);
		return in;
	}
	if (errno != ENOENT)
		return -1;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	s->to_agent = fds[1];
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	return fds[0];
}

/* A pipe whose end of ours is polled, and of which the agent gets the other one. */
static int open_pipe(struct kept *k, int *ret)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	k->pipe = fds[0];
	*ret = fds[1];
	return 0;
}

/* The three files of the agent and the pipe for its last words before exec. */
static int open_files(struct shim *s, int io[3], int report[2])
{
	if (pipe2(report, O_CLOEXEC) < 0)
		return -1;
	if (s->terminal.on)
		return terminal_open(s, io);
	io[0] = open_input(s);
	if (io[0] < 0 || open_pipe(&s->output, &io[1]) < 0)
		return -1;
	if (s->split_errors)
		return open_pipe(&s->errors, &io[2]);
	io[2] = fcntl(io[1], F_DUPFD_CLOEXEC, 3);
	return io[2] < 0 ? -1 : 0;
}

void agent_start(struct shim *s)
{
	int io[3] = { -1, -1, -1 }, report[2] = { -1, -1 };
	pid_t self = getpid();

	if (open_files(s, io, report) < 0) {
		snprintf(s->message, sizeof(s->message), "cannot open the agent's pipes: %s",
				strerror(errno));
		s->agent = -1;
	} else {
		s->agent = group_fork(s);
		if (s->agent == 0)
			become_agent(s, io, report[1], self);
		if (s->agent < 0)
			snprintf(s->message, sizeof(s->message), "cannot fork: %s",
					strerror(errno));
	}
	for (size_t i = 0; i < ARRAY_LEN(io); i++)
		close_fd(&io[i]);
	close_fd(&report[1]);
	s->exec_status = report[0];
	s->started = s->agent > 0;
	s->grouped = s->started && group_is_on(s);
	if (!s->started) {
		/* Recorded like any other end: the folder says what happened to it. */
		s->agent = 0;
		s->ended_at = wall_ms();
		s->phase = PH_RECORD;
		s->due = mono_ms();
	}
}

/* Closed by a successful exec, or the child's last words. */
void agent_exec_status(struct shim *s)
{
	struct exec_failure f;
	ssize_t n = s->exec_status < 0 ? 0 : read(s->exec_status, &f, sizeof(f));

	close_fd(&s->exec_status);
	if (n != sizeof(f))
		return;
	s->started = false;
	snprintf(s->message, sizeof(s->message), "%s %s: %s",
			f.step == STEP_EXEC                   ? "cannot execute"
					: f.step == STEP_CWD  ? "cannot enter the working folder"
					: f.step == STEP_KEYS ? "cannot make a keyring for"
							      : "cannot set up the files of",
			f.step == STEP_CWD ? s->cwd : s->argv[0], strerror(f.errnum));
}

void agent_feed(struct shim *s)
{
	while (s->to_agent >= 0 && s->input.n > 0) {
		ssize_t n = write(s->to_agent, s->input.p, s->input.n);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) { /* nobody reads any more */
			close_fd(&s->to_agent);
			break;
		}
		buf_consume(&s->input, (size_t)n);
	}
	buf_done(&s->input);
	if (s->input_closing)
		close_fd(&s->to_agent);
}

/* The parent of a live process; 0 for one that has ended or cannot be read. */
static pid_t parent_of(const char *pid)
{
	char path[32], text[512], *p, state;
	ssize_t n;
	int fd, ppid;

	snprintf(path, sizeof(path), "/proc/%.10s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	p = strrchr(text, ')');
	if (!p || sscanf(p, ") %c %d", &state, &ppid) != 2 || state == 'Z' || state == 'X')
		return 0;
	return ppid;
}

static pid_t a_child_of(pid_t parent)
{
	DIR *d = opendir("/proc");
	pid_t found = 0;

	for (struct dirent *e; d && !found && (e = readdir(d));)
		if (isdigit((unsigned char)e->d_name[0]) && parent_of(e->d_name) == parent)
			found = (pid_t)atoi(e->d_name);
	if (d)
		closedir(d);
	return found;
}

/*
 * Right after the fork the group does not exist yet; then a signal waits for the child itself. A
 * sandbox has one child, the first process of its namespace, which leads the session that the agent
 * is in and does not mind signals itself; the sandbox would end by one, and the agent with
 * it, unasked.
 */
int agent_signal(struct shim *s, int signo)
{
	pid_t inner = s->sandboxed ? a_child_of(s->agent) : 0;

	if (inner > 0 && kill(-inner, signo) == 0)
		return 0;
	if (kill(-s->agent, signo) == 0)
		return 0;
	return kill(s->agent, signo);
}

int agent_interrupt(struct shim *s)
{
	return s->interrupt_signal ? agent_signal(s, s->interrupt_signal) : -1;
}

static void ask_to_end(struct shim *s)
{
	agent_signal(s, SIGTERM);
	s->phase = PH_STOPPING;
	s->due = mono_ms() + s->grace_ms;
}

void agent_stop(struct shim *s)
{
	if (s->phase != PH_RUNNING)
		return;
	group_freeze(s, false);
	if (agent_interrupt(s) == 0) {
		s->phase = PH_INTERRUPTED;
		s->due = mono_ms() + s->interrupt_grace_ms;
	} else {
		ask_to_end(s);
	}
	agent_signal(s, SIGCONT); /* a paused agent has to hear it */
}

void agent_hang_up(struct shim *s)
{
	if (s->phase != PH_RUNNING)
		return;
	group_freeze(s, false);
	agent_signal(s, SIGHUP);
	agent_signal(s, SIGCONT);
	s->phase = PH_INTERRUPTED;
	s->due = mono_ms() + s->grace_ms;
}

bool agent_note(struct shim *s, pid_t pid)
{
	for (size_t i = 0; i < s->signalled.n; i++)
		if (s->signalled.p[i] == pid)
			return false;
	vec_push(&s->signalled, pid);
	if (pid != s->agent)
		s->swept++;
	return true;
}

/* A direct child's pid stays its own until we reap it, so this can reach no stranger. */
static void signal_child(struct shim *s, pid_t pid, int signo)
{
	if (!agent_note(s, pid) && signo != SIGKILL)
		return;
	kill(pid, signo);
	if (signo == SIGTERM)
		kill(pid, SIGCONT);
}

/*
 * Only direct children: when one dies, what it had started becomes our child (we are the
 * subreaper), its death wakes us, and the next round reaches it, however far it had got away.
 */
static void signal_children(struct shim *s, int signo)
{
	pid_t self = getpid();
	DIR *d = opendir("/proc");

	if (!d)
		return;
	for (struct dirent *e; (e = readdir(d));)
		if (isdigit((unsigned char)e->d_name[0]) && parent_of(e->d_name) == self)
			signal_child(s, (pid_t)atoi(e->d_name), signo);
	closedir(d);
}

void agent_kill_children(void)
{
	pid_t self = getpid();
	DIR *d = opendir("/proc");

	for (struct dirent *e; d && (e = readdir(d));)
		if (isdigit((unsigned char)e->d_name[0]) && parent_of(e->d_name) == self)
			kill((pid_t)atoi(e->d_name), SIGKILL);
	if (d)
		closedir(d);
}

static void kill_all(struct shim *s)
{
	int64_t now = mono_ms();

	if (s->phase != PH_SWEEP_KILL) {
		s->phase = PH_SWEEP_KILL;
		s->give_up = now + SWEEP_GIVE_UP_MS;
	}
	signal_children(s, SIGKILL);
	group_kill(s);
	s->due = now + SWEEP_RETRY_MS;
}

static void agent_finish(struct shim *s)
{
	group_close(s);
	kept_end(s, &s->output);
	kept_end(s, &s->errors);
	s->phase = PH_RECORD;
	s->due = mono_ms();
}

static void agent_ended(struct shim *s, int status)
{
	s->agent = 0;
	s->status = status;
	s->ended_at = wall_ms();
	s->ran_ms = mono_ms() - s->began;
	agent_exec_status(s);
	buf_done(&s->input);
	close_fd(&s->to_agent);
	if (s->phase < PH_SWEEP_TERM) {
		s->phase = PH_SWEEP_TERM;
		s->due = mono_ms() + MIN(s->grace_ms, (int64_t)SWEEP_GRACE_MS);
	}
}

static void agent_forget(struct shim *s, pid_t pid)
{
	for (size_t i = 0; i < s->signalled.n; i++)
		if (s->signalled.p[i] == pid) {
			vec_remove_swap(&s->signalled, i);
			return;
		}
}

/* Reaps whoever ended, the agent or orphans of its making, and goes on with the sweep. */
void agent_reap(struct shim *s)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		agent_forget(s, pid);
		if (pid == s->agent)
			agent_ended(s, status);
	}
	if (s->phase != PH_SWEEP_TERM && s->phase != PH_SWEEP_KILL)
		return;
	/* No child means no descendant; in the group there may be others that were moved to it. */
	if (pid < 0 && errno == ECHILD && !group_is_populated(s))
		agent_finish(s);
	else if (s->phase == PH_SWEEP_TERM)
		signal_children(s, SIGTERM);
	else
		kill_all(s);
}

static void try_record(struct shim *s)
{
	int r = record_exit(s);

	if (r == 0 || r == -ENOENT) { /* or the folder is gone: nobody can ever ask */
		unlink(RUN_SOCKET);
		exit(r == 0 ? 0 : RUN_STATUS_FAILED);
	}
	s->backoff_ms = s->backoff_ms ? MIN(s->backoff_ms * 2, (int64_t)RECORD_RETRY_MAX_MS)
				      : (int64_t)RECORD_RETRY_MS;
	s->due = mono_ms() + s->backoff_ms;
}

void shim_step(struct shim *s)
{
	switch (s->phase) {
	case PH_RUNNING: break;
	case PH_INTERRUPTED: ask_to_end(s); break;
	case PH_STOPPING:
	case PH_SWEEP_TERM: kill_all(s); break;
	case PH_SWEEP_KILL:
		if (s->agent == 0 && mono_ms() >= s->give_up) {
			snprintf(s->message, sizeof(s->message),
					"%zu processes that the agent left could not be ended",
					s->signalled.n);
			agent_finish(s);
		} else {
			kill_all(s);
		}
		break;
	case PH_RECORD: try_record(s); break;
	}
}
