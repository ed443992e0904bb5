#include "sys/proc/sockdiag.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>

#include "base/err.h"
#include "sys/file/file.h"

/* Newer than the headers of some systems that we are built on. */
#define DIAG_CGROUP_ID 21

enum { ANSWER_MAX = 8192, ALL_STATES = -1, LOOPBACK = 1 }; /* that one is always the first */

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 what;
};

/* A socket that is bound to an interface is found by that alone; others by any. */
static uint32_t interface_of(const struct sockaddr_in *local)
{
	return ntohl(local->sin_addr.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET ? LOOPBACK : 0;
}

static int sockdiag_ask(int fd, const struct sockaddr_in *local, const struct sockaddr_in *remote)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct question q = {
		.head = { .nlmsg_len = sizeof(q),
				.nlmsg_type = SOCK_DIAG_BY_FAMILY,
				.nlmsg_flags = NLM_F_REQUEST },
		.what = { .sdiag_family = AF_INET,
				.sdiag_protocol = IPPROTO_TCP,
				.idiag_states = (uint32_t)ALL_STATES,
				.id = { .idiag_sport = local->sin_port,
						.idiag_dport = remote->sin_port,
						.idiag_src = { local->sin_addr.s_addr },
						.idiag_dst = { remote->sin_addr.s_addr },
						.idiag_if = interface_of(local),
						.idiag_cookie = { INET_DIAG_NOCOOKIE,
								INET_DIAG_NOCOOKIE } } },
	};
	ssize_t n = sendto(fd, &q, sizeof(q), 0, (struct sockaddr *)&kernel, sizeof(kernel));

	return n == (ssize_t)sizeof(q) ? 0 : -1;
}

static void read_attributes(const struct nlmsghdr *head, struct sockdiag *ret)
{
	const struct inet_diag_msg *m = NLMSG_DATA(head);
	const struct rtattr *a = (const struct rtattr *)(m + 1);
	int left = (int)(head->nlmsg_len - NLMSG_LENGTH(sizeof(*m)));

	ret->inode = m->idiag_inode;
	for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == DIAG_CGROUP_ID && RTA_PAYLOAD(a) >= sizeof(ret->cgroup))
			memcpy(&ret->cgroup, RTA_DATA(a), sizeof(ret->cgroup));
}

static int read_answer(const struct nlmsghdr *head, size_t n, struct sockdiag *ret,
		struct ov_err *err)
{
	const struct nlmsgerr *e = NLMSG_DATA(head);

	if (!NLMSG_OK(head, n))
		return ov_fail(err, OV_EUNAVAILABLE, "sock_diag: the answer is cut off");
	if (head->nlmsg_type == NLMSG_ERROR && head->nlmsg_len >= NLMSG_LENGTH(sizeof(*e))) {
		if (e->error == -ENOENT)
			return ov_fail(err, OV_ENOTFOUND, "there is no such connection any more");
		return ov_fail(err, OV_EUNAVAILABLE, "sock_diag: %s", strerror(-e->error));
	}
	if (head->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
			head->nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
		return ov_fail(err, OV_EUNAVAILABLE, "sock_diag: an answer of an unknown kind");
	*ret = (struct sockdiag){ 0 };
	read_attributes(head, ret);
	return 0;
}

int sockdiag_tcp(const struct sockaddr_in *local, const struct sockaddr_in *remote,
		struct sockdiag *ret, struct ov_err *err)
{
	_cleanup_(fd_closep) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
			NETLINK_SOCK_DIAG);
	union {
		struct nlmsghdr head;
		char bytes[ANSWER_MAX];
	} in;
	ssize_t n;

	/* The kernel answers while the question is being sent. */
	if (fd < 0 || sockdiag_ask(fd, local, remote) < 0)
		return ov_fail(err, OV_EUNAVAILABLE, "sock_diag: %s", strerror(errno));
	n = recv(fd, &in, sizeof(in), MSG_DONTWAIT);
	if (n < 0)
		return ov_fail(err, OV_EUNAVAILABLE, "sock_diag: %s", strerror(errno));
	return read_answer(&in.head, (size_t)n, ret, err);
}
