#include "watch/remedy/remedy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"
#include "sys/host/rand.h"
#include "sys/proc/proc.h"
#include "watch/remedy/keep.h"
#include "watch/remedy/remedy_impl.h"

/* ---- the log ---- */

void remedy_log_name(const char *stamp, char *ret, size_t size)
{
	snprintf(ret, size, VITAL_REMEDIATION "%s.txt", stamp);
}

static void complain(const struct remedy *r, const char *what, int errnum)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	buf_addf(&b,
			"overseer-watch: remediation %s: its log cannot be %s (%s); it goes on "
			"without\n",
			r->ask->stamp, what, strerror(errnum));
	(void)!write(STDERR_FILENO, b.p, b.n);
}

void remedy_write(struct remedy *r, str bytes)
{
	while (r->log >= 0 && bytes.n) {
		ssize_t n = write(r->log, bytes.p, bytes.n);

		if (n >= 0) {
			bytes = str_sub(bytes, (size_t)n, bytes.n);
		} else if (errno != EINTR) {
			complain(r, "written", errno);
			fd_closep(&r->log);
		}
	}
}

void remedy_say(struct remedy *r, const char *fmt, ...)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&b, fmt, ap);
	va_end(ap);
	remedy_write(r, buf_str(&b));
}

static void open_log(struct remedy *r)
{
	const char *dir = path_join(&r->arena, r->ask->dir, "logs");
	char name[128];

	remedy_log_name(r->ask->stamp, name, sizeof(name));
	(void)dir_make(dir, 0700, NULL);
	r->log = file_open(path_join(&r->arena, dir, name),
			O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
	if (r->log < 0)
		complain(r, "opened", errno);
}

/* ---- what is done ---- */

static int remedy_keep(struct remedy *r, const struct kept_checkout *at, const char *suffix,
		str *ret_words, struct ov_err *err)
{
	const char *stamp = r->ask->stamp;

	return keep_checkout(&r->arena,
			&(struct keep_ask){
					.at = *at,
					.name = arena_printf(&r->arena, VITAL_REMEDIATION "%s%s",
							stamp, suffix)
								.p,
					.message = arena_printf(&r->arena,
							"The checkout before remediation %s", stamp)
								   .p,
					.leave_out = r->ask->dir,
					.stop_fd = r->stop_fd,
			},
			ret_words, err);
}

/* The repository's checkout, and the one in which the agent works if that is another. */
static int keep_all(struct remedy *r, str *ret_words, struct ov_err *err)
{
	struct kept_checkout repo = { 0 }, cwd = { 0 };
	str also;
	int got = keep_find(&r->arena, r->ask->repo, r->stop_fd, &repo, err);

	if (got == OV_ENOTFOUND)
		*ret_words = arena_str(&r->arena, str_from(err->msg));
	else if (got == 0)
		got = remedy_keep(r, &repo, "", ret_words, err);
	if (got < 0 && got != OV_ENOTFOUND)
		return got;
	got = keep_find(&r->arena, r->ask->launch->cwd, r->stop_fd, &cwd, err);
	if (got == OV_ENOTFOUND || (got == 0 && repo.top && strcmp(repo.top, cwd.top) == 0))
		return 0;
	if (got == 0)
		got = remedy_keep(r, &cwd, "_dir", &also, err);
	if (got == 0)
		*ret_words = arena_printf(&r->arena, STR_FMT "; " STR_FMT, STR_ARG(*ret_words),
				STR_ARG(also));
	return got;
}

static void write_prompt(struct remedy *r, str kept)
{
	const char *file = r->ask->launch->prompt_file;
	struct prompt_ask ask = { .ask = r->ask,
		.kept = arena_cstr(&r->arena, kept),
		.at = clock_wall(),
		.random = rand_u64() };
	struct ov_err err = { 0 };

	ask.parts_n = remedy_look(r, &ask.parts);
	remedy_prompt_build(&ask, &r->prompt);
	remedy_say(r, "\n==== Prompt ====\n");
	remedy_write(r, buf_str(&r->prompt));
	if (file && file_write_atomic(file, buf_str(&r->prompt), 0600, &err) < 0)
		remedy_say(r, "\n---- the prompt's file: %s ----\n", err.msg);
}

static enum remedy_status mend(struct remedy *r)
{
	struct pollfd stop = { .fd = r->stop_fd, .events = POLLIN };
	struct ov_err err = { 0 };
	str kept;
	int got = keep_all(r, &kept, &err);

	if (got == OV_ESTATE)
		return REMEDY_ENDED;
	remedy_say(r, "Checkout: " STR_FMT "\n", STR_ARG(got < 0 ? str_from(err.msg) : kept));
	write_prompt(r, got < 0 ? STR("it could not be kept") : kept);
	if (got < 0)
		return REMEDY_NOT_KEPT;
	return poll(&stop, 1, 0) > 0 ? REMEDY_ENDED : remedy_agent(r);
}

static const char *const outcomes[] = {
	[REMEDY_OK] = "completed; whether it helped, the daemon's health will tell",
	[REMEDY_FAILED] = "failed: the agent failed twice",
	[REMEDY_NOT_KEPT] = "failed: the checkout could not be kept, so nobody was let into it",
	[REMEDY_ENDED] = "failed: it was ended, since its time was up or the watchdog ends",
};

static enum remedy_status work(const struct remedy_ask *ask, int stop_fd)
{
	struct remedy r = { .ask = ask, .arena = ARENA_INIT, .log = -1, .stop_fd = stop_fd };
	uint64_t began = clock_mono_us(), took;
	enum remedy_status status;

	open_log(&r);
	remedy_say(&r, "Remediation %s\nBegun: " STR_FMT "\nFailure: %s (%s)\n", ask->stamp,
			STR_ARG(time_format(&r.arena, clock_wall())), failure_name(ask->failure),
			failure_help(ask->failure));
	status = mend(&r);
	took = (clock_mono_us() - began) / 1000;
	remedy_say(&r, "\n==== Outcome ====\n%s\nEnded: " STR_FMT "\nDuration: %llu.%llu s\n",
			outcomes[status], STR_ARG(time_format(&r.arena, clock_wall())),
			(unsigned long long)took / 1000, (unsigned long long)took % 1000 / 100);
	return status;
}

/* ---- its process ---- */

/* Nothing of the watchdog's is held: its lock is over with it, its pipes close with it. */
_noreturn_ static void child(const struct remedy_ask *ask, const sigset_t *ends)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), stop_fd;
	char mark[REMEDY_MARK_MAX];

	(void)setsid();
	(void)prctl(PR_SET_NAME, "overseer-remedy");
	(void)signal(SIGPIPE, SIG_IGN);
	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
	}
	(void)close_range(STDERR_FILENO + 1, ~0U, 0);
	stop_fd = signalfd(-1, ends, SFD_CLOEXEC | SFD_NONBLOCK);
	umask(077);
	remedy_mark(ask->dir, ask->stamp, mark);
	(void)setenv(REMEDY_MARK, mark, 1);
	_exit((int)work(ask, stop_fd));
}

