#include "shim/shim_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"

int record_complain(const char *what)
{
	dprintf(STDERR_FILENO, "%s: %s\n", what, strerror(errno));
	return RUN_STATUS_FAILED;
}

/*
 * The lock is taken before anything is looked at, so that of two shims one decides. It is one of
 * the open file description, as sys/file/file.h probes it.
 */
int record_lock(struct shim *s)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	s->lock = open_file(RUN_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW);
	if (s->lock < 0)
		return record_complain("cannot open the lock file");
	if (fcntl(s->lock, F_OFD_SETLK, &lock) < 0)
		return errno == EAGAIN || errno == EACCES
				? RUN_STATUS_OWNED
				: record_complain("cannot lock the run's folder");
	if (faccessat(s->dirfd, RUN_EXIT, F_OK, 0) == 0 ||
			faccessat(s->dirfd, RUN_STARTED, F_OK, 0) == 0)
		return RUN_STATUS_STARTED;
	return 0;
}

/* Field 22 of /proc/self/stat, counted after the command's closing parenthesis. */
static uint64_t own_start_time(void)
{
	char text[1024];
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	char *p;
	uint64_t start = 0;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	p = strrchr(text, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (p)
		str_to_u64(str_sub(str_from(p), 1, strcspn(p + 1, " ")), &start);
	return start;
}

/* Of fixed width and in one write, so that a reader never sees half of it. */
int record_identity(struct shim *s)
{
	char text[48];
	int n = snprintf(text, sizeof(text), "%10d %20" PRIu64 "\n", (int)getpid(),
			own_start_time());

	if (pwrite(s->lock, text, (size_t)n, 0) != n)
		return record_complain("cannot write the lock file");
	return 0;
}

int record_started(struct shim *s)
{
	int fd = open(RUN_STARTED, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), r = 0;

	if (fd < 0)
		return errno == EEXIST ? RUN_STATUS_STARTED
				       : record_complain("cannot record the start");
	s->started_at = wall_ms();
	s->began = mono_ms();
	if (dprintf(fd, "%" PRId64 "\n", s->started_at) < 0 || fsync(fd) < 0 ||
			fsync(s->dirfd) < 0) {
		r = record_complain("cannot record the start");
		unlink(RUN_STARTED);
	}
	close(fd);
	return r;
}

static void add_string(struct buf *b, struct arena *a, const char *s)
{
	str clean = utf8_clean(a, str_from(s));

	buf_addc(b, '"');
	for (size_t i = 0; i < clean.n; i++) {
		unsigned char c = (unsigned char)clean.p[i];

		if (c < 0x20)
			buf_addf(b, "\\u%04x", c);
		else if (c == '"' || c == '\\')
			buf_addf(b, "\\%c", c);
		else
			buf_addc(b, (char)c);
	}
	buf_addc(b, '"');
}

static void exit_text(const struct shim *s, struct buf *b)
{
	struct arena a = ARENA_INIT;
	bool exited = s->started && WIFEXITED(s->status);
	int sig = s->started && WIFSIGNALED(s->status) ? WTERMSIG(s->status) : 0;

	buf_addf(b, "{\"id\":");
	add_string(b, &a, s->id);
	buf_addf(b, ",\"started\":%s,\"exit_code\":%d,\"signal\":%d", s->started ? "true" : "false",
			exited ? WEXITSTATUS(s->status) : -1, sig);
	buf_addf(b, ",\"started_at\":%" PRId64 ",\"ended_at\":%" PRId64 ",\"ran_ms\":%" PRId64,
			s->started_at, s->ended_at, s->ran_ms);
	buf_addf(b, ",\"output_bytes\":%" PRIu64 ",\"dropped_bytes\":%" PRIu64 ",\"swept\":%zu",
			s->output.bytes, s->output.dropped, s->swept);
	buf_addf(b, ",\"errors_bytes\":%" PRIu64 ",\"errors_dropped_bytes\":%" PRIu64,
			s->errors.bytes, s->errors.dropped);
	buf_addf(b, ",\"output_kept\":\"%s\",\"errors_kept\":\"%s\"", kept_what(&s->output),
			kept_what(&s->errors));
	buf_addf(b, ",\"containment\":\"%s\"", s->grouped ? "cgroup" : "sweep");
	buf_addf(b, ",\"message\":");
	add_string(b, &a, s->message);
	buf_addf(b, "}\n");
	arena_done(&a);
}

static int write_file(const char *name, str bytes)
{
	int fd = open_file(name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW), r = 0;

	if (fd < 0)
		return -errno;
	while (r == 0 && bytes.n > 0) {
		ssize_t n = write(fd, bytes.p, bytes.n);

		if (n < 0)
			r = -errno;
		else
			bytes = str_sub(bytes, (size_t)n, bytes.n);
	}
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	close(fd);
	return r;
}

static int sync_file(int fd)
{
	return fdatasync(fd) < 0 && errno != EINVAL && errno != EROFS ? -errno : 0;
}

int record_exit(struct shim *s)
{
	static const char temporary[] = RUN_EXIT ".tmp";
	struct buf text = BUF_INIT;
	int r;

	/* A record promises that the output before it is there too. */
	r = sync_file(s->output.file);
	if (r == 0 && s->errors.file >= 0)
		r = sync_file(s->errors.file);
	if (r < 0)
		return r;
	exit_text(s, &text);
	r = write_file(temporary, buf_str(&text));
	if (r == 0 && rename(temporary, RUN_EXIT) < 0)
		r = -errno;
	if (r == 0 && fsync(s->dirfd) < 0)
		r = -errno;
	if (r < 0)
		unlink(temporary); /* give the space back */
	buf_done(&text);
	return r;
}
