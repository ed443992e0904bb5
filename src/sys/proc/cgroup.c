#include "sys/proc/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"

enum { TEXT_MAX = 1 << 20, EMPTY_MS = 5000, DEPTH_MAX = 32, LIST_MAX = 65536 };

/* ---- where we are ---- */

/* Spaces and the like are \ooo in mountinfo. */
static str unescape(struct arena *a, str s)
{
	char *p = arena_alloc(a, s.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '\\' && i + 3 < s.n) {
			p[n++] = (char)((s.p[i + 1] - '0') * 64 + (s.p[i + 2] - '0') * 8 +
					(s.p[i + 3] - '0'));
			i += 3;
		} else {
			p[n++] = s.p[i];
		}
	}
	p[n] = '\0';
	return (str){ p, n };
}

/* "33 25 0:30 ROOT POINT options [optional...] - TYPE source options" of a mounted cgroup2. */
static bool parse_mount(struct arena *a, str line, str *ret_root, str *ret_point)
{
	str field[5], word;

	for (size_t i = 0; i < ARRAY_LEN(field); i++)
		if (!str_split(&line, ' ', &field[i]))
			return false;
	while (str_split(&line, ' ', &word) && !str_is(word, "-"))
		continue;
	if (!str_split(&line, ' ', &word) || !str_is(word, "cgroup2"))
		return false;
	*ret_root = unescape(a, field[3]);
	*ret_point = unescape(a, field[4]);
	return true;
}

/* The part of a group's path that lies below what is mounted; absent when it does not. */
static str below(str path, str root)
{
	if (str_is(root, "/"))
		return path;
	if (!str_starts(path, root) || (path.n > root.n && path.p[root.n] != '/'))
		return (str){ 0 };
	return str_sub(path, root.n, path.n);
}

int cgroup_parse(struct arena *a, str mountinfo, str own, const char **ret, struct ov_err *err)
{
	str line, group = { 0 }, root, point;
	bool mounted = false;

	while (str_split(&own, '\n', &line))
		if (str_starts(line, STR("0::/")))
			group = str_sub(line, 3, line.n);
	while (str_split(&mountinfo, '\n', &line)) {
		str rest;

		if (!parse_mount(a, line, &root, &point))
			continue;
		mounted = true;
		rest = group.p ? below(group, root) : (str){ 0 };
		if (!rest.p)
			continue;
		if (str_ends(rest, STR("/" CGROUP_SELF)))
			rest.n -= sizeof("/" CGROUP_SELF) - 1;
		*ret = arena_printf(a, STR_FMT STR_FMT, STR_ARG(point),
				STR_ARG(str_is(rest, "/") ? STR("") : rest))
				       .p;
		return 0;
	}
	if (!mounted)
		return ov_fail(err, OV_ENOTFOUND, "no cgroup v2 hierarchy is mounted");
	return ov_fail(err, OV_ENOTFOUND,
			"our group is not in a cgroup v2 hierarchy that is mounted");
}

int cgroup_find(struct arena *a, const char **ret, struct ov_err *err)
{
	str mountinfo, own;
	int r = file_read(a, "/proc/self/mountinfo", TEXT_MAX, &mountinfo, err);

	if (r == 0)
		r = file_read(a, "/proc/self/cgroup", TEXT_MAX, &own, err);
	return r < 0 ? r : cgroup_parse(a, mountinfo, own, ret, err);
}

/* ---- files of a group ---- */

static const char *at(struct arena *a, const char *dir, const char *name)
{
	return path_join(a, dir, name);
}

/* Written in one call and never made: where the file is missing, the kernel does not offer it. */
static int cgroup_put(const char *dir, const char *name, const char *text)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	_cleanup_(fd_closep) int fd = open(at(&a, dir, name), O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return -errno;
	return 0;
}

static bool has_word(const char *dir, const char *name, const char *word)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	str text, part;

	if (file_read(&a, at(&a, dir, name), TEXT_MAX, &text, NULL) < 0)
		return false;
	text = str_trim(text);
	while (str_split(&text, ' ', &part))
		if (str_is(part, word))
			return true;
	return false;
}

