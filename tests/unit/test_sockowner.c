/*
 * Whose socket it is, with real connections over the loopback interface and real processes; and who
 * is at the other end of a Unix socket.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/proc/cgroup.h"
#include "sys/proc/peer.h"
#include "sys/proc/sockowner.h"
#include "tests/skip.h"
#include "tests/test.h"

TEST_MAIN

struct pair {
	int listener, client, server;
	struct sockaddr_in at_client, at_server;
};

static void pair_listen(struct pair *p)
{
	socklen_t n = sizeof(p->at_server);

	*p = (struct pair){ .client = -1, .server = -1 };
	p->at_server = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(p->listener, (struct sockaddr *)&p->at_server, n), 0);
	assert_int_equal(listen(p->listener, 8), 0);
	assert_int_equal(getsockname(p->listener, (struct sockaddr *)&p->at_server, &n), 0);
}

static int connected(const struct pair *p)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&p->at_server, sizeof(p->at_server)),
			0);
	return fd;
}

static void pair_accept(struct pair *p)
{
	socklen_t n = sizeof(p->at_client);

	p->server = accept(p->listener, (struct sockaddr *)&p->at_client, &n);
	assert_true(p->server >= 0);
}

static void pair_next(struct pair *p)
{
	close(p->server);
	pair_accept(p);
}

static void pair_close(struct pair *p)
{
	close(p->client);
	close(p->server);
	close(p->listener);
}

/* A child that connects, and then waits for its end. */
static pid_t connecting_child(const struct pair *p, void (*prepare)(void), void (*then)(void))
{
	int ready[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (prepare)
			prepare();
		(void)connected(p);
		if (then)
			then();
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static enum sock_found find(const struct pair *p, struct sock_tree *trees, size_t n, size_t *at)
{
	enum sock_found found;
	struct ov_err err = { 0 };

	if (sockowner_find(&p->at_client, &p->at_server, trees, n, &found, at, &err) < 0)
		fail_msg("%s", err.msg);
	return found;
}

TEST(a_socket_is_known_by_its_inode)
{
	struct pair p;
	struct sockdiag s;
	struct stat st;

	pair_listen(&p);
	p.client = connected(&p);
	pair_accept(&p);
	assert_int_equal(sockdiag_tcp(&p.at_client, &p.at_server, &s, NULL), 0);
	assert_int_equal(fstat(p.client, &st), 0);
	assert_int_equal(s.inode, st.st_ino);
	/* The other way round it is the server's own end. */
	assert_int_equal(sockdiag_tcp(&p.at_server, &p.at_client, &s, NULL), 0);
	assert_int_equal(fstat(p.server, &st), 0);
	assert_int_equal(s.inode, st.st_ino);
	/* Closed: whatever is left of it belongs to nobody. */
	close(p.client);
	p.client = -1;
	if (sockdiag_tcp(&p.at_client, &p.at_server, &s, NULL) == 0)
		assert_int_equal(s.inode, 0);
	pair_close(&p);
}

TEST(there_is_no_such_connection)
{
	struct pair p;
	struct sockdiag s;
	struct sockaddr_in nobody;

	pair_listen(&p);
	nobody = p.at_server;
	nobody.sin_port = htons(1);
	assert_int_equal(sockdiag_tcp(&nobody, &p.at_server, &s, NULL), OV_ENOTFOUND);
	pair_close(&p);
}

TEST(held_by_a_process_of_a_tree)
{
	struct pair p;
	struct sock_tree trees[2] = { { 0 } };
	size_t at = 9;
	pid_t other, child;

	pair_listen(&p);
	child = connecting_child(&p, NULL, NULL);
	pair_accept(&p);
	other = fork();
	if (other == 0) {
		pause();
		_exit(0);
	}
	trees[0].root = other;
	trees[1].root = child;
	assert_int_equal(find(&p, trees, 2, &at), SOCK_FOUND);
	assert_int_equal(at, 1);
	/* Descendants count: we are the parent of both. */
	trees[0].root = getpid();
	assert_int_equal(find(&p, trees, 1, &at), SOCK_FOUND);
	assert_int_equal(at, 0);
	trees[0].root = other;
	assert_int_equal(find(&p, trees, 1, &at), SOCK_NONE);
	assert_false(trees[0].loose);
	end_child(child);
	assert_int_equal(find(&p, trees, 1, &at), SOCK_GONE);
	assert_int_equal(find(&p, trees, 0, &at), SOCK_GONE);
	end_child(other);
	pair_close(&p);
}

/* One whose processes are not known could hold anything. */
TEST(an_unknown_tree_is_loose)
{
	struct pair p;
	struct sock_tree tree = { 0 };
	size_t at;

	pair_listen(&p);
	p.client = connected(&p);
	pair_accept(&p);
	assert_int_equal(find(&p, &tree, 1, &at), SOCK_NONE);
	assert_true(tree.loose);
	pair_close(&p);
}

static char group[PATH_MAX], outside[PATH_MAX];

static void enter(const char *dir)
{
	char path[PATH_MAX + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		_exit(9);
	close(fd);
}

static void enter_group(void)
{
	enter(group);
}

/* The socket remembers where it was made. */
static void leave_group(void)
{
	enter(outside);
}

TEST(made_in_a_group)
{
	struct arena a = ARENA_INIT;
	struct sock_tree trees[2] = { { 0 } };
	const char *above, *inner;
	struct pair p;
	size_t at = 9;
	pid_t child;

	if (cgroup_find(&a, &above, NULL) < 0 || cgroup_probe(above, NULL) < 0) {
		arena_done(&a);
		skip_for("no control group can be made here");
	}
	snprintf(group, sizeof(group), "%s/overseer-test-%d", above, (int)getpid());
	inner = arena_printf(&a, "%s/inner", group).p;
	assert_int_equal(mkdir(group, 0700), 0);
	assert_int_equal(mkdir(inner, 0700), 0);
	trees[0] = (struct sock_tree){ .root = getppid(), .group = NULL };
	trees[1].group = arena_cstr(&a, str_from(group));
	pair_listen(&p);
	/* In a group below the tree's own. */
	snprintf(group, sizeof(group), "%s", inner);
	snprintf(outside, sizeof(outside), "%s", above);
	child = connecting_child(&p, enter_group, leave_group);
	pair_accept(&p);
	assert_int_equal(find(&p, trees, 2, &at), SOCK_FOUND);
	assert_int_equal(at, 1);
	end_child(child);
	/*
	 * A tree that cannot leave its group is not looked through: what another group made is
	 * not its own.
	 */
	child = connecting_child(&p, NULL, NULL);
	pair_next(&p);
	trees[1].root = child;
	assert_int_equal(find(&p, trees + 1, 1, &at), SOCK_FOUND);
	trees[1].sealed = true;
	assert_int_equal(find(&p, trees + 1, 1, &at), SOCK_NONE);
	assert_false(trees[1].loose);
	end_child(child);
	assert_int_equal(find(&p, trees + 1, 1, &at), SOCK_GONE);
	assert_int_equal(rmdir(inner), 0);
	assert_int_equal(rmdir(trees[1].group), 0);
	pair_close(&p);
	arena_done(&a);
}

static void hide(void)
{
	prctl(PR_SET_DUMPABLE, 0);
}

/* As an ordinary user: what may not be looked at is said. */
static int hidden_from_a_user(void)
{
	struct pair p;
	struct sock_tree tree = { 0 };
	size_t at;
	enum sock_found found;

	pair_listen(&p);
	tree.root = connecting_child(&p, hide, NULL);
	pair_accept(&p);
	found = find(&p, &tree, 1, &at);
	end_child(tree.root);
	pair_close(&p);
	return found == SOCK_NONE && tree.loose ? 0 : 1;
}

TEST(a_process_that_may_not_be_looked_at)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
			_exit(2);
		/* Who changed its user may not be looked at either, by that user. */
		prctl(PR_SET_DUMPABLE, 1);
		_exit(hidden_from_a_user());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- Unix sockets ---- */

TEST(the_peer_of_a_pair)
{
	struct peer peer;
	int fds[2];
	size_t at;
	int roots[] = { 0, getpid(), getppid() };

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_true(peer_of(fds[0], &peer));
	assert_int_equal(peer.proc.pid, getpid());
	assert_int_equal(peer.uid, getuid());
	assert_true(peer.proc.pidfd >= 0);
	assert_int_equal(peer_descends(&peer.proc, roots, 3, &at), KIN_FOUND);
	assert_int_equal(at, 1);
	assert_int_equal(peer_descends(&peer.proc, roots + 2, 1, &at), KIN_FOUND);
	assert_int_equal(peer_descends(&peer.proc, roots, 1, &at), KIN_NONE);
	proc_done(&peer.proc);
	close(fds[0]);
	close(fds[1]);
}

/*
 * Connects to `at`, and stays, or is gone when this returns. Its parent has ended, and it has no
 * session of ours.
 */
static void fled_peer(const struct sockaddr_un *at, bool stays)
{
	int done[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe2(done, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		setsid();
		if (fork() != 0)
			_exit(0);
		if (connect(socket(AF_UNIX, SOCK_STREAM, 0), (const struct sockaddr *)at,
				    sizeof(*at)) < 0 ||
				write(done[1], "x", 1) != 1)
			_exit(1);
		if (stays)
			pause();
		_exit(0);
	}
	close(done[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(read(done[0], &c, 1), 1);
	/* The end of the pipe is the end of the process. */
	if (!stays)
		assert_int_equal(read(done[0], &c, 1), 0);
	close(done[0]);
}

TEST(a_peer_that_fled)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fd, own = getpid();
	struct peer peer;
	size_t at = 9;

	/* As the shim does: who loses its parent becomes our child. */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "overseer-test-%d", own);
	assert_int_equal(bind(listener, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(listen(listener, 8), 0);
	fled_peer(&name, true);
	fd = accept(listener, NULL, NULL);
	assert_true(peer_of(fd, &peer));
	assert_int_not_equal(peer.proc.pid, own);
	assert_int_equal(peer_descends(&peer.proc, &own, 1, &at), KIN_FOUND);
	assert_int_equal(at, 0);
	/* Our child by now, so its number is its own; valgrind cannot signal by a pidfd. */
	assert_int_equal(kill(peer.proc.pid, SIGKILL), 0);
	assert_int_equal(waitpid(peer.proc.pid, NULL, 0), peer.proc.pid);
	assert_int_equal(peer_descends(&peer.proc, &own, 1, &at), KIN_GONE);
	proc_done(&peer.proc);
	close(fd);
	/* Gone before anybody looked: there may be no pidfd, and nothing else is taken for it. */
	fled_peer(&name, false);
	while (waitpid(-1, NULL, 0) > 0)
		continue;
	fd = accept(listener, NULL, NULL);
	assert_true(peer_of(fd, &peer));
	assert_true(peer.proc.pid > 0);
	assert_true(peer.proc.pidfd < 0 || proc_ended(&peer.proc, 0));
	assert_int_equal(peer_descends(&peer.proc, &own, 1, &at), KIN_GONE);
	if (peer.proc.pidfd >= 0)
		proc_done(&peer.proc);
	close(fd);
	close(listener);
}

TEST(where_a_process_comes_from)
{
	struct arena a = ARENA_INIT;
	str home = peer_env(&a, getpid(), STR("PATH"));

	assert_string_equal(arena_cstr(&a, home), getenv("PATH"));
	assert_false(peer_env(&a, getpid(), STR("PAT")).p);
	assert_false(peer_env(&a, 0, STR("PATH")).p);
	assert_false(peer_group(&a, 0).p);
	arena_done(&a);
}
