#pragma once
/*
 * Which of some trees of processes a socket belongs to: by the control group that made it, else by
 * the descriptors of their processes. Only those trees are looked at. What cannot be looked at is
 * said, so that nobody takes "not found" for "not there". Loop-free. Bounded by the numbers below:
 * with one run of five processes it takes less than 1 ms, at the very most some 80 ms; where
 * control groups decide (sealed), 10 to 50 us.
 */
#include "base/ov.h"
#include "sys/proc/sockdiag.h"

enum { SOCKOWNER_PROCESSES = 4096, SOCKOWNER_DESCRIPTORS = 16384, SOCKOWNER_GROUPS = 256 };

struct sock_tree {
	int root;          /* its processes descend from this one; 0: not known */
	const char *group; /* the folder of the control group that holds them, too; or NULL */
	bool sealed;       /* nothing of it can leave the group, so that alone decides */
	bool inside;       /* only its processes in a process namespace below ours are meant */
	bool loose;        /* set by the search: some of it could not be looked at */
};

enum sock_found { SOCK_NONE, SOCK_FOUND, SOCK_GONE };

/*
 * The tree that the socket between `client` (its own end) and `server` belongs to. SOCK_GONE: no
 * process holds it any more. OV_EUNAVAILABLE where the kernel does not say which socket that is,
 * OV_ELIMIT where there are too many processes to look.
 */
int sockowner_find(const struct sockaddr_in *client, const struct sockaddr_in *server,
		struct sock_tree *trees, size_t n, enum sock_found *ret, size_t *ret_tree,
		struct ov_err *err);
