#include "watch/guard/report.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"

enum {
	TAIL = 32 * 1024, /* more than the longest line of an act */
	SLOW_MS = 20,     /* that a line on standard output may take */
};

/* ---- how many there were ---- */

/* The number of the last act in a file, 0 when there is none. */
static int64_t last_number(const char *path)
{
	char text[TAIL];
	_cleanup_(fd_closep) int fd = file_open(path, O_RDONLY, 0);
	struct act x;
	int64_t n = 0;
	struct stat st;
	ssize_t got;
	str rest, line;

	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;
	got = pread(fd, text, sizeof(text), st.st_size > TAIL ? st.st_size - TAIL : 0);
	rest = (str){ text, got > 0 ? (size_t)got : 0 };
	while (str_split(&rest, '\n', &line))
		if (act_read(line, &x))
			n = MAX(n, x.n);
	return n;
}

/* The locale's character set by the variables alone: setlocale would read files. */
static bool locale_is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *v = getenv(names[i]);

		if (v && *v)
			return strcasestr(v, "UTF-8") || strcasestr(v, "UTF8");
	}
	return false;
}

void watch_report_init(struct watch_report *r, struct arena *a, const char *dir, const char *watch,
		int64_t n_known)
{
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
	const char *before;

	*r = (struct watch_report){ .path = path_join(a, dir, VITAL_ACTS) };
	snprintf(r->watch, sizeof(r->watch), "%s", watch);
	r->terminal = isatty(STDOUT_FILENO);
	r->utf8 = locale_is_utf8();
	r->colour = r->terminal && !(no_colour && *no_colour) &&
			!(term && strcmp(term, "dumb") == 0);
	(void)dir_make(path_join(a, dir, "logs"), 0700, NULL);
	before = arena_printf(a, "%s.1", r->path).p;
	r->n = MAX(n_known, last_number(r->path));
	if (r->n == n_known)
		r->n = MAX(r->n, last_number(before));
}

void watch_report_done(struct watch_report *r)
{
	buf_done(&r->kept);
	buf_done(&r->line);
}

/* ---- for people ---- */

/* Whatever the text holds, nobody's terminal obeys it. */
static void add_clean(struct watch_report *r, str s)
{
	while (s.n) {
		str at = s;
		int32_t c = utf8_next(&s);

		if (c < 0 || c < 0x20 || (c >= 0x7f && c < 0xa0))
			buf_addc(&r->line, c == '\n' || c == '\t' ? ' ' : '?');
		else if (c >= 0x80 && !r->utf8)
			buf_addc(&r->line, '?');
		else
			buf_add(&r->line, at.p, at.n - s.n);
	}
}

static void print_line(struct watch_report *r, enum tone tone, str text)
{
	static const struct {
		const char *colour, *sign, *plain;
	} looks[] = {
		[TONE_PLAIN] = { "", "\xc2\xb7", "-" },
		[TONE_GOOD] = { "\033[32m", "\xe2\x9c\x93", "+" },
		[TONE_BAD] = { "\033[31m", "\xe2\x9a\xa0", "!" },
		[TONE_WARN] = { "\033[33m", "\xe2\x9a\xa0", "!" },
	};
	ov_time now = clock_wall();
	time_t seconds = (time_t)(now / OV_SECOND);
	struct tm tm = { 0 };
	struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
	char when[40] = "";
	size_t done = 0;

	localtime_r(&seconds, &tm);
	strftime(when, sizeof(when), r->terminal ? "%H:%M:%S" : "%Y-%m-%dT%H:%M:%S%z", &tm);
	buf_clear(&r->line);
	buf_addf(&r->line, "%s %s%s ", when, r->colour ? looks[tone].colour : "",
			r->utf8 ? looks[tone].sign : looks[tone].plain);
	add_clean(r, text);
	buf_adds(&r->line, r->colour && *looks[tone].colour ? STR("\033[0m\n") : STR("\n"));
	/* Whoever stopped to read must not stop us; logs/watch.jsonl has it all. */
	while (done < r->line.n && poll(&out, 1, SLOW_MS) > 0 && out.revents & POLLOUT) {
		ssize_t n = write(STDOUT_FILENO, r->line.p + done, r->line.n - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return; /* nobody looks on */
		done += (size_t)n;
	}
}

void watch_report_say(struct watch_report *r, enum tone tone, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	print_line(r, tone, str_from(text));
}

/* ---- for the daemon ---- */

/* All or nothing: half a line would spoil the next one. */
static int report_append(const char *path, str bytes, struct ov_err *err)
{
	_cleanup_(fd_closep) int fd = file_open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW,
			0600);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return ov_fail_errno(err, errno, "open %s", path);
	n = write(fd, bytes.p, bytes.n);
	if (n == (ssize_t)bytes.n)
		return 0;
	ov_fail_errno(err, n < 0 ? errno : ENOSPC, "write %s", path);
	if (n > 0 && ftruncate(fd, st.st_size) < 0)
		(void)!write(fd, "\n", 1);
	return OV_EIO;
}

static void rotate(const char *path)
{
	char before[PATH_MAX];
	struct stat st;

	if (stat(path, &st) < 0 || st.st_size < ACTS_BYTES)
		return;
	if (snprintf(before, sizeof(before), "%s.1", path) < (int)sizeof(before))
		(void)rename(path, before);
}

bool watch_report_flush(struct watch_report *r)
{
	struct ov_err err = { 0 };

	if (!r->kept.n)
		return true;
	rotate(r->path);
	if (report_append(r->path, buf_str(&r->kept), &err) < 0) {
		if (!r->complained)
			watch_report_say(r, TONE_WARN,
					"Cannot write down what is done: %s; it goes on", err.msg);
		r->complained = true;
		return false;
	}
	buf_clear(&r->kept);
	r->complained = false;
	return true;
}

/* When nothing can be written for long, the oldest lines go. */
static void report_keep(struct watch_report *r, const struct act *x)
{
	act_write(x, &r->kept);
	while (r->kept.n > REPORT_KEPT)
		buf_consume(&r->kept, MIN(str_find_byte(buf_str(&r->kept), '\n') + 1, r->kept.n));
}

void watch_report_act(struct watch_report *r, enum act_kind kind, enum failure failure,
		const char *instance, enum tone tone, const char *fmt, ...)
{
	struct act x = { .n = ++r->n, .kind = kind, .failure = failure, .at = clock_wall() };
	char text[2 * VITAL_TEXT];
	va_list ap;
	str cut;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	cut = utf8_truncate(str_from(text), VITAL_TEXT);
	memcpy(x.text, text, cut.n);
	snprintf(x.watch, sizeof(x.watch), "%s", r->watch);
	snprintf(x.instance, sizeof(x.instance), "%s", instance);
	if (r->last_n == REPORT_LAST)
		memmove(r->last, r->last + 1, --r->last_n * sizeof(r->last[0]));
	r->last[r->last_n++] = x;
	report_keep(r, &x);
	(void)watch_report_flush(r);
	print_line(r, tone, cut);
}