int remedy_start(const struct remedy_ask *ask, int *ret_pid, struct ov_err *err)
{
	sigset_t ends, before;
	pid_t pid;

	assert(ask->launch->argv);
	/* Blocked from its first moment on: it is to write down that it was ended. */
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigprocmask(SIG_BLOCK, &ends, &before);
	pid = fork();
	if (pid == 0)
		child(ask, &ends);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return ov_fail_errno(err, errno, "starting a remediation");
	*ret_pid = pid;
	return 0;
}

void remedy_mark(const char *dir, const char *stamp, char ret[static REMEDY_MARK_MAX])
{
	snprintf(ret, REMEDY_MARK_MAX, "%s@%s", stamp, dir);
}

int remedy_sweep(const char *dir, const char *stamp, size_t *ret_killed, struct ov_err *err)
{
	char mark[REMEDY_MARK_MAX];

	remedy_mark(dir, stamp, mark);
	return proc_sweep_env(STR(REMEDY_MARK), str_from(mark), ret_killed, err);
}

/* ---- a person is needed ---- */

static bool is_manual(str name)
{
	return str_starts(name, STR(VITAL_MANUAL)) && str_ends(name, STR(".txt"));
}

static bool later(const struct stat *a, const struct stat *b)
{
	return a->st_mtim.tv_sec != b->st_mtim.tv_sec ? a->st_mtim.tv_sec > b->st_mtim.tv_sec
						      : a->st_mtim.tv_nsec > b->st_mtim.tv_nsec;
}

int manual_find(const char *dir, char ret_name[static 256], char *ret_text, size_t text_size,
		struct ov_err *err)
{
	DIR *d = opendir(dir);
	struct stat newest = { 0 }, st;
	char found[256] = "";
	struct dirent *e;
	ssize_t n = 0;
	int fd;

	if (!d)
		return ov_fail_errno(err, errno, "%s", dir);
	while ((e = readdir(d)))
		if (is_manual(str_from(e->d_name)) &&
				fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
				(!*found || later(&st, &newest))) {
			newest = st;
			snprintf(found, sizeof(found), "%s", e->d_name);
		}
	/* That it is there counts, whatever can be read of it. */
	fd = *found ? file_openat_beneath(dirfd(d), found, O_RDONLY) : -1;
	if (fd >= 0)
		n = read(fd, ret_text, text_size - 1);
	ret_text[MAX(n, (ssize_t)0)] = '\0';
	fd_closep(&fd);
	closedir(d);
	memcpy(ret_name, found, sizeof(found));
	return 0;
}
