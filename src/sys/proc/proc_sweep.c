#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "sys/file/file.h"
#include "sys/proc/peer.h"
#include "sys/proc/proc.h"

enum {
	MAX_ROUNDS = 64,
	/* A round finds nothing new: once may be chance, with a fork between two looks. */
	CLEAN_ROUNDS = 2,
	/*
	 * A program in the middle of exec shows no environment, and one that ended before it was
	 * looked at may have left a child: there is another look, so often.
	 */
	UNSURE_ROUNDS = 20,
	UNSURE_MS = 300, /* and so long */
	ROUND_NS = 1000000,
	/* Looks at the youngest processes alone, which are faster than those who fork and end. */
	CHASE_LOOKS = 40,
	CHASE_BACK = 4,
	DEATH_MS = 2000,
	MAX_ENVIRON = 16 * 1024 * 1024,
	/* of the flags of the kernel's own threads, which have no environment */
	PF_KTHREAD = 0x00200000,
};

static const struct timespec round_pause = { .tv_nsec = ROUND_NS };

/*
 * First everybody is stopped, then everybody is killed: who is killed while others run on gives
 * them reason to start something new. While its parent is only stopped, a child is known by it,
 * whatever its own environment shows.
 */
struct sweep {
	struct buf entry; /* NAME=VALUE */
	struct buf text;  /* of one process; reused */
	VEC(struct proc) caught;
	VEC(int) ended, ended_then; /* in this round and the one before; zombies, mostly */
	size_t at;                  /* in ended_then */
	size_t unsure; /* seen in this round: alive, with an environment that shows nothing */
	size_t gone;   /* seen in this round, and ended before they could be looked at */
	size_t fled; /* the same of those that belonged to us, and ended before they were stopped */
	size_t killed, stuck;
	bool found;
	str program, folder;      /* proc_find_at, proc_list_at */
	const char *const *names; /* proc_list_named */
	const struct proc_known *known;
	size_t known_n;
	size_t name_n; /* bytes of NAME= in the entry */
	int *pids;
	size_t pids_n, pids_max;
	uint64_t since; /* in clock ticks since boot */
};

