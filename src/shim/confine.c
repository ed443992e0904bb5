/*
 * Confined: becomes another program that can write only below the folders that are named, and be
 * kept from one to look into. For git, which reads what agents wrote, and for the programs that git
 * runs on it. It is the kernel's Landlock: it needs no rights, costs a fraction of a millisecond,
 * holds for everything that is started below, and can be made narrower there. It says nothing about
 * the network, modes and times of files, nor who may be called by the path of a socket: what an
 * agent may have written therefore runs in a sandbox where one can be made (programs.c).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/keyctl.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"
#include "shim/shim_impl.h"

/* Newer than the headers of the oldest system that this is built on. */
#define FS_TRUNCATE (1ULL << 14)
#define SCOPE_ABSTRACT_SOCKETS (1ULL << 0)
#define SCOPE_SIGNALS (1ULL << 1)

enum { ABI_TRUNCATE = 3, ABI_SCOPES = 6, ENTRIES_MAX = 100 * 1000 };

static const uint64_t fs_read = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
		LANDLOCK_ACCESS_FS_READ_DIR;
static const uint64_t fs_write = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
		LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
		LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
		LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
		LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM |
		LANDLOCK_ACCESS_FS_REFER | FS_TRUNCATE;
/* Of those, what a file can have that is no folder. */
static const uint64_t fs_file = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
		LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE;

struct attributes {
	uint64_t fs, net, scoped;
};

struct rules {
	int fd;
	uint64_t handled;
};

static int complain(const char *what)
{
	dprintf(STDERR_FILENO, "overseer-run: cannot confine: %s: %s\n", what, strerror(errno));
	return RUN_STATUS_FAILED;
}

static int rules_open(struct rules *r, bool hides)
{
	struct attributes a = { .fs = fs_write | (hides ? fs_read : 0) };
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	if (abi < 2) {
		errno = abi < 0 ? errno : ENOSYS;
		return complain("the kernel has no Landlock");
	}
	if (abi < ABI_TRUNCATE)
		a.fs &= ~FS_TRUNCATE;
	if (abi >= ABI_SCOPES)
		a.scoped = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS;
	r->handled = a.fs;
	r->fd = (int)syscall(SYS_landlock_create_ruleset, &a,
			abi >= ABI_SCOPES ? sizeof(a) : sizeof(a.fs), 0);
	return r->fd < 0 ? complain("rules") : 0;
}

/* What is not there needs no rule. */
static int allow_at(const struct rules *r, int dir, const char *name, int follow, uint64_t access)
{
	struct landlock_path_beneath_attr one = { .allowed_access = access & r->handled };
	struct stat st;
	int ret = 0;

	one.parent_fd = openat(dir, name, O_PATH | O_CLOEXEC | follow);
	if (one.parent_fd < 0 || fstat(one.parent_fd, &st) < 0) {
		ret = errno == ENOENT || errno == EACCES ? 0 : complain(name);
	} else if (!S_ISLNK(st.st_mode)) {
		if (!S_ISDIR(st.st_mode))
			one.allowed_access &= fs_file;
		if (syscall(SYS_landlock_add_rule, r->fd, LANDLOCK_RULE_PATH_BENEATH, &one, 0) < 0)
			ret = complain(name);
	}
	if (one.parent_fd >= 0)
		close(one.parent_fd);
	return ret;
}

/* Everything in the folder but one can be read. */
static int show_others(const struct rules *r, int dir, str but)
{
	DIR *d = fdopendir(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *e;
	int ret = 0;

	if (!d)
		return complain("reading a folder");
	for (size_t n = 0; ret == 0 && n < ENTRIES_MAX && (e = readdir(d)); n++)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
				!str_is(but, e->d_name))
			ret = allow_at(r, dir, e->d_name, O_NOFOLLOW, fs_read);
	closedir(d);
	return ret;
}

