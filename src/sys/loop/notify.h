#pragma once
/*
 * What a service manager is told of us, as sd_notify(3) describes: datagrams to the socket that
 * NOTIFY_SOCKET names. The variables are taken out of the environment, so that no child speaks for
 * us or believes that it is watched. Without them every call does nothing.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include "base/ov.h"

struct notify {
	int fd; /* -1: nobody listens */
	struct sockaddr_un to;
	socklen_t to_n;
	ov_time watchdog; /* it wants to hear from us at least this often; 0: it does not care */
};

/* Before anything else runs that reads or inherits the environment. */
void notify_open(struct notify *n);
void notify_close(struct notify *n);
/* One assignment per line. Waits a second at most for a manager that is busy; then it is lost. */
void notify_tell(const struct notify *n, const char *fmt, ...) _printf_(2, 3);
/* We live. Never waits: the next one is as good. */
void notify_alive(const struct notify *n);