/* The whole of /proc/PID/environ; false when it cannot be read (not ours, or gone). */
static bool read_environ(struct sweep *sw, int pid)
{
	_cleanup_(fd_closep) int fd = -1;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	buf_clear(&sw->text);
	while (sw->text.n < MAX_ENVIRON) {
		ssize_t n;

		buf_reserve(&sw->text, 16 * 1024);
		n = read(fd, sw->text.p + sw->text.n, sw->text.cap - sw->text.n - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		if (n == 0)
			break;
		sw->text.n += (size_t)n;
	}
	return true;
}

static bool environ_has(str text, str entry)
{
	str part;

	while (str_split(&text, '\0', &part))
		if (str_eq(part, entry))
			return true;
	return false;
}

/* State and parent from /proc/PID/stat; false when the process is gone. */
/* By its flags, not by its parent: in a container anybody may be process 2. */
static bool read_stat(int pid, char *ret_state, int *ret_parent, bool *ret_kernels)
{
	_cleanup_(fd_closep) int fd = -1;
	char path[40], text[512];
	unsigned int flags;
	const char *p;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	p = strrchr(text, ')'); /* the name before it may contain anything */
	if (!p || sscanf(p, ") %c %d %*d %*d %*d %*d %u", ret_state, ret_parent, &flags) != 3)
		return false;
	*ret_kernels = flags & PF_KTHREAD;
	return true;
}

static bool is_caught(const struct sweep *sw, int pid)
{
	for (size_t i = 0; i < sw->caught.n; i++)
		if (sw->caught.p[i].pid == pid)
			return true;
	return false;
}

/* Which value it has of the name, if any; empty: none. */
static str environ_value(const struct sweep *sw)
{
	str text = buf_str(&sw->text), name = str_sub(buf_str(&sw->entry), 0, sw->name_n), part;

	while (str_split(&text, '\0', &part))
		if (str_starts(part, name))
			return str_sub(part, name.n, part.n);
	return (str){ 0 };
}

static bool is_ours(int pid)
{
	char path[40];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return stat(path, &st) == 0 && st.st_uid == geteuid();
}

/* Its real user, also of one that may not be looked at; the folder of such a one is root's. */
static bool is_of_our_user(int pid)
{
	_cleanup_(fd_closep) int fd = -1;
	char path[40], text[2048];
	const char *line;
	unsigned uid;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	line = strstr(text, "\nUid:");
	return line && sscanf(line, "\nUid: %u", &uid) == 1 && (uid == geteuid() || geteuid() == 0);
}

static bool is_known(struct sweep *sw, int pid)
{
	str other;

	for (size_t i = 0; i < sw->known_n; i++) {
		if (sw->known[i].pid != pid)
			continue;
		if (proc_start_time(pid) != sw->known[i].start_time || !is_of_our_user(pid))
			return false;
		/* What cannot be read names nobody else. */
		other = read_environ(sw, pid) ? environ_value(sw) : (str){ 0 };
		return !other.n ||
				str_eq(other, str_sub(buf_str(&sw->entry), sw->name_n, SIZE_MAX));
	}
	return false;
}

/* Does it belong to those we look for? Counts it as unsure when that cannot be seen yet. */
static bool belongs(struct sweep *sw, int pid)
{
	bool kernels;
	char state;
	int parent;

	if (!read_stat(pid, &state, &parent, &kernels) || state == 'Z' || state == 'X')
		return false;
	if (is_caught(sw, parent) || is_known(sw, pid))
		return true;
	if (!read_environ(sw, pid))
		return false;
	if (sw->text.n == 0 && !kernels)
		sw->unsure++;
	return environ_has(buf_str(&sw->text), buf_str(&sw->entry));
}

/*
 * Of one that has ended: was it like that in the round before? Whom such a one left was there to be
 * seen. Both rounds go from the youngest to the oldest.
 */
static bool ended_before(struct sweep *sw, int pid)
{
	vec_push(&sw->ended, pid);
	while (sw->at < sw->ended_then.n && sw->ended_then.p[sw->at] > pid)
		sw->at++;
	return sw->at < sw->ended_then.n && sw->ended_then.p[sw->at] == pid;
}

typedef void sweep_fn(struct sweep *sw, int pid);

static void stop_one(struct sweep *sw, int pid)
{
	struct proc p = { .pid = pid, .pidfd = pidfd_open(pid, 0) };
	bool ours, ended;

	if (p.pidfd < 0) {
		/* EINVAL: its number is still that of a session or a group. */
		sw->gone += (errno == ESRCH || errno == EINVAL) && !ended_before(sw, pid);
		return;
	}
	ours = belongs(sw, pid);
	ended = proc_ended(&p, 0);
	/* Alive after it was looked at, so what was seen is of the process behind the pidfd. */
	if (ours && !ended && proc_signal(&p, SIGSTOP, NULL) == 0) {
		vec_push(&sw->caught, p);
		return;
	}
	sw->fled += ours;
	sw->gone += !ours && ended && !ended_before(sw, pid);
	proc_done(&p);
}

/* In a sandbox anybody can have any environment, and none of ours are left there. */
static void find_one(struct sweep *sw, int pid)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	sw->found = sw->found || (belongs(sw, pid) && !peer_is_inside(&a, pid));
}

enum { NAME_SIZE = 32 };

static str read_name(int pid, char text[static NAME_SIZE])
{
	_cleanup_(fd_closep) int fd = -1;
	char path[40];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, NAME_SIZE);
	return n > 0 ? str_trim((str){ text, (size_t)n }) : (str){ 0 };
}

static bool has_name(int pid, str program)
{
	char text[NAME_SIZE];

	return str_eq(read_name(pid, text), program);
}

static bool is_beneath(int pid, str folder)
{
	char path[40], cwd[4096];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/cwd", pid);
	n = readlink(path, cwd, sizeof(cwd));
	return n >= (ssize_t)folder.n && str_starts((str){ cwd, (size_t)n }, folder) &&
			(n == (ssize_t)folder.n || cwd[folder.n] == '/');
}

