/*
 * overseer-run, the shim: owns one run of one agent. It outlives the daemon that started it, keeps
 * the agent's output, passes input and signals on, ends what the agent left behind and records how
 * it all ended. Its lock on the folder is the proof that the run lives. Idle, it sleeps in poll.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "shim/shim_impl.h"

enum { GRACE_MAX_MS = 24 * 60 * 60 * 1000 };

static int64_t clock_ms(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t mono_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

int64_t wall_ms(void)
{
	return clock_ms(CLOCK_REALTIME);
}

static int usage(const char *what)
{
	dprintf(STDERR_FILENO,
			"overseer-run: %s\n"
			"usage: overseer-run --dir DIR --id ID --cwd CWD --max-output BYTES"
			" --stop-grace MS [--interrupt-signal N --interrupt-grace MS] "
			"[--split-errors] [--sandboxed] [--terminal]"
			" [--cgroup DIR [--memory-max BYTES] [--pids-max N]] -- PROGRAM "
			"[ARGUMENT...]\n",
			what);
	return RUN_STATUS_USAGE;
}

/* What the options say, before it is checked. */
struct shim_texts {
	str max, grace, interrupt, interrupt_grace;
};

static bool read_ms(str s, int64_t *ret)
{
	uint64_t ms;

	if (!str_to_u64(s, &ms) || ms > GRACE_MAX_MS)
		return false;
	*ret = (int64_t)ms;
	return true;
}

static int check_options(struct shim *s, const struct shim_texts *t)
{
	uint64_t signo = 0;

	if (!s->dir || !s->id || !*s->id || !s->argv[0])
		return usage("--dir, --id and a program are needed");
	if (!s->cwd || s->cwd[0] != '/')
		return usage("--cwd must be an absolute path");
	if (!str_to_u64(t->max, &s->max_output))
		return usage("--max-output must be a number of bytes");
	if (!read_ms(t->grace, &s->grace_ms))
		return usage("--stop-grace must be at most a day in milliseconds");
	if (t->interrupt.p &&
			(!str_to_u64(t->interrupt, &signo) || signo < 1 ||
					signo > (uint64_t)SIGRTMAX))
		return usage("--interrupt-signal must be the number of a signal");
	if (t->interrupt.p && !read_ms(t->interrupt_grace, &s->interrupt_grace_ms))
		return usage("--interrupt-grace must be at most a day in milliseconds");
	s->interrupt_signal = (int)signo;
	return 0;
}

static int parse_options(struct shim *s, int argc, char **argv)
{
	static const struct option options[] = {
		{ "dir", required_argument, NULL, 'd' },
		{ "id", required_argument, NULL, 'i' },
		{ "cwd", required_argument, NULL, 'c' },
		{ "max-output", required_argument, NULL, 'm' },
		{ "stop-grace", required_argument, NULL, 'g' },
		{ "interrupt-signal", required_argument, NULL, 's' },
		{ "interrupt-grace", required_argument, NULL, 't' },
		{ "split-errors", no_argument, NULL, 'e' },
		{ "sandboxed", no_argument, NULL, 'b' },
		{ "terminal", no_argument, NULL, 'T' },
		{ "cgroup", required_argument, NULL, 'G' },
		{ "memory-max", required_argument, NULL, 'M' },
		{ "pids-max", required_argument, NULL, 'P' },
		{ 0 },
	};
	struct shim_texts t = { 0 };

	for (int c; (c = getopt_long(argc, argv, "+", options, NULL)) != -1;) {
		switch (c) {
		case 'd': s->dir = optarg; break;
		case 'i': s->id = optarg; break;
		case 'c': s->cwd = optarg; break;
		case 'm': t.max = str_from(optarg); break;
		case 'g': t.grace = str_from(optarg); break;
		case 's': t.interrupt = str_from(optarg); break;
		case 't': t.interrupt_grace = str_from(optarg); break;
		case 'e': s->split_errors = true; break;
		case 'b': s->sandboxed = true; break;
		case 'T': s->terminal.on = true; break;
		case 'G': s->cgroup = optarg; break;
		case 'M': s->memory_max = optarg; break;
		case 'P': s->pids_max = optarg; break;
		default: return usage("unknown option");
		}
	}
	s->argv = argv + optind;
	return check_options(s, &t);
}

/* From here on no signal and no hang-up of whoever started us can end the run by accident. */
static int detach(struct shim *s)
{
	sigset_t set;

	close_range(3, ~0U, 0);
	while (fcntl(STDERR_FILENO, F_GETFD) < 0)
		if (open("/dev/null", O_RDWR) < 0)
			return RUN_STATUS_FAILED;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (s->terminal.on)
		sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_SETMASK, &set, NULL);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a full quota is an error of write, not our end */
	signal(SIGCHLD, SIG_DFL);
	setsid(); /* fails when we lead a session already, which is as well */
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signals < 0)
		return record_complain("cannot watch signals");
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return record_complain("cannot adopt orphans");
	return 0;
}

/* Bound by its bare name from inside the folder, since a socket's path is at most 107 bytes. */
static int listen_socket(struct shim *s)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX, .sun_path = RUN_SOCKET };
	mode_t mask = umask(0177);
	int r = -1;

	unlink(RUN_SOCKET); /* of a shim that died before it started anything */
	s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listener >= 0)
		r = bind(s->listener, (struct sockaddr *)&at, sizeof(at));
	umask(mask);
	if (r < 0 || listen(s->listener, SHIM_CONNS) < 0)
		return record_complain("cannot open the run's socket");
	return 0;
}