int cgroup_probe(const char *dir, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const char *probe = arena_printf(&a, "%s/" CGROUP_PREFIX "probe-%d", dir, (int)getpid()).p;
	int r = 0;

	if (mkdir(probe, 0700) < 0 && errno != EEXIST)
		return ov_fail_errno(err, errno, "a group cannot be made in %s", dir);
	if (access(at(&a, probe, "cgroup.kill"), W_OK) < 0 ||
			access(at(&a, probe, "cgroup.procs"), W_OK) < 0)
		r = ov_fail(err, OV_EUNAVAILABLE,
				"groups in %s cannot be ended as one (the kernel is older than "
				"5.14)",
				dir);
	rmdir(probe);
	return r;
}

bool cgroup_offers(const char *dir, const char *controller)
{
	return has_word(dir, "cgroup.controllers", controller);
}

int cgroup_enable(const char *dir, const char *controller, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const char *line = arena_printf(&a, "+%s", controller).p, *self;
	int r;

	if (!cgroup_offers(dir, controller))
		return ov_fail(err, OV_EUNAVAILABLE, "the controller \"%s\" is not available in %s",
				controller, dir);
	r = cgroup_put(dir, "cgroup.subtree_control", line);
	if (r == -EBUSY) {
		self = at(&a, dir, CGROUP_SELF);
		if (mkdir(self, 0700) == 0 || errno == EEXIST)
			r = cgroup_put(self, "cgroup.procs", "0");
		if (r == 0)
			r = cgroup_put(dir, "cgroup.subtree_control", line);
	}
	if (r == -EBUSY)
		return ov_fail(err, OV_EUNAVAILABLE,
				"the controller \"%s\" cannot be used: %s holds processes that are "
				"not ours",
				controller, dir);
	return r < 0 ? ov_fail_errno(err, -r, "enabling \"%s\" in %s", controller, dir) : 0;
}

/* ---- ending one ---- */

static size_t count_procs(const char *dir)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	size_t n = 0;
	str text, line;

	if (file_read(&a, at(&a, dir, "cgroup.procs"), TEXT_MAX, &text, NULL) < 0)
		return 0;
	while (str_split(&text, '\n', &line))
		n += line.n > 0;
	return n;
}

/* All groups below it, and it itself; says how many processes were in them. */
static int remove_tree(const char *dir, int depth)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	str *names;
	size_t n = 0;
	struct stat st;

	if (depth < DEPTH_MAX && dir_list(&a, dir, LIST_MAX, &names, &n, NULL) == 0)
		for (size_t i = 0; i < n; i++) {
			const char *path = at(&a, dir, arena_cstr(&a, names[i]));

			if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
				remove_tree(path, depth + 1);
		}
	return rmdir(dir) == 0 || errno == ENOENT ? 0 : -errno;
}

static bool is_populated(int events)
{
	char text[256];
	ssize_t n = pread(events, text, sizeof(text), 0);

	return n > 0 && str_contains((str){ text, (size_t)n }, STR("populated 1"));
}

/* The kernel says when that changes. */
static bool wait_empty(int events)
{
	uint64_t until = clock_mono_us() + (uint64_t)EMPTY_MS * 1000;

	while (is_populated(events)) {
		struct pollfd p = { .fd = events, .events = POLLPRI };
		uint64_t now = clock_mono_us();

		if (now >= until)
			return false;
		poll(&p, 1, (int)((until - now) / 1000) + 1);
	}
	return true;
}

int cgroup_end(const char *dir, size_t *ret_killed, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	_cleanup_(fd_closep) int events = -1;
	struct statfs fs;
	size_t killed;
	int r;

	if (statfs(dir, &fs) < 0)
		return errno == ENOENT ? ov_fail(err, OV_ENOTFOUND, "there is no group %s", dir)
				       : ov_fail_errno(err, errno, "%s", dir);
	if (fs.f_type != CGROUP2_SUPER_MAGIC)
		return ov_fail(err, OV_EINVALID, "%s is not a control group", dir);
	events = open(at(&a, dir, "cgroup.events"), O_RDONLY | O_CLOEXEC);
	killed = count_procs(dir);
	r = cgroup_put(dir, "cgroup.kill", "1");
	if (events < 0 || r < 0)
		return ov_fail_errno(err, r < 0 ? -r : errno, "ending the group %s", dir);
	if (!wait_empty(events))
		return ov_fail(err, OV_EIO, "processes in %s do not end", dir);
	r = remove_tree(dir, 0);
	if (r < 0)
		return ov_fail_errno(err, -r, "removing the group %s", dir);
	*ret_killed = killed;
	return 0;
}
