#include "app/log/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/log/log.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/text/redact.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"

struct journal {
	char *dir;
	bool told; /* that it cannot be written */
};

struct journal *journal_new(const char *dir)
{
	struct journal *j = mem_zalloc(1, sizeof(*j));

	j->dir = mem_dup(dir, strlen(dir));
	return j;
}

struct journal *journal_free(struct journal *j)
{
	if (!j)
		return NULL;
	mem_free(j->dir);
	mem_free(j);
	return NULL;
}

/* What a program wrote, so that it can be read: no control characters, each line indented. */
static void add_output(struct buf *b, str output)
{
	str line;

	while (str_split(&output, '\n', &line)) {
		if (!line.n && !output.n)
			break;
		buf_adds(b, STR("  "));
		for (size_t i = 0; i < line.n; i++)
			buf_addc(b,
					(unsigned char)line.p[i] < ' ' && line.p[i] != '\t'
							? ' '
							: line.p[i]);
		buf_addc(b, '\n');
	}
}

static void add_entry(struct arena *a, struct buf *b, str worker, str head, str output)
{
	str text = redact(a, utf8_clean(a, head)), line;

	buf_adds(b, time_format(a, clock_wall()));
	buf_addf(b, " " STR_FMT " ", STR_ARG(worker.n ? worker : STR("-")));
	for (bool first = true; str_split(&text, '\n', &line); first = false)
		buf_addf(b, "%s" STR_FMT, first ? "" : " ", STR_ARG(line));
	buf_addc(b, '\n');
	add_output(b, redact(a, utf8_clean(a, output)));
}

/* The oldest goes, the others grow older by one. */
static void rotate(struct arena *a, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 || st.st_size < JOURNAL_BYTES)
		return;
	for (int i = JOURNAL_KEPT; i > 0; i--) {
		str from = i > 1 ? arena_printf(a, "%s.%d", path, i - 1) : str_from(path);

		/* What is not there cannot be renamed; what cannot be renamed is written on. */
		(void)rename(from.p, arena_printf(a, "%s.%d", path, i).p);
	}
}

static int append(const char *path, str bytes, struct ov_err *err)
{
	_cleanup_(fd_closep) int fd = file_open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);

	if (fd < 0)
		return ov_fail(err, OV_EIO, "%s: %s", path, strerror(errno));
	while (bytes.n) {
		ssize_t n = write(fd, bytes.p, bytes.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ov_fail(err, OV_EIO, "%s: %s", path, strerror(errno));
		bytes = str_sub(bytes, (size_t)n, bytes.n);
	}
	return 0;
}

void journal_write(struct journal *j, const char *name, str worker, str head, str output)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	str path = arena_printf(&a, "%s/%s.log", j->dir, name);
	struct ov_err err;
	int r;

	add_entry(&a, &b, worker, head, output);
	r = dir_make(j->dir, 0700, &err);
	if (r == 0) {
		rotate(&a, path.p);
		r = append(path.p, buf_str(&b), &err);
	}
	if (r < 0 && !j->told)
		log_warn("cannot write a log: %s", err.msg);
	j->told = r < 0;
}