/* Most processes have another name, which costs the least to see. */
static void find_at_one(struct sweep *sw, int pid)
{
	str text, part;
	bool excepted = false;

	if (sw->found || !has_name(pid, sw->program) || !is_beneath(pid, sw->folder) ||
			proc_start_time(pid) < sw->since || !read_environ(sw, pid))
		return;
	text = buf_str(&sw->text);
	while (str_split(&text, '\0', &part))
		excepted |= str_starts(part, buf_str(&sw->entry));
	sw->found = !excepted;
}

static int sweep_round(struct sweep *sw, sweep_fn *each, struct ov_err *err)
{
	VEC(int) pids = { 0 };
	struct dirent *e;
	DIR *d = opendir("/proc");

	if (!d)
		return ov_fail_errno(err, errno, "open /proc");
	while ((e = readdir(d)))
		if (isdigit((unsigned char)e->d_name[0]))
			vec_push(&pids, atoi(e->d_name));
	closedir(d);
	sw->unsure = sw->gone = sw->fled = sw->at = 0;
	vec_done(&sw->ended_then);
	sw->ended_then = sw->ended;
	memset(&sw->ended, 0, sizeof(sw->ended));
	/* The youngest first: who forks and ends, again and again, is gone soonest. */
	for (size_t i = pids.n; i-- > 0;)
		if (pids.p[i] != getpid() && !is_caught(sw, pids.p[i]))
			each(sw, pids.p[i]);
	vec_done(&pids);
	return 0;
}

/* The number that was given last; 0: it is not known. */
static int youngest(int fd)
{
	char text[128];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	const char *last;

	if (n <= 0)
		return 0;
	text[n] = '\0';
	last = strrchr(text, ' ');
	return last ? atoi(last + 1) : 0;
}

/* A round takes longer than such a process lives; who is gone here, the next round tells. */
static void chase(struct sweep *sw)
{
	_cleanup_(fd_closep) int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	size_t ended = sw->ended.n, gone = sw->gone;

	for (int i = 0; fd >= 0 && i < CHASE_LOOKS; i++) {
		int last = youngest(fd);

		for (int pid = last; pid > 1 && pid > last - CHASE_BACK; pid--)
			if (pid != getpid() && !is_caught(sw, pid))
				stop_one(sw, pid);
	}
	sw->ended.n = ended;
	sw->gone = gone;
}

static int64_t mono_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/*
 * Stops everybody, until nobody new is found. Whoever forks and ends without a pause is seen in
 * each round, if only as somebody who is gone; so a round without any is what tells that nobody
 * is left.
 */
static int catch_all(struct sweep *sw, bool *ret_sure, struct ov_err *err)
{
	int64_t began = mono_ms();
	int clean = 0, unsure = 0, r;

	for (int i = 0; i < MAX_ROUNDS; i++) {
		size_t before = sw->caught.n;

		r = sweep_round(sw, stop_one, err);
		if (r < 0)
			return r;
		if (sw->caught.n > before || sw->fled || sw->gone)
			chase(sw);
		clean = sw->caught.n == before && !sw->fled ? clean + 1 : 0;
		unsure = clean && (sw->unsure || sw->gone) ? unsure + 1 : 0;
		*ret_sure = unsure == 0;
		if (clean >= CLEAN_ROUNDS &&
				(unsure == 0 || unsure >= UNSURE_ROUNDS ||
						(!sw->unsure && mono_ms() - began > UNSURE_MS)))
			return 0;
		nanosleep(&round_pause, NULL);
	}
	return ov_fail(err, OV_EIO, "processes with %s keep appearing (%zu found)",
			buf_cstr(&sw->entry), sw->caught.n);
}

/* Also after an error: whoever was stopped must not stay so. */
static void kill_all(struct sweep *sw)
{
	for (size_t i = 0; i < sw->caught.n; i++)
		(void)proc_signal(&sw->caught.p[i], SIGKILL, NULL);
	for (size_t i = 0; i < sw->caught.n; i++) {
		if (proc_ended(&sw->caught.p[i], DEATH_MS))
			sw->killed++;
		else
			sw->stuck++;
		proc_done(&sw->caught.p[i]);
	}
	vec_done(&sw->caught);
}

