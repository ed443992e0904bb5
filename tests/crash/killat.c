/*
 * Preloaded into the daemon by the crash tests: every call of libc that writes, changes files or
 * tells others passes here on its way, is counted by the place it comes from, and can be the last
 * one. The orders and the counts are in a mapped file, see killat.h. Only the daemon is meant:
 * what it starts does not inherit the module.
 *
 * A module like this has state of its process by nature; it is linked into nothing.
 */
#undef _FILE_OFFSET_BITS /* open and open64 are two symbols here, and both are wanted */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/crash/killat.h"

enum { FRAMES = 10, RAW_FRAMES = 24 };

static struct {
	struct killat_map *map; /* NULL: this process is not the one that is meant */
	pid_t pid;
	const void *self; /* where this module begins, to leave its own frames out */
	volatile char busy;
} killat;

static void begin(void) __attribute__((constructor));

static bool is_daemon(void)
{
	char exe[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	const char *name;

	if (n <= 0)
		return false;
	exe[n] = '\0';
	name = strrchr(exe, '/');
	return name && strcmp(name + 1, "overseerd") == 0;
}

static void begin(void)
{
	const char *file = getenv("OV_KILLAT");
	void *warm[4], *p;
	Dl_info info;
	int fd;

	if (!file || !is_daemon())
		return;
	fd = open(file, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		abort();
	p = mmap(NULL, sizeof(struct killat_map), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED || ((struct killat_map *)p)->magic != KILLAT_MAGIC)
		abort();
	/* Its children are not meant. */
	unsetenv("LD_PRELOAD");
	unsetenv("OV_KILLAT");
	/* The first backtrace loads a library: not in the middle of something. */
	(void)!backtrace(warm, 4);
	if (dladdr((const void *)(uintptr_t)begin, &info))
		killat.self = info.dli_fbase;
	killat.pid = getpid();
	killat.map = p;
}

/* ---- where a call comes from ---- */

static uint64_t hash_text(const char *s)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * UINT64_C(1099511628211);
	return h ? h : 1;
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "?";
}

/* Addresses differ from start to start; module and offset do not within one build. */
static void describe(char *ret, size_t size, const char *call, const char *detail)
{
	void *raw[RAW_FRAMES];
	int n = backtrace(raw, RAW_FRAMES), used = 0;
	size_t at = (size_t)snprintf(ret, size, "%s%s%s", call, *detail ? ":" : "", detail);

	for (int i = 0; i < n && used < FRAMES && at < size; i++) {
		Dl_info info;

		if (!dladdr(raw[i], &info) || info.dli_fbase == killat.self)
			continue;
		at += (size_t)snprintf(ret + at, size - at, " %s+%zx", base_name(info.dli_fname),
				(size_t)((const char *)raw[i] - (const char *)info.dli_fbase));
		used++;
	}
}

static struct killat_site *site_of(struct killat_map *m, const char *text)
{
	uint64_t id = hash_text(text);
	struct killat_site *s;

	for (uint64_t i = 0; i < m->n_sites; i++)
		if (m->sites[i].id == id)
			return &m->sites[i];
	if (m->n_sites == KILLAT_SITES)
		return NULL;
	s = &m->sites[m->n_sites];
	s->id = id;
	s->first = m->calls;
	snprintf(s->text, sizeof(s->text), "%s", text);
	m->n_sites++;
	return s;
}

/* ---- the end ---- */

static void die(void)
{
	for (;;)
		syscall(SYS_kill, killat.pid, SIGKILL);
}

static bool is_last(struct killat_map *m, const struct killat_site *s)
{
	if (m->at_call > 0 && --m->at_call == 0)
		return true;
	return m->at_site && s->id == m->at_site && m->at_passage > 0 && --m->at_passage == 0;
}

/*
 * Counts a passage, and may not return. Otherwise true when the process is to die after the call.
 */
static bool pass(const char *call, const char *detail, enum killat_how *ret_how)
{
	struct killat_map *m = killat.map;
	char text[KILLAT_TEXT];
	struct killat_site *s;
	bool last = false;

	*ret_how = KILLAT_BEFORE;
	if (!m || getpid() != killat.pid)
		return false;
	describe(text, sizeof(text), call, detail);
	while (__atomic_test_and_set(&killat.busy, __ATOMIC_ACQUIRE))
		;
	m->calls++;
	s = site_of(m, text);
	if (s) {
		s->count++;
		last = is_last(m, s);
	} else {
		m->lost++;
	}
	if (last) {
		m->died = m->calls;
		m->died_site = s->id;
		*ret_how = (enum killat_how)m->how;
		if (*ret_how == KILLAT_BEFORE)
			die();
	}
	__atomic_clear(&killat.busy, __ATOMIC_RELEASE);
	return last;
}

/* ---- the calls ---- */

#define NEXT(call)                                                            \
	static __typeof__(&call) next;                                        \
	enum killat_how how;                                                  \
	if (!next)                                                            \
		next = (__typeof__(&call))(uintptr_t)dlsym(RTLD_NEXT, #call); \
	(void)how

/* A call as it is: passed, made, and possibly the last one. */
#define PLAIN(type, call, params, args)            \
	type call params                           \
	{                                          \
		NEXT(call);                        \
		bool last = pass(#call, "", &how); \
		type r = next args;                \
		if (last)                          \
			die();                     \
		return r;                          \
	}

/* A call that moves n bytes: it can also be cut short. */
#define BYTES(call, params, args)                  \
	ssize_t call params                        \
	{                                          \
		NEXT(call);                        \
		bool last = pass(#call, "", &how); \
		ssize_t r;                         \
		if (how == KILLAT_HALF)            \
			n /= 2;                    \
		r = next args;                     \
		if (last)                          \
			die();                     \
		return r;                          \
	}

BYTES(write, (int fd, const void *p, size_t n), (fd, p, n))
BYTES(pwrite, (int fd, const void *p, size_t n, off_t at), (fd, p, n, at))
BYTES(pwrite64, (int fd, const void *p, size_t n, off64_t at), (fd, p, n, at))
BYTES(send, (int fd, const void *p, size_t n, int flags), (fd, p, n, flags))
BYTES(sendto,
		(int fd, const void *p, size_t n, int flags, const struct sockaddr *to,
				socklen_t to_n),
		(fd, p, n, flags, to, to_n))
BYTES(copy_file_range, (int in, off64_t *in_at, int out, off64_t *out_at, size_t n, unsigned flags),
		(in, in_at, out, out_at, n, flags))
BYTES(sendfile64, (int out, int in, off64_t *at, size_t n), (out, in, at, n))

PLAIN(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n))
PLAIN(ssize_t, pwritev, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at))
PLAIN(ssize_t, pwritev2, (int fd, const struct iovec *v, int n, off_t at, int flags),
		(fd, v, n, at, flags))
PLAIN(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags))
PLAIN(int, fsync, (int fd), (fd))
PLAIN(int, fdatasync, (int fd), (fd))
PLAIN(int, ftruncate, (int fd, off_t n), (fd, n))
PLAIN(int, ftruncate64, (int fd, off64_t n), (fd, n))
PLAIN(int, rename, (const char *from, const char *to), (from, to))
PLAIN(int, renameat, (int d1, const char *from, int d2, const char *to), (d1, from, d2, to))
PLAIN(int, renameat2, (int d1, const char *from, int d2, const char *to, unsigned flags),
		(d1, from, d2, to, flags))
PLAIN(int, unlink, (const char *path), (path))
PLAIN(int, unlinkat, (int d, const char *path, int flags), (d, path, flags))
PLAIN(int, rmdir, (const char *path), (path))
PLAIN(int, mkdir, (const char *path, mode_t mode), (path, mode))
PLAIN(int, mkdirat, (int d, const char *path, mode_t mode), (d, path, mode))
PLAIN(int, link, (const char *from, const char *to), (from, to))
PLAIN(int, linkat, (int d1, const char *from, int d2, const char *to, int flags),
		(d1, from, d2, to, flags))
PLAIN(int, symlink, (const char *to, const char *path), (to, path))
PLAIN(int, chmod, (const char *path, mode_t mode), (path, mode))
PLAIN(int, fchmod, (int fd, mode_t mode), (fd, mode))
PLAIN(int, futimens, (int fd, const struct timespec t[2]), (fd, t))
PLAIN(int, bind, (int fd, const struct sockaddr *to, socklen_t n), (fd, to, n))
PLAIN(int, connect, (int fd, const struct sockaddr *to, socklen_t n), (fd, to, n))
PLAIN(int, flock, (int fd, int op), (fd, op))
PLAIN(int, kill, (pid_t pid, int signo), (pid, signo))
PLAIN(int, pidfd_send_signal, (int fd, int signo, siginfo_t *info, unsigned flags),
		(fd, signo, info, flags))
PLAIN(pid_t, fork, (void), ())

/* Opening writes only where it may make the file or empty it. */
#define OPENS(call, params, args)                                                   \
	int call params                                                             \
	{                                                                           \
		NEXT(call);                                                         \
		bool last = (flags & (O_CREAT | O_TRUNC)) && pass(#call, "", &how); \
		mode_t mode = 0;                                                    \
		int r;                                                              \
		if (flags & (O_CREAT | __O_TMPFILE)) {                              \
			va_list ap;                                                 \
			va_start(ap, flags);                                        \
			mode = va_arg(ap, mode_t);                                  \
			va_end(ap);                                                 \
		}                                                                   \
		r = next args;                                                      \
		if (last)                                                           \
			die();                                                      \
		return r;                                                           \
	}

OPENS(open, (const char *path, int flags, ...), (path, flags, mode))
OPENS(open64, (const char *path, int flags, ...), (path, flags, mode))
OPENS(openat, (int d, const char *path, int flags, ...), (d, path, flags, mode))
OPENS(openat64, (int d, const char *path, int flags, ...), (d, path, flags, mode))

/*
 * Which of a program's commands is started: its first word that is no option and no option's value.
 */
static const char *sub_command(char *const argv[])
{
	for (size_t i = 1; argv[0] && argv[i]; i++) {
		if (argv[i][0] != '-')
			return argv[i];
		if (strcmp(argv[i], "-c") == 0 || strcmp(argv[i], "-C") == 0) {
			if (!argv[++i])
				break;
		}
	}
	return "";
}

/* All programs are started from one place: what is started tells them apart. */
int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *fa,
		const posix_spawnattr_t *at, char *const argv[], char *const env[])
{
	NEXT(posix_spawn);
	bool git = strcmp(base_name(path), "git") == 0, last;
	char detail[80];
	int r;

	snprintf(detail, sizeof(detail), "%.40s%s%.30s", base_name(path), git ? "-" : "",
			git ? sub_command(argv) : "");
	last = pass("posix_spawn", detail, &how);
	r = next(pid, path, fa, at, argv, env);
	if (last)
		die();
	return r;
}
