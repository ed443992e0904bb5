/*
 * The programs that git runs on files: filters and merge drivers. An agent may have written them,
 * so they run in a sandbox. It is made when the first of them is asked for, once per git command,
 * and ends with it:
 *
 * 	keeper	starts git, makes the sandbox, and ends whatever is left when git has ended
 * 	asker	is what git starts instead of the program: it hands its descriptors to the host
 * 		and waits
 * 	host	is inside the sandbox, starts the program with them, and says how it ended
 *
 * Git's own children could not make a sandbox: they are confined by Landlock, which forbids mounts.
 * Where there is no sandbox, the keeper still ends what outlives the command.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "shim/shim_impl.h"

enum {
	SANDBOX_MAX = 4 << 20, /* bytes of its words */
	LEAVE_MS = 500,        /* for a sandbox to end by itself */
	RETRY_MS = 20,
	GIVE_UP_MS = 10 * 1000,
};

extern char **environ;

static int complain(const char *what)
{
	dprintf(STDERR_FILENO, "overseer-run: programs of git: %s: %s\n", what, strerror(errno));
	return RUN_STATUS_FAILED;
}

static int watch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void unwatch_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Strings that end with NUL each, one after another, as many as there are. */
static char **split_words(char *text, size_t n, size_t max)
{
	char **words = mem_zalloc(n + 1, sizeof(*words));
	size_t k = 0;

	for (size_t at = 0; at < n && k < max; at += strlen(text + at) + 1)
		words[k++] = text + at;
	return words;
}

/* The file, with a NUL after it; NULL with errno set. */
static char *read_all(int fd, size_t max, size_t *ret_n)
{
	struct stat st;
	char *p;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return NULL;
	if (st.st_size <= 0 || (size_t)st.st_size > max) {
		errno = EFBIG;
		return NULL;
	}
	p = mem_zalloc((size_t)st.st_size + 1, 1);
	n = pread(fd, p, (size_t)st.st_size, 0);
	if (n != st.st_size) {
		errno = n < 0 ? errno : EIO;
		mem_free(p);
		return NULL;
	}
	*ret_n = (size_t)n;
	return p;
}

/* ---- the keeper ---- */

struct keeper {
	const char *sandbox; /* the file with its words; "": there is none */
	int ask;             /* at which programs are asked for; -1: nowhere, or the host has it */
	int hold;            /* the other end: the host ends when it is closed by all */
	int signals;
	pid_t git, host; /* 0: not started, or ended */
	int status;      /* of git */
	bool failed;     /* the sandbox could not be made, or did not live to the end */
	bool lenient;    /* that is no matter */
};

static void programs_fail(struct keeper *k)
{
	k->failed = !k->lenient;
	if (k->failed && k->git)
		kill(k->git, SIGTERM);
}

static void start_sandbox(struct keeper *k)
{
	int file = open_file(k->sandbox, O_RDONLY);
	size_t n = 0;
	char *text = read_all(file, SANDBOX_MAX, &n);
	pid_t pid = text ? fork() : -1;

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);
		char **words = split_words(text, n, n);

		unwatch_signals();
		if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
				dup2(k->ask, RUN_HOST_FD) < 0)
			_exit(complain("descriptors"));
		if (k->ask == RUN_HOST_FD)
			fcntl(RUN_HOST_FD, F_SETFD, 0);
		execvp(words[0], words);
		_exit(complain(words[0]));
	}
	if (pid < 0) {
		complain(k->sandbox);
		programs_fail(k);
	}
	k->host = pid > 0 ? pid : 0;
	mem_free(text);
	if (file >= 0)
		close(file);
	/* Only the host has it from now on: whoever waits for one that has ended sees that. */
	close(k->ask);
	k->ask = -1;
}

/* False when nobody is left. */
static bool reap(struct keeper *k)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == k->git) {
			k->git = 0;
			k->status = status;
		}
		if (pid != k->host)
			continue;
		k->host = 0;
		if (status == 0 && k->hold < 0)
			continue;
		/*
		 * Git may take files as they are where their filter fails: that must not be
		 * the result.
		 */
		programs_fail(k);
	}
	return pid == 0 || errno != ECHILD;
}