static int sweep_run(struct sweep *sw, bool *ret_sure, struct ov_err *err)
{
	int r = catch_all(sw, ret_sure, err);

	kill_all(sw);
	if (r == 0 && sw->stuck)
		r = ov_fail(err, OV_EIO, "%zu processes with %s do not die (%zu killed)", sw->stuck,
				buf_cstr(&sw->entry), sw->killed);
	return r;
}

static void sweep_init(struct sweep *sw, str name, str value)
{
	assert(name.n > 0 && value.n > 0);
	*sw = (struct sweep){ 0 };
	buf_adds(&sw->entry, name);
	buf_addc(&sw->entry, '=');
	sw->name_n = sw->entry.n;
	buf_adds(&sw->entry, value);
}

static void sweep_done(struct sweep *sw)
{
	buf_done(&sw->entry);
	buf_done(&sw->text);
	vec_done(&sw->ended);
	vec_done(&sw->ended_then);
}

int proc_sweep_env(str name, str value, size_t *ret_killed, struct ov_err *err)
{
	bool sure;

	return proc_sweep_known(name, value, NULL, 0, ret_killed, &sure, err);
}

int proc_sweep_known(str name, str value, const struct proc_known *known, size_t n,
		size_t *ret_killed, bool *ret_sure, struct ov_err *err)
{
	struct sweep sw;
	bool sure = false;
	int r;

	sweep_init(&sw, name, value);
	sw.known = known;
	sw.known_n = n;
	r = sweep_run(&sw, &sure, err);
	if (r == 0) {
		*ret_killed = sw.killed;
		*ret_sure = sure;
	}
	sweep_done(&sw);
	return r;
}

int proc_find_env(str name, str value, bool *ret_found, struct ov_err *err)
{
	struct sweep sw;
	int r;

	sweep_init(&sw, name, value);
	for (int i = 0;; i++) {
		r = sweep_round(&sw, find_one, err);
		if (r < 0 || sw.found || !sw.unsure || i >= UNSURE_ROUNDS)
			break;
		nanosleep(&round_pause, NULL);
	}
	if (r == 0)
		*ret_found = sw.found;
	sweep_done(&sw);
	return r;
}

bool proc_find_at(str program, str folder, str but, int seconds)
{
	struct sweep sw = { .program = program, .folder = folder };
	struct timespec up;
	int r;

	clock_gettime(CLOCK_BOOTTIME, &up);
	if (up.tv_sec > seconds)
		sw.since = (uint64_t)(up.tv_sec - seconds) * (uint64_t)sysconf(_SC_CLK_TCK);
	buf_adds(&sw.entry, but);
	buf_addc(&sw.entry, '=');
	r = sweep_round(&sw, find_at_one, NULL);
	sweep_done(&sw);
	return r == 0 && sw.found;
}

static void list_at_one(struct sweep *sw, int pid)
{
	if (sw->pids_n < sw->pids_max && has_name(pid, sw->program) && is_beneath(pid, sw->folder))
		sw->pids[sw->pids_n++] = pid;
}

size_t proc_list_at(str program, str folder, int *ret, size_t max)
{
	struct sweep sw = { .program = program, .folder = folder, .pids = ret, .pids_max = max };
	int r = sweep_round(&sw, list_at_one, NULL);

	sweep_done(&sw);
	return r == 0 ? sw.pids_n : 0;
}

static void list_named_one(struct sweep *sw, int pid)
{
	char text[NAME_SIZE];
	str name = read_name(pid, text);

	for (size_t i = 0; sw->names[i]; i++)
		if (str_is(name, sw->names[i]) && is_ours(pid)) {
			if (sw->pids_n < sw->pids_max)
				sw->pids[sw->pids_n] = pid;
			sw->pids_n++;
		}
}

size_t proc_list_named(const char *const *names, int *ret, size_t max)
{
	struct sweep sw = { .names = names, .pids = ret, .pids_max = max };
	int r = sweep_round(&sw, list_named_one, NULL);

	sweep_done(&sw);
	return r == 0 ? sw.pids_n : 0;
}