static int set_up(struct shim *s)
{
	int r = detach(s);

	if (r)
		return r;
	r = s->terminal.on ? terminal_hold(s) : 0;
	if (r)
		return r;
	s->dirfd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dirfd < 0 || fchdir(s->dirfd) < 0)
		return record_complain("cannot open the run's folder");
	r = record_lock(s);
	if (r)
		return r;
	r = listen_socket(s);
	if (r)
		return r;
	if (kept_open(&s->output, RUN_OUTPUT) < 0)
		return record_complain("cannot open the output file");
	if (s->split_errors && kept_open(&s->errors, RUN_ERRORS) < 0)
		return record_complain("cannot open the file of errors");
	if (setenv(RUN_ENV, s->id, 1) < 0)
		return record_complain("cannot set the environment");
	/* Whoever finds us by the lock can talk to us: the socket is there already. */
	r = record_identity(s);
	if (r)
		return r;
	return record_started(s);
}

static void read_signals(struct shim *s)
{
	struct signalfd_siginfo info;

	while (read(s->signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo == SIGWINCH)
			terminal_resized(s);
		else if (info.ssi_signo != SIGCHLD)
			agent_stop(s);
	agent_reap(s);
}

static void turn(struct shim *s)
{
	enum {
		SIGNALS,
		GROUP,
		OUTPUT,
		ERRORS,
		INPUT,
		EXEC,
		LISTENER,
		PANE,
		CONNS,
		COUNT = CONNS + SHIM_CONNS
	};
	struct pollfd p[COUNT];
	int64_t wait = -1;
	int n;

	/* poll skips negative fds; the waiting side of a full pipe is asked for only then. */
	p[SIGNALS] = (struct pollfd){ s->signals, POLLIN, 0 };
	p[GROUP] = (struct pollfd){ s->group.events, POLLPRI, 0 };
	p[OUTPUT] = (struct pollfd){ terminal_is_full(s) ? -1 : s->output.pipe, POLLIN, 0 };
	p[ERRORS] = (struct pollfd){ s->errors.pipe, POLLIN, 0 };
	p[INPUT] = (struct pollfd){ s->input.n ? s->to_agent : -1, POLLOUT, 0 };
	p[EXEC] = (struct pollfd){ s->exec_status, POLLIN, 0 };
	p[LISTENER] = (struct pollfd){ s->listener, POLLIN, 0 };
	p[PANE] = (struct pollfd){ s->terminal.pane, terminal_events(s), 0 };
	for (size_t i = 0; i < SHIM_CONNS; i++)
		p[CONNS + i] = (struct pollfd){ s->conns[i].fd, POLLIN, 0 };
	if (s->due >= 0)
		wait = MAX(s->due - mono_ms(), (int64_t)0);
	if (descendants_due(s) >= 0)
		wait = MIN(wait < 0 ? INT64_MAX : wait,
				MAX(descendants_due(s) - mono_ms(), (int64_t)0));
	n = poll(p, COUNT, (int)wait);
	if (n < 0)
		return;
	if (p[OUTPUT].revents)
		kept_read(s, &s->output);
	if (p[ERRORS].revents)
		kept_read(s, &s->errors);
	if (p[INPUT].revents)
		agent_feed(s);
	if (p[PANE].revents)
		terminal_serve(s, p[PANE].revents);
	if (p[EXEC].revents)
		agent_exec_status(s);
	for (size_t i = 0; i < SHIM_CONNS; i++)
		if (p[CONNS + i].revents && s->conns[i].fd == p[CONNS + i].fd)
			control_serve(s, &s->conns[i]);
	if (p[LISTENER].revents)
		control_accept(s);
	/* Read, or it would be told again at once. */
	if (p[GROUP].revents)
		group_is_populated(s);
	if (p[SIGNALS].revents || p[GROUP].revents)
		read_signals(s);
	if (s->due >= 0 && mono_ms() >= s->due)
		shim_step(s);
	descendants_turn(s, n > 0);
}

#ifdef SHIM_SANITIZED
/* The search for leaks takes seconds, and would take them at the end of every run. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

int main(int argc, char **argv)
{
	struct shim s = {
		.dirfd = -1,
		.lock = -1,
		.listener = -1,
		.signals = -1,
		.group = { .dir = -1, .events = -1 },
		.terminal = { .pane = -1 },
		.output = { .pipe = -1, .file = -1 },
		.errors = { .pipe = -1, .file = -1 },
		.to_agent = -1,
		.exec_status = -1,
		.due = -1,
	};
	int null, r;

	if (argc > 1 && strcmp(argv[1], RUN_CONFINE) == 0)
		return confine_main(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], RUN_WITHOUT_KEYS) == 0)
		return without_keys_main(argv + 2);
	if (argc > 1 && strcmp(argv[1], RUN_HOST) == 0)
		return programs_host();
	for (size_t i = 0; i < SHIM_CONNS; i++)
		s.conns[i].fd = -1;
	r = parse_options(&s, argc, argv);
	if (r)
		return r;
	r = set_up(&s);
	if (r)
		return r;
	group_open(&s);
	agent_start(&s);
	descendants_begin(&s);
	/*
	 * The end of stderr tells the daemon that all went well; nothing ties us to it any longer.
	 */
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			close(fd);
	for (;;)
		turn(&s);
}