static void pass_signals_on(struct keeper *k)
{
	struct signalfd_siginfo info;

	while (read(k->signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGCHLD && k->git)
			kill(k->git, (int)info.ssi_signo);
}

static void wait_for_git(struct keeper *k)
{
	while (reap(k) && k->git) {
		struct pollfd p[] = { { .fd = k->signals, .events = POLLIN },
			{ .fd = k->ask, .events = POLLIN } };

		if (poll(p, ARRAY_LEN(p), -1) < 0)
			continue;
		if (p[0].revents)
			pass_signals_on(k);
		if (p[1].revents)
			start_sandbox(k);
	}
}

/*
 * The host ends when git has; everything in the sandbox ends with it. Others, and who does not,
 * are killed.
 */
static bool end_the_rest(struct keeper *k)
{
	int64_t began = mono_ms(), now = began;

	if (k->hold >= 0)
		close(k->hold);
	k->hold = -1;
	while (reap(k)) {
		struct pollfd p = { .fd = k->signals, .events = POLLIN };

		if (!k->host || now - began > LEAVE_MS)
			agent_kill_children();
		poll(&p, 1, RETRY_MS);
		pass_signals_on(k);
		now = mono_ms();
		if (now - began > GIVE_UP_MS)
			return false;
	}
	return true;
}

static _Noreturn void shim_programs_keep(struct keeper *k)
{
	bool ended;

	wait_for_git(k);
	ended = end_the_rest(k);
	if (!ended || k->failed) {
		dprintf(STDERR_FILENO, "overseer-run: programs of git: %s\n",
				ended ? "their sandbox could not be made, or has ended"
				      : "what they left behind cannot be ended");
		exit(RUN_STATUS_PROGRAMS);
	}
	if (WIFSIGNALED(k->status)) {
		unwatch_signals();
		signal(WTERMSIG(k->status), SIG_DFL);
		raise(WTERMSIG(k->status));
	}
	exit(WIFEXITED(k->status) ? WEXITSTATUS(k->status) : RUN_STATUS_FAILED);
}

int programs_keep(const char *sandbox, bool lenient)
{
	struct keeper k = { .sandbox = sandbox, .lenient = lenient };
	int pair[2] = { -1, -1 };
	char number[16];

	unsetenv(RUN_ASK_ENV);
	if (*sandbox && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return complain("socket");
	k.signals = watch_signals();
	if (k.signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return complain("keeping them");
	k.git = fork();
	if (k.git < 0)
		return complain("fork");
	if (k.git > 0) {
		k.ask = pair[0];
		k.hold = pair[1];
		shim_programs_keep(&k);
	}
	/* Git's side. */
	unwatch_signals();
	if (pair[1] >= 0) {
		snprintf(number, sizeof(number), "%d", pair[1]);
		if (fcntl(pair[1], F_SETFD, 0) < 0 || setenv(RUN_ASK_ENV, number, 1) < 0)
			return complain("socket");
	}
	return 0;
}

/* ---- the asker ---- */

enum { SENT_FDS = 5 }; /* 0, 1, 2, what is to be run, and where its end is to be told */

struct header {
	uint32_t argc, envc;
};

static bool put_words(int fd, char **words, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		size_t size = strlen(words[i]) + 1;

		if (write(fd, words[i], size) != (ssize_t)size)
			return false;
	}
	return true;
}

static uint32_t programs_count(char **words)
{
	uint32_t n = 0;

	while (words[n])
		n++;
	return n;
}

static int write_down(char **argv)
{
	struct header h = { programs_count(argv), programs_count(environ) };
	int fd = memfd_create("program", MFD_CLOEXEC);

	if (fd < 0 || write(fd, &h, sizeof(h)) != (ssize_t)sizeof(h) ||
			!put_words(fd, argv, h.argc) || !put_words(fd, environ, h.envc))
		return -1;
	return fd;
}

static int send_fds(int to, const int fds[SENT_FDS])
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(SENT_FDS * sizeof(int))] = { 0 };
	char byte = 0;
	struct iovec one = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr m = { .msg_iov = &one,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	ssize_t n;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(SENT_FDS * sizeof(int));
	memcpy(CMSG_DATA(c), fds, SENT_FDS * sizeof(int));
	do
		n = sendmsg(to, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : -1;
}

int programs_ask(char **argv)
{
	const char *number = getenv(RUN_ASK_ENV);
	int to = number ? atoi(number) : -1, end[2], what, status;
	ssize_t n;

	if (to <= STDERR_FILENO)
		return -1;
	unsetenv(RUN_ASK_ENV);
	what = write_down(argv);
	if (what < 0 || pipe2(end, O_CLOEXEC) < 0 ||
			send_fds(to, (const int[]){ 0, 1, 2, what, end[1] }) < 0)
		return complain("asking for one");
	/* The other end of what we hold must see when the program closes its own. */
	close(to);
	close(end[1]);
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	do
		n = read(end[0], &status, sizeof(status));
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(status)) {
		errno = ECONNRESET;
		return complain("the sandbox");
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- the host ---- */

struct guest {
	pid_t pid;
	int end;
};

struct host {
	int signals;
	VEC(struct guest) guests;
	bool failed; /* one could not be started */
};

/* 1: there they are; 0: nobody is left to ask; -1: it is none of ours. */
static int receive(int fds[SENT_FDS])
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(SENT_FDS * sizeof(int))];
	char byte;
	struct iovec one = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr m = { .msg_iov = &one,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };
	struct cmsghdr *c;
	ssize_t n = recvmsg(RUN_HOST_FD, &m, MSG_CMSG_CLOEXEC);

	if (n <= 0)
		return n < 0 && errno == EINTR ? -1 : 0;
	c = CMSG_FIRSTHDR(&m);
	if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(SENT_FDS * sizeof(int)))
		return -1;
	memcpy(fds, CMSG_DATA(c), SENT_FDS * sizeof(int));
	return 1;
}