/* Everything can be read that is not below `hidden`, which has no links in it. */
static int show_all_but(const struct rules *r, const char *hidden)
{
	str rest = str_from(hidden + 1), part;
	int at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), ret = at < 0 ? complain("/") : 0;

	while (ret == 0 && str_split(&rest, '/', &part)) {
		char name[NAME_MAX + 1];
		int next;

		if (!part.n || part.n > NAME_MAX)
			continue;
		memcpy(name, part.p, part.n);
		name[part.n] = '\0';
		ret = show_others(r, at, part);
		next = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(at);
		at = next;
		if (at < 0)
			break;
	}
	if (at >= 0)
		close(at);
	return ret;
}

/*
 * Keys of the session in which the daemon was started could be read in a sandbox, too. Where there
 * are no keyrings, or nobody may use them, there are no keys either.
 */
int leave_keys(void)
{
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0 || errno == ENOSYS ||
			errno == EPERM || errno == EACCES)
		return 0;
	return -1;
}

int without_keys_main(char **argv)
{
	if (!argv[0])
		return RUN_STATUS_USAGE;
	if (leave_keys() < 0) {
		dprintf(STDERR_FILENO, "overseer-run: cannot make a keyring: %s\n",
				strerror(errno));
		return RUN_STATUS_FAILED;
	}
	execvp(argv[0], argv);
	dprintf(STDERR_FILENO, "overseer-run: cannot run %s: %s\n", argv[0], strerror(errno));
	return RUN_STATUS_MISSING;
}

struct wish {
	const char *hidden;
	const char *programs; /* keeps git: the file of the sandbox for what it runs, or empty */
	bool ask;             /* it is such a program: it runs there */
	bool lenient;         /* git may go on where they cannot run */
	bool free;            /* without Landlock */
};

static const struct option options[] = {
	{ "write", required_argument, NULL, 'w' },
	{ "read", required_argument, NULL, 'r' },
	{ "hide", required_argument, NULL, 'h' },
	{ "programs", required_argument, NULL, 'p' },
	{ "ask", no_argument, NULL, 'a' },
	{ "lenient", no_argument, NULL, 'l' },
	{ "free", no_argument, NULL, 'f' },
	{ 0 },
};

static bool read_wish(int argc, char **argv, struct wish *ret)
{
	for (int c; (c = getopt_long(argc, argv, "+", options, NULL)) != -1;)
		switch (c) {
		case 'h': ret->hidden = optarg; break;
		case 'p': ret->programs = optarg; break;
		case 'a': ret->ask = true; break;
		case 'l': ret->lenient = true; break;
		case 'f': ret->free = true; break;
		case '?': return false;
		default: break;
		}
	return argv[optind] && (!ret->hidden || ret->hidden[0] == '/');
}

static int restrict_self(int argc, char **argv, const char *hidden)
{
	struct rules rules;
	int ret = rules_open(&rules, hidden != NULL);

	if (ret == 0)
		ret = allow_at(&rules, AT_FDCWD, "/dev/null", 0, fs_read | fs_write);
	if (ret == 0 && hidden)
		ret = show_all_but(&rules, hidden);
	optind = 1;
	for (int c; ret == 0 && (c = getopt_long(argc, argv, "+", options, NULL)) != -1;)
		if (c == 'w' || c == 'r')
			ret = allow_at(&rules, AT_FDCWD, optarg, 0,
					c == 'w' ? fs_read | fs_write : fs_read);
	if (ret != 0)
		return ret;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
			syscall(SYS_landlock_restrict_self, rules.fd, 0) < 0)
		return complain("entering");
	close(rules.fd);
	return 0;
}

int confine_main(int argc, char **argv)
{
	struct wish w = { 0 };
	int ret = 0;

	if (!read_wish(argc, argv, &w))
		return RUN_STATUS_USAGE;
	if (w.ask) {
		ret = programs_ask(argv - 1);
		if (ret >= 0)
			return ret;
		ret = 0;
	}
	if (w.programs)
		ret = programs_keep(w.programs, w.lenient);
	if (ret == 0 && !w.free)
		ret = restrict_self(argc, argv, w.hidden);
	if (ret != 0)
		return ret;
	execvp(argv[optind], argv + optind);
	dprintf(STDERR_FILENO, "overseer-run: cannot run %s: %s\n", argv[optind], strerror(errno));
	return RUN_STATUS_MISSING;
}
