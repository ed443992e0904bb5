#include "app/vital/health.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/log/log.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"
#include "core/text/redact.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"

void health_init(struct health_log *h, const char *path, const char *instance)
{
	*h = (struct health_log){ .path = path, .instance = instance, .fd = -1 };
}

void health_done(struct health_log *h)
{
	fd_closep(&h->fd);
}

/* Is the file that we have open still the one that a reader finds? */
static bool still_there(const struct health_log *h)
{
	struct stat ours, found;

	return h->fd >= 0 && fstat(h->fd, &ours) == 0 && stat(h->path, &found) == 0 &&
			ours.st_ino == found.st_ino && ours.st_dev == found.st_dev;
}

/* A daemon that was killed, or a full disk, may have left half a line. */
static bool ends_torn(int fd, off_t size)
{
	char last;

	return size > 0 && (pread(fd, &last, 1, size - 1) != 1 || last != '\n');
}

static void rotate(struct health_log *h)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct stat st;

	if (stat(h->path, &st) < 0 || st.st_size < HEALTH_BYTES)
		return;
	/* What cannot be renamed is written on. */
	(void)rename(h->path, arena_printf(&a, "%s.1", h->path).p);
}

/* What is open is kept when nothing better can be had. */
static int reopen(struct health_log *h, struct ov_err *err)
{
	struct stat st;
	int fd;

	rotate(h);
	if (still_there(h))
		return 0;
	fd = file_open(h->path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
	if (fd >= 0 && fstat(fd, &st) < 0)
		fd_closep(&fd);
	if (fd < 0)
		return h->fd >= 0 ? 0 : ov_fail(err, OV_EIO, "%s: %s", h->path, strerror(errno));
	fd_closep(&h->fd);
	h->fd = fd;
	h->torn = ends_torn(fd, st.st_size);
	return 0;
}

static int append(struct health_log *h, str line, struct ov_err *err)
{
	ssize_t n;

	do
		n = write(h->fd, line.p, line.n);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)line.n) {
		h->torn = false;
		return 0;
	}
	h->torn = h->torn || n > 0;
	return ov_fail(err, OV_EIO, "%s: %s", h->path,
			n < 0 ? strerror(errno) : "the disk is full");
}

void health_say(struct health_log *h, enum health_kind kind, const char *fmt, ...)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	_cleanup_(buf_done) struct buf line = BUF_INIT;
	struct health x = { .kind = kind, .at = clock_wall() };
	struct ov_err err = { 0 };
	va_list ap;
	str text;
	int r;

	va_start(ap, fmt);
	text = arena_vprintf(&a, fmt, ap);
	va_end(ap);
	text = redact(&a, utf8_clean(&a, text));
	text = utf8_truncate(text, VITAL_TEXT);
	snprintf(x.text, sizeof(x.text), STR_FMT, STR_ARG(text));
	snprintf(x.instance, sizeof(x.instance), "%s", h->instance);
	r = reopen(h, &err);
	if (r == 0) {
		if (h->torn)
			buf_addc(&line, '\n');
		health_write(&x, &line);
		r = append(h, buf_str(&line), &err);
	}
	if (r < 0 && !h->told)
		log_warn("the daemon's health was not written down: %s", err.msg);
	h->told = r < 0;
}