static _Noreturn void become(const int fds[SENT_FDS])
{
	struct header h;
	size_t n = 0;
	char *text = read_all(fds[3], SANDBOX_MAX, &n), **words;

	unwatch_signals();
	signal(SIGPIPE, SIG_DFL);
	for (int i = 0; i <= STDERR_FILENO; i++)
		if (dup2(fds[i], i) < 0)
			_exit(complain("descriptors"));
	if (!text || n < sizeof(h))
		_exit(complain("what is to be run"));
	memcpy(&h, text, sizeof(h));
	words = split_words(text + sizeof(h), n - sizeof(h), n);
	if (programs_count(words) != h.argc + h.envc || !h.argc)
		_exit(complain("what is to be run"));
	environ = words + h.argc;
	words = mem_zalloc(h.argc + 1, sizeof(*words));
	memcpy(words, environ - h.argc, h.argc * sizeof(*words));
	execvp(words[0], words);
	_exit(complain(words[0]));
}

static void host_start(struct host *o, int fds[SENT_FDS])
{
	pid_t pid = fork();

	if (pid == 0)
		become(fds);
	if (pid > 0)
		vec_push(&o->guests, ((struct guest){ pid, fds[4] }));
	else
		o->failed = true;
	for (int i = 0; i < SENT_FDS; i++)
		if (pid < 0 || i != 4)
			close(fds[i]);
}

static void host_reap(struct host *o)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (size_t i = 0; i < o->guests.n; i++)
			if (o->guests.p[i].pid == pid) {
				(void)!write(o->guests.p[i].end, &status, sizeof(status));
				close(o->guests.p[i].end);
				vec_remove_swap(&o->guests, i);
				break;
			}
}

int programs_host(void)
{
	struct host o = { .signals = watch_signals() };

	signal(SIGPIPE, SIG_IGN);
	if (o.signals < 0 || leave_keys() < 0 || fcntl(RUN_HOST_FD, F_SETFD, FD_CLOEXEC) < 0)
		return complain("host");
	for (;;) {
		struct pollfd p[] = { { .fd = o.signals, .events = POLLIN },
			{ .fd = RUN_HOST_FD, .events = POLLIN } };
		struct signalfd_siginfo info;
		int fds[SENT_FDS], r;

		if (poll(p, ARRAY_LEN(p), -1) < 0)
			continue;
		while (read(o.signals, &info, sizeof(info)) == sizeof(info))
			;
		host_reap(&o);
		if (!p[1].revents)
			continue;
		r = receive(fds);
		if (r > 0)
			host_start(&o, fds);
		else if (r == 0)
			return o.failed ? RUN_STATUS_FAILED : 0;
	}
}
