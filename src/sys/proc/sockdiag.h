#pragma once
/*
 * What the kernel knows of a TCP socket of this machine, asked directly (sock_diag): one question,
 * one answer, no walk over anything. Loop-free, and never waits.
 */
#include "base/ov.h"

#include <netinet/in.h>

struct sockdiag {
	uint64_t inode; /* under which processes hold it: socket:[INODE]; 0: no process does */
	/* of the process that made it: the inode of the group's folder; 0: unknown */
	uint64_t cgroup;
};

/*
 * The socket whose own address is `local` and whose other end is `remote`. OV_ENOTFOUND: there is
 * none any more. OV_EUNAVAILABLE: this kernel does not say.
 */
int sockdiag_tcp(const struct sockaddr_in *local, const struct sockaddr_in *remote,
		struct sockdiag *ret, struct ov_err *err);
