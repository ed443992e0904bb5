/*
 * The room of a worktree: a folder of the store with two git folders.
 *
 *	.git/	is what the worktree's .git file names. HEAD, index, objects and branches in it are
 *		its agent's own, on top of the repository's objects and of copies of its branches.
 *		Who runs there can write anything into it, so no git of ours is ever pointed at it:
 *		a few small files are read as text, its commits are taken over as a checked pack
 *		(git_take.c), and it is replaced as a whole (git_publish.c).
 *	own/	is ours: the index and the configuration by which our git looks at the worktree
 *		(git_own.c), and small notes: which branch and folder it was made for.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"
#include "sys/file/file.h"

#define WORKTREES "/worktrees"

enum { LINKS_MAX = 5, NAMED_MAX = 400, REFS_FILES_MAX = 4096, REFS_DEPTH = 16 };
enum { LINE_MAX_BYTES = 4096 };
enum { TEXT_MAX = 32 << 20 }; /* of many branches, or a long log */

/* "STORE/worktrees/NAME" has its room in "STORE/git/NAME"; any other PATH in "PATH.git". */
static const char *room_of(struct arena *a, str path)
{
	size_t cut;
	str parent;

	while (path.n > 1 && path.p[path.n - 1] == '/')
		path.n--;
	for (cut = path.n; cut > 0 && path.p[cut - 1] != '/';)
		cut--;
	parent = str_sub(path, 0, cut ? cut - 1 : 0);
	if (!str_ends(parent, STR(WORKTREES)))
		return arena_printf(a, STR_FMT ".git", STR_ARG(path)).p;
	return arena_printf(a, STR_FMT "/git/" STR_FMT,
			STR_ARG(str_sub(parent, 0, parent.n - strlen(WORKTREES))),
			STR_ARG(str_sub(path, cut, path.n)))
			.p;
}

const char *git_room_path(struct git_call *c)
{
	return room_of(&c->arena, str_from(c->path));
}

const char *git_agent_dir(struct arena *a, str path)
{
	return path_join(a, room_of(a, path), GIT_AGENT_DIR);
}

const char *git_own_dir(struct arena *a, str path)
{
	return path_join(a, room_of(a, path), "own");
}

/*
 * Notes of ours: what is in them can be found out again, so they need not outlast a power failure.
 */

int git_own_note(struct git_call *c, const char *name, str text, struct ov_err *err)
{
	return git_write_plain(&c->arena, path_join(&c->arena, c->own, name), text, err);
}

str git_own_line(struct git_call *c, const char *name)
{
	str s;

	if (file_read_beneath(&c->arena, c->own, name, GIT_FILE_MAX, &s, NULL) < 0)
		return (str){ 0 };
	return arena_str(&c->arena, str_sub(s, 0, str_find_byte(s, '\n')));
}

/* The folder itself, told from a link, a mount or another folder that took its place. */

static str room_place_of(struct git_call *c, const struct stat *st)
{
	return arena_printf(&c->arena, "%llu %llu", (unsigned long long)st->st_dev,
			(unsigned long long)st->st_ino);
}

/* The agent may have closed it, even to us: no git could enter it. */
static int open_tree(struct git_call *c, str place)
{
	const int how = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	_cleanup_(fd_closep) int fd = open(c->path, O_PATH | how);
	struct stat st;

	if (fd >= 0 && place.n && fstat(fd, &st) == 0 && str_eq(place, room_place_of(c, &st)) &&
			(st.st_mode & S_IRWXU) != S_IRWXU)
		(void)chmod(arena_printf(&c->arena, "/proc/self/fd/%d", fd).p,
				(st.st_mode | S_IRWXU) & 07777); /* if that fails, git says so */
	return open(c->path, O_RDONLY | O_DIRECTORY | how);
}

