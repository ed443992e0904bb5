#pragma once
/*
 * Inside net only: a listening Unix socket and its file. The file is made with mode 0600 from the
 * first moment, replaces only what nobody listens on, and is removed only while it is still ours.
 */
#include "base/ov.h"
#include <sys/types.h>
#include <sys/un.h>

struct unixsock {
	int fd;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	dev_t dev; /* of our file, to know it again */
	ino_t ino;
};

int unixsock_listen(const char *path, struct unixsock *ret, struct ov_err *err);
void unixsock_close(struct unixsock *s);
/* Its file is where it was made, and whoever connects there comes to us. */
bool unixsock_is_there(const struct unixsock *s);
