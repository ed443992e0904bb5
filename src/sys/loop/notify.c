#include "sys/loop/notify.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/buf.h"

/* A path, or a name in the abstract space, which begins with "@". */
static bool set_address(struct notify *n, const char *name)
{
	size_t len = strlen(name);

	if ((name[0] != '/' && name[0] != '@') || len < 2 || len >= sizeof(n->to.sun_path))
		return false;
	n->to = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(n->to.sun_path, name, len);
	if (name[0] == '@')
		n->to.sun_path[0] = '\0';
	n->to_n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	return true;
}

void notify_open(struct notify *n)
{
	static const struct timeval patience = { .tv_sec = 1 };
	const char *name = getenv("NOTIFY_SOCKET");
	uint64_t us = 0;

	*n = (struct notify){ .fd = -1 };
	if (sd_watchdog_enabled(true, &us) > 0)
		n->watchdog = (ov_time)MAX(us / 1000, 1ul);
	if (name && set_address(n, name))
		n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (n->fd >= 0)
		(void)setsockopt(n->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	(void)unsetenv("NOTIFY_SOCKET");
}

void notify_close(struct notify *n)
{
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}

static void send_text(const struct notify *n, str text, int flags)
{
	ssize_t sent _unused_ = sendto(n->fd, text.p, text.n, flags | MSG_NOSIGNAL,
			(const struct sockaddr *)&n->to, n->to_n);
}

void notify_alive(const struct notify *n)
{
	if (n->fd >= 0)
		send_text(n, STR("WATCHDOG=1"), MSG_DONTWAIT);
}

void notify_tell(const struct notify *n, const char *fmt, ...)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	va_list ap;

	if (n->fd < 0)
		return;
	va_start(ap, fmt);
	buf_vaddf(&b, fmt, ap);
	va_end(ap);
	send_text(n, buf_str(&b), 0);
}