int git_room_open_tree(struct git_call *c, struct ov_err *err)
{
	str place = git_own_line(c, GIT_PLACE);
	struct stat st;

	fd_closep(&c->tree_fd);
	c->folder = false;
	c->making = git_own_line(c, GIT_MAKING).n;
	c->tree_fd = open_tree(c, place);
	if (c->tree_fd < 0)
		return 0; /* nothing, or something else */
	if (fstat(c->tree_fd, &st) < 0)
		return ov_fail(err, OV_EIO, "%s cannot be looked at", c->path);
	c->folder = place.n ? str_eq(place, room_place_of(c, &st)) : c->admin != NULL;
	if (!c->folder)
		fd_closep(&c->tree_fd);
	return 0;
}

int git_room_note_tree(struct git_call *c, struct ov_err *err)
{
	struct stat st;
	int r;

	fd_closep(&c->tree_fd);
	c->tree_fd = open(c->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (c->tree_fd < 0 || fstat(c->tree_fd, &st) < 0)
		return ov_fail_errno(err, errno, "open %s", c->path);
	r = git_own_note(c, GIT_PLACE, room_place_of(c, &st), err);
	c->folder = r == 0;
	return r;
}

/* What the agent's folder says, as text. */

bool git_admin_has(struct git_call *c, const char *name)
{
	_cleanup_(fd_closep) int fd = -1;

	return c->admin && file_open_beneath(c->admin, name, O_PATH, &fd, NULL) == 0;
}

bool git_admin_locked(struct git_call *c)
{
	return git_admin_has(c, "index.lock") || git_admin_has(c, "HEAD.lock") ||
			(c->branch.n &&
					git_admin_has(c,
							arena_printf(&c->arena,
									"refs/heads/" STR_FMT
									".lock",
									STR_ARG(c->branch))
									.p));
}

static str admin_text(struct git_call *c, const char *name)
{
	struct ov_err err;
	str s;

	if (!c->admin)
		return (str){ 0 };
	if (file_read_beneath(&c->arena, c->admin, name, TEXT_MAX, &s, &err) < 0) {
		c->unnamed |= !c->linked && err.code != OV_ENOTFOUND;
		return (str){ 0 };
	}
	return s;
}

str git_admin_line(struct git_call *c, const char *name)
{
	str s;

	/* What is longer is none of these; there may be thousands. */
	if (!c->admin || file_read_beneath(&c->arena, c->admin, name, LINE_MAX_BYTES, &s, NULL) < 0)
		return (str){ 0 };
	return arena_str(&c->arena, str_trim(str_sub(s, 0, str_find_byte(s, '\n'))));
}

static str packed_ref(struct git_call *c, str name)
{
	str rest = admin_text(c, "packed-refs"), line, oid;

	while (str_split(&rest, '\n', &line))
		if (str_split(&line, ' ', &oid) && str_eq(line, name) && git_oid_valid(oid))
			return arena_str(&c->arena, oid);
	return (str){ 0 };
}

/*
 * Of a linked worktree the repository has the branches: then it is the name that git is asked for.
 */
static str ref_value(struct git_call *c, str name)
{
	for (int i = 0; i < LINKS_MAX; i++) {
		str line = git_admin_line(c, arena_cstr(&c->arena, name));

		if (git_oid_valid(line))
			return line;
		if (!str_starts(line, STR("ref: ")))
			break;
		name = str_trim(str_sub(line, 5, line.n));
		if (!git_ref_valid(name) || !str_starts(name, STR("refs/")))
			return (str){ 0 };
	}
	return c->linked ? arena_str(&c->arena, name) : packed_ref(c, name);
}

void git_room_head(struct git_call *c)
{
	str line = git_admin_line(c, "HEAD");

	c->head_ref = c->head_name = (str){ 0 };
	if (git_oid_valid(line)) {
		c->head_name = line;
		return;
	}
	line = str_starts(line, STR("ref: "))
			? arena_str(&c->arena, str_trim(str_sub(line, 5, line.n)))
			: (str){ 0 };
	/* Overwritten with something else: it is taken to be where it was put. */
	if (!git_ref_valid(line) || !str_starts(line, STR("refs/")))
		line = c->branch.n
				? arena_printf(&c->arena, "refs/heads/" STR_FMT, STR_ARG(c->branch))
				: (str){ 0 };
	c->head_ref = line;
	if (line.n)
		c->head_name = ref_value(c, line);
}

str git_room_branch(struct git_call *c)
{
	return c->branch.n ? ref_value(c,
					     arena_printf(&c->arena, "refs/heads/" STR_FMT,
							     STR_ARG(c->branch)))
			   : (str){ 0 };
}

/* Commits that it names. */

struct names {
	struct git_call *c;
	struct map seen; /* commits */
};

static void add_name(struct names *n, str oid)
{
	bool zero = true;

	if (!git_oid_valid(oid))
		return;
	for (size_t i = 0; i < oid.n; i++)
		zero &= oid.p[i] == '0';
	if (zero || map_get(&n->seen, oid))
		return;
	n->c->unnamed |= n->c->named.n >= NAMED_MAX;
	if (n->c->unnamed)
		return;
	oid = arena_str(&n->c->arena, oid);
	map_put(&n->seen, oid, n->c);
	vec_push(&n->c->named, oid.p);
}

/* Both sides of each line of a log, the newest first. */
static void add_log(struct names *n, const char *name)
{
	str log = admin_text(n->c, name);

	while (log.n && !n->c->unnamed) {
		size_t end = log.n - (log.p[log.n - 1] == '\n'), at = end;
		str line, oid;

		while (at && log.p[at - 1] != '\n')
			at--;
		line = str_sub(log, at, end - at);
		for (int i = 0; i < 2 && str_split(&line, ' ', &oid); i++)
			add_name(n, oid);
		log.n = at;
	}
}

/* Files of one commit or more each, of what stopped halfway. */
static void add_lines(struct names *n, const char *name)
{
	str rest = admin_text(n->c, name), line;

	while (str_split(&rest, '\n', &line))
		add_name(n, str_trim(line));
}

/* A branch or tag of its own. */
static void add_ref(struct names *n, str oid, str name)
{
	add_name(n, oid);
	n->c->unnamed |= n->c->refs.n >= NAMED_MAX;
	if (!git_oid_valid(oid) || !git_ref_valid(name) || n->c->unnamed)
		return;
	vec_push(&n->c->refs,
			arena_printf(&n->c->arena, STR_FMT " " STR_FMT, STR_ARG(oid), STR_ARG(name))
					.p);
}

static void add_packed(struct names *n)
{
	str rest = admin_text(n->c, "packed-refs"), line, oid, ours = { 0 };
	struct map known;

	if (file_read_beneath(&n->c->arena, n->c->own, GIT_AGENT_REFS, TEXT_MAX, &ours, NULL) ==
					0 &&
			str_eq(ours, rest))
		return;
	map_init(&known, 0);
	while (str_split(&ours, '\n', &line))
		map_put(&known, line, n);
	while (str_split(&rest, '\n', &line))
		if (!map_get(&known, line) && str_split(&line, ' ', &oid))
			add_ref(n, oid, line);
	map_done(&known);
}

static void add_loose(struct names *n, const char *dir, int depth)
{
	struct arena *a = &n->c->arena;
	str *names = NULL;
	size_t count = 0;
	struct stat st;
	const char *path = path_join(a, n->c->admin, dir);

	if (lstat(path, &st) < 0)
		return;
	if (!S_ISDIR(st.st_mode)) {
		add_ref(n, git_admin_line(n->c, dir), str_from(dir));
		return;
	}
	n->c->unnamed |= depth >= REFS_DEPTH ||
			dir_list(a, path, REFS_FILES_MAX, &names, &count, NULL) < 0;
	for (size_t i = 0; i < count && !n->c->unnamed; i++)
		add_loose(n, path_join(a, dir, arena_cstr(a, names[i])), depth + 1);
}

static const char *const named_in[] = { "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD",
	"ORIG_HEAD", "rebase-merge/autostash", "rebase-apply/autostash", "rebase-merge/orig-head",
	"rebase-apply/orig-head" };

/*
 * Worktrees that the agent added to its own git folder: each has a HEAD, a log and refs of its own.
 */
static void add_worktrees(struct names *n)
{
	struct arena *a = &n->c->arena;
	const char *dir = path_join(a, n->c->admin, GIT_LINKED_DIR);
	size_t count = 0, refs = n->c->refs.n;
	str *names = NULL;
	struct stat st;

	if (lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return;
	n->c->unnamed |= dir_list(a, dir, GIT_MAX_WORKTREES, &names, &count, NULL) < 0;
	for (size_t i = 0; i < count && !n->c->unnamed; i++) {
		const char *one = path_join(a, GIT_LINKED_DIR, arena_cstr(a, names[i]));

		add_lines(n, path_join(a, one, "HEAD"));
		for (size_t k = 0; k < ARRAY_LEN(named_in); k++)
			add_lines(n, path_join(a, one, named_in[k]));
		add_log(n, path_join(a, one, "logs/HEAD"));
		add_loose(n, path_join(a, one, "refs"), 0);
	}
	n->c->refs.n = refs; /* these are no branches */
}

void git_room_names(struct git_call *c)
{
	struct names n = { .c = c };

	vec_clear(&c->named);
	vec_clear(&c->refs);
	c->unnamed = false;
	if (!c->admin)
		return;
	map_init(&n.seen, 0);
	for (size_t i = 0; i < ARRAY_LEN(named_in); i++)
		add_lines(&n, named_in[i]);
	add_log(&n, "logs/HEAD");
	add_log(&n, "logs/refs/stash");
	add_loose(&n, "refs", 0);
	add_packed(&n);
	add_worktrees(&n);
	map_done(&n.seen);
	c->unnamed &= !c->linked; /* the repository has what that one names */
}

static bool is_named(const struct git_call *c, str oid)
{
	for (size_t i = 0; i < c->named.n; i++)
		if (str_is(oid, c->named.p[i]))
			return true;
	return false;
}

void git_rescue_extra(struct git_call *c, str oid)
{
	if (oid.n && !str_eq(oid, c->head))
		vec_push(&c->rescue.extra, arena_cstr(&c->arena, oid));
}

void git_admin_commits(struct git_call *c, const char *name)
{
	str rest = admin_text(c, name), line;

	while (str_split(&rest, '\n', &line))
		if (is_named(c, str_trim(line)))
			git_rescue_extra(c, str_trim(line));
}

/*
 * A person may have put the folder of all worktrees elsewhere by a link. A link that is there only
 * since a moment ago is an agent's: what is made behind it would be in somebody else's folder.
 */
int git_room_parent(struct git_call *c, struct ov_err *err)
{
	const char *parent = dirname(arena_cstr(&c->arena, str_from(c->path)));
	struct stat at, link;
	bool known = c->g->trees_inode != 0;

	if (stat(parent, &at) < 0 || lstat(parent, &link) < 0)
		return 0; /* it is made, or that fails */
	if (known && S_ISLNK(link.st_mode) &&
			(at.st_ino != c->g->trees_inode || at.st_dev != c->g->trees_device)) {
		ov_fail(err, OV_ESTATE, "%s has become a link to another folder", parent);
		return ov_next(err, "remove the link, or restart the daemon if it is yours");
	}
	c->g->trees_inode = at.st_ino;
	c->g->trees_device = at.st_dev;
	return 0;
}

str git_own_text(struct git_call *c, const char *note)
{
	str text;

	return file_read(&c->arena, path_join(&c->arena, c->own, note), GIT_NOTE_MAX, &text, NULL) <
					0
			? STR("")
			: text;
}

int git_write_plain(struct arena *a, const char *path, str text, struct ov_err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	const char *tmp = arena_printf(a, "%s.tmp", path).p;

	fd = file_open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0666);
	if (fd < 0)
		return ov_fail_errno(err, errno, "create %s", tmp);
	if (write(fd, text.p ? text.p : "", text.n) != (ssize_t)text.n || rename(tmp, path) < 0)
		return ov_fail_errno(err, errno, "write %s", path);
	return 0;
}
