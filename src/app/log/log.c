#include "app/log/log.h"

#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/duration.h"
#include "sys/host/clock.h"

/* One write per line, so that lines of several processes do not mix. */
static void _printf_(2, 0) log_line(const char *level, const char *fmt, va_list ap)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	ssize_t n _unused_; /* a log that cannot be written must not stop the work */

	buf_adds(&b, time_format(&a, clock_wall()));
	buf_addf(&b, " %s ", level);
	buf_vaddf(&b, fmt, ap);
	buf_addc(&b, '\n');
	n = write(STDERR_FILENO, b.p, b.n);
}

void log_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line("info", fmt, ap);
	va_end(ap);
}

void log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line("warn", fmt, ap);
	va_end(ap);
}
