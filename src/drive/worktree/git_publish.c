/*
 * The agent's git folder, made again: HEAD on the branch, the branch where the repository has it,
 * our index, copies of the repository's branches and of the agent's own, no trace of anything else
 * that was in it. It is built beside the old one and takes its place in one step, so whatever the
 * old one held (links, pipes, configuration) is never written through, and a cut leaves one or the
 * other. All names in it are relative: a repository can be moved.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/map.h"
#include "drive/git/git_aside.h"
#include "drive/git/git_call.h"
#include "drive/git/git_confine.h"
#include "drive/git/git_lfs.h"
#include "drive/git/git_steps.h"
#include "drive/gitrules/git_settings.h"
#include "drive/worktree/git_tree_steps.h"
#include "sys/file/file.h"

#define PACKED "packed-refs"
#define MODULES "modules"
#define KEPT "kept"
#define COMMONDIR ".\n" /* who could make that file would say where its configuration is */

enum { REMOVED_AT_ONCE = 2000 };
static int removals; /* of the walk that is under way: nftw(3) hands nothing on */

int git_rm(struct git_call *c, const char *path)
{
	git_run(c, AT_REPO, 0, NULL);
	vec_clear(&c->argv);
	git_confined(c, false, dirname(arena_cstr(&c->arena, str_from(path))), NULL);
	git_args(c, "rm", "-rf", "--", path, NULL);
	return GIT_NEXT;
}

/* From one folder to another: "../../git/w1/.git". */
static str relative(struct git_call *c, const char *from, const char *to)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	char *x = realpath(from, NULL), *y = realpath(to, NULL);
	size_t same = 0, i = 0;
	str ret = str_from(to);

	if (x && y) {
		for (; x[i] && x[i] == y[i]; i++)
			if (x[i] == '/')
				same = i;
		if ((!x[i] && y[i] == '/') || (!y[i] && x[i] == '/') || (!x[i] && !y[i]))
			same = i;
		for (const char *p = x + same; *p; p++)
			if (*p == '/')
				buf_adds(&b, STR("../"));
		buf_adds(&b, str_from(y[same] == '/' ? y + same + 1 : y + same));
		ret = arena_str(&c->arena, buf_str(&b));
	}
	free(x); /* from realpath(3), so not ours to mem_free */
	free(y);
	return ret;
}

/* The link from the worktree. */

static str link_text(struct git_call *c)
{
	return arena_printf(&c->arena, "gitdir: " STR_FMT "\n",
			STR_ARG(relative(c, c->path,
					path_join(&c->arena, c->room, GIT_AGENT_DIR))));
}

int git_link(struct git_call *c, struct ov_err *err)
{
	const char *link = path_join(&c->arena, c->path, ".git");
	str want = link_text(c), have;
	struct stat st;
	int r = 0;

	if (file_read_beneath(&c->arena, c->path, ".git", GIT_FILE_MAX, &have, NULL) == 0 &&
			str_eq(have, want))
		return 0;
	/* Somebody made a repository of its own here; it is kept beside the worktree. */
	if (lstat(link, &st) == 0 && S_ISDIR(st.st_mode))
		r = git_move_aside(c, link, err);
	return r < 0 ? r : file_write_atomic(link, want, 0644, err);
}

/* What is in it. */

static void config_text(struct git_call *c, const char *dir, struct buf *b)
{
	str ours = { 0 }, common = relative(c, dir, c->g->common);
	bool sparse, cone;

	(void)file_read(&c->arena, path_join(&c->arena, c->own, "config"), GIT_FILE_MAX, &ours,
			NULL);
	sparse = str_contains(ours, STR("sparsecheckout = \"true\""));
	cone = str_contains(ours, STR("sparsecheckoutcone = \"true\""));
	/*
	 * The hooks are the repository's, unless it or the user says otherwise; what comes
	 * last counts.
	 */
	buf_addf(b, "[core]\n\trepositoryformatversion = 1\n\thooksPath = \"" STR_FMT "/hooks\"\n",
			STR_ARG(relative(c, c->path, c->g->common)));
	git_settings_add(c, b);
	buf_addf(b, "[include]\n\tpath = \"" STR_FMT "/config\"\n", STR_ARG(common));
	buf_addf(b, "[core]\n\tbare = false\n\tworktree = \"" STR_FMT "\"\n",
			STR_ARG(relative(c, dir, c->path)));
	buf_addf(b, "\tlogAllRefUpdates = true\n\tsparseCheckout = %s\n\tsparseCheckoutCone = %s\n",
			sparse ? "true" : "false", cone ? "true" : "false");
	/*
	 * Keys are with a person, or behind a socket that a sandbox hides; what is accepted is
	 * committed anew.
	 */
	buf_adds(b, STR("[commit]\n\tgpgSign = false\n[tag]\n\tgpgSign = false\n"));
	buf_adds(b, STR("[gc]\n\tauto = 0\n"));
	/* Its own, wherever the repository's is. */
	if (git_lfs_used(c))
		buf_adds(b, STR("[lfs]\n\tstorage = lfs\n\trepositoryformatversion = 0\n"));
	if (c->publish.n == 64)
		buf_adds(b, STR("[extensions]\n\tobjectFormat = sha256\n"));
}

/*
 * The repository's, without those of other workers, then what the agent has of its own beside them.
 */
static str refs_text(struct git_call *c, str listed)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	str branch = arena_printf(&c->arena, "refs/heads/" STR_FMT, STR_ARG(c->branch));
	str rest = listed, line, oid;
	struct map names;

	map_init(&names, 0);
	map_put(&names, branch, c);
	while (str_split(&rest, '\n', &line)) {
		str name = line;

		if (!str_split(&name, ' ', &oid) || !git_oid_valid(oid) || map_get(&names, name) ||
				str_starts(name, STR(GIT_OURS)))
			continue;
		map_put(&names, name, c);
		buf_addf(&b, STR_FMT "\n", STR_ARG(line));
	}
	for (size_t i = 0; i < c->refs.n; i++) {
		str name = str_from(c->refs.p[i]);

		if (!str_split(&name, ' ', &oid) || map_get(&names, name))
			continue;
		for (size_t k = 0; k < c->named.n; k++)
			if (str_is(oid, c->named.p[k])) {
				map_put(&names, name, c);
				buf_addf(&b, "%s\n", c->refs.p[i]);
				break;
			}
	}
	map_done(&names);
	buf_addf(&b, STR_FMT " " STR_FMT "\n", STR_ARG(c->publish), STR_ARG(branch));
	return arena_str(&c->arena, buf_str(&b));
}

static str first_log(struct git_call *c)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	for (size_t i = 0; i < c->publish.n; i++)
		buf_addc(&b, '0');
	buf_addf(&b, " " STR_FMT " Overseer <overseer@localhost> %lld +0000\toverseer: ready\n",
			STR_ARG(c->publish), (long long)c->since.tv_sec);
	return arena_str(&c->arena, buf_str(&b));
}

static int put_copy(struct git_call *c, const char *from, const char *to, struct ov_err *err)
{
	str text;

	/* Of what is not there, there is no copy. */
	if (file_read(&c->arena, from, GIT_FILE_MAX, &text, NULL) < 0)
		return 0;
	return git_write_plain(&c->arena, to, text, err);
}

static str link_to(struct git_call *c, const char *dir, const char *name)
{
	return arena_printf(&c->arena, STR_FMT "/%s",
			STR_ARG(relative(c, path_join(&c->arena, dir, "info"), c->g->common)),
			name);
}

static int put_link(struct git_call *c, const char *dir, const char *name, struct ov_err *err)
{
	str to = link_to(c, dir, name);
	const char *link = path_join(&c->arena, dir, name);

	if (!file_exists(path_join(&c->arena, c->g->common, name)))
		return 0;
	return symlink(to.p, link) == 0 ? 0 : ov_fail_errno(err, errno, "make %s", link);
}

static int put_index(struct git_call *c, const char *dir, struct ov_err *err)
{
	_cleanup_(fd_closep) int fd = file_open(path_join(&c->arena, c->own, "index"), O_RDONLY, 0);

	return fd < 0 ? 0 : git_copy_index(fd, path_join(&c->arena, dir, "index"), err);
}

/* The files by which a git folder says where things are, and could name programs. */
struct pointers {
	struct buf config;
	str alternates;
};

static struct pointers pointers(struct git_call *c, const char *dir)
{
	struct pointers p = { .config = BUF_INIT };

	config_text(c, dir, &p.config);
	p.alternates = arena_printf(&c->arena, STR_FMT "\n" STR_FMT,
			STR_ARG(relative(c, path_join(&c->arena, dir, "objects"),
					path_join(&c->arena, c->g->common, "objects"))),
			STR_ARG(git_lfs_used(c) ? git_lfs_alternates(c,
								  path_join(&c->arena, c->room,
										  GIT_AGENT_DIR))
						: STR("")));
	return p;
}

static bool is_text(struct git_call *c, const char *name, str want)
{
	str have;

	return file_read_beneath(&c->arena, c->admin, name, GIT_FILE_MAX, &have, NULL) == 0 &&
			str_eq(have, want);
}

static bool is_linked(struct git_call *c, const char *name)
{
	char *now = arena_alloc(&c->arena, PATH_MAX);
	ssize_t n = readlink(path_join(&c->arena, c->admin, name), now, PATH_MAX);

	if (!file_exists(path_join(&c->arena, c->g->common, name)))
		return n < 0 && errno == ENOENT;
	return n > 0 && str_eq((str){ now, (size_t)n }, link_to(c, c->admin, name));
}

bool git_is_published(struct git_call *c)
{
	struct pointers p;
	bool same;

	if (!c->admin || c->linked || c->op != GIT_OP_NONE || c->partly || git_admin_locked(c) ||
			!str_eq(c->publish, c->head) || !c->agent_tree.n ||
			!str_eq(c->agent_tree, c->head_tree) ||
			!str_eq(git_room_branch(c), c->publish))
		return false;
	p = pointers(c, c->admin);
	same = is_text(c, "HEAD",
			       arena_printf(&c->arena, "ref: refs/heads/" STR_FMT "\n",
					       STR_ARG(c->branch))) &&
			is_text(c, "config", buf_str(&p.config)) &&
			is_text(c, "commondir", STR(COMMONDIR)) &&
			is_text(c, "objects/info/alternates", p.alternates) &&
			is_linked(c, "info/exclude") && is_linked(c, "info/attributes") &&
			!git_admin_has(c, "config.worktree");
	buf_done(&p.config);
	return same;
}

static int fill(struct git_call *c, const char *dir, struct ov_err *err)
{
	static const char *const folders[] = { "", "objects", "objects/info", "objects/pack",
		"refs", "refs/heads", "info", "logs", "hooks" };
	struct arena *a = &c->arena;
	struct pointers p;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(folders); i++)
		if (mkdir(path_join(a, dir, folders[i]), 0755) < 0)
			r = ov_fail_errno(err, errno, "make %s/%s", dir, folders[i]);
	if (r < 0)
		return r;
	p = pointers(c, dir);
	if (git_lfs_used(c))
		r = git_lfs_refer(c, dir, err);
	const struct {
		const char *name;
		str text;
	} files[] = {
		{ "HEAD", arena_printf(a, "ref: refs/heads/" STR_FMT "\n", STR_ARG(c->branch)) },
		{ "config", buf_str(&p.config) },
		{ "commondir", STR(COMMONDIR) },
		{ PACKED, c->refs_text },
		{ "objects/info/alternates", p.alternates },
		{ "logs/HEAD", first_log(c) },
	};
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(files); i++)
		r = git_write_plain(a, path_join(a, dir, files[i].name), files[i].text, err);
	buf_done(&p.config);
	/* As they are then: lines are added to them. */
	static const char *const shared[] = { "info/exclude", "info/attributes" };
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(shared); i++)
		r = put_link(c, dir, shared[i], err);
	if (r == 0)
		r = put_copy(c, path_join(a, c->g->common, "shallow"), path_join(a, dir, "shallow"),
				err);
	if (r == 0)
		r = put_copy(c, path_join(a, c->own, "info/sparse-checkout"),
				path_join(a, dir, "info/sparse-checkout"), err);
	return r < 0 ? r : put_index(c, dir, err);
}

/* Putting it in place. */

static const char *beside(struct git_call *c, const char *name)
{
	return path_join(&c->arena, c->room, name);
}

static void keep_folder(struct git_call *c, const char *former, const char *name)
{
	const char *from = path_join(&c->arena, former, name),
		   *to = path_join(&c->arena, beside(c, GIT_AGENT_DIR), name);
	struct stat st;

	if (lstat(from, &st) == 0 && S_ISDIR(st.st_mode))
		(void)renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
}

/*
 * Repositories of submodules go on: what was made in them is nowhere else. So do the entries of
 * worktrees that the agent added, as long as it is the same task: without them git would take their
 * files for those of the worktree that they are in.
 */
static void keep_others(struct git_call *c, const char *former)
{
	keep_folder(c, former, MODULES);
	if (!c->record)
		keep_folder(c, former, GIT_LINKED_DIR);
}

int git_publish_keep(struct git_call *c, const char *folder, struct ov_err *err)
{
	int r = git_move_aside(c, folder, err);

	if (r == 0)
		c->res.detail = arena_printf(&c->arena,
				STR_FMT ": it is the agent's git folder, with more branches or "
					"commits than a rescue ref keeps",
				STR_ARG(c->res.detail));
	return r;
}

/*
 * A folder that names more than a rescue takes over is exchanged under a name of its own, by which
 * a call after a crash knows it, too.
 */
int git_publish_kept(struct git_call *c, struct ov_err *err)
{
	const char *former = beside(c, KEPT);

	if (!file_exists(former))
		return 0;
	keep_others(c, former);
	return git_publish_keep(c, former, err);
}

static int remove_one(const char *path, const struct stat *st _unused_, int kind,
		struct FTW *ftw _unused_)
{
	if (--removals < 0)
		return 1;
	return (kind == FTW_DP ? rmdir(path) : unlink(path)) < 0;
}

/* Gives up, with the rest left, at what cannot be removed or is too much to be waited for. */
static bool remove_some(const char *path)
{
	removals = REMOVED_AT_ONCE;
	return nftw(path, remove_one, 16, FTW_PHYS | FTW_DEPTH) == 0;
}

static int count_one(const char *path _unused_, const struct stat *st _unused_, int kind _unused_,
		struct FTW *ftw _unused_)
{
	return --removals < 0;
}

/* What is left then, because it cannot be removed or we were ended, the next call removes first. */
static void remove_replaced(struct git_call *c)
{
	(void)remove_some(beside(c, "new"));
}

/* A few small files, as mostly, go when the call is over, since nobody has to wait for that. */
static int replaced_build(struct git_call *c, struct ov_err *err)
{
	const char *former = beside(c, "new");
	int r = git_publish_kept(c, err);

	if (r < 0 || !file_exists(former))
		return r < 0 ? r : GIT_SKIP;
	removals = REMOVED_AT_ONCE;
	c->replaced = nftw(former, count_one, 16, FTW_PHYS) == 0;
	if (!c->replaced)
		return git_rm(c, former);
	c->at_end = remove_replaced;
	return GIT_SKIP;
}

static int rest_build(struct git_call *c, struct ov_err *err)
{
	int r = git_publish_kept(c, err);

	if (r < 0 || !file_exists(beside(c, "new")))
		return r < 0 ? r : GIT_SKIP;
	keep_others(c, beside(c, "new"));
	/* Mostly a few small files: a child would take longer. */
	return remove_some(beside(c, "new")) ? GIT_SKIP : git_rm(c, beside(c, "new"));
}

static int publish_list_build(struct git_call *c, struct ov_err *err _unused_)
{
	return git_run(c, AT_REPO, GIT_READS, "for-each-ref", "--format=%(objectname) %(refname)",
			"refs/heads", "refs/remotes", "refs/tags", NULL);
}

static int list_take(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	const char *new = beside(c, c->unnamed ? KEPT : "new");
	const char *agent = beside(c, GIT_AGENT_DIR);
	int r;

	c->refs_text = refs_text(c, o->out);
	r = fill(c, new, err);
	if (r < 0)
		return r;
	if (renameat2(AT_FDCWD, new, AT_FDCWD, agent, RENAME_EXCHANGE) < 0 &&
			(errno != ENOENT || rename(new, agent) < 0))
		return ov_fail_errno(err, errno, "put %s in place", agent);
	keep_others(c, new);
	r = git_own_note(c, GIT_AGENT_REFS, c->refs_text, err);
	if (r == 0)
		r = git_link(c, err);
	if (r < 0)
		return r;
	c->former = c->linked ? c->admin : NULL;
	c->admin = agent;
	c->linked = false;
	git_staged_is_ours(c);
	return GIT_NEXT;
}

/* What the text says of a ref; empty: nothing. */
static str oid_of(str text, str ref)
{
	str line, oid;

	while (str_split(&text, '\n', &line))
		if (str_split(&line, ' ', &oid) && str_eq(line, ref))
			return oid;
	return (str){ 0 };
}

/* The text with another commit for this ref; as it is where that has none, or has it already. */
static str with_ref(struct git_call *c, str text, str ref, str oid)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	str line;

	while (str_split(&text, '\n', &line)) {
		str name = line, was;

		if (!line.n)
			continue;
		if (str_split(&name, ' ', &was) && str_eq(name, ref))
			buf_addf(&b, STR_FMT " " STR_FMT "\n", STR_ARG(oid), STR_ARG(ref));
		else
			buf_addf(&b, STR_FMT "\n", STR_ARG(line));
	}
	return arena_str(&c->arena, buf_str(&b));
}

/*
 * As long as the target in it is the one that we gave the agent, nothing but that is lost; one that
 * the agent moved stays. A file that differs from ours in nothing but the target is ours, too: we
 * were cut off between the note and the file.
 */
static bool is_ours_to_move(struct git_call *c, str have, str ours)
{
	str ref = git_target_ref(c);

	return str_eq(oid_of(have, ref), oid_of(ours, ref)) ||
			str_eq(with_ref(c, have, ref, c->target_oid),
					with_ref(c, ours, ref, c->target_oid));
}

int git_publish_target(struct git_call *c, struct ov_err *err)
{
	_cleanup_(fd_closep) int dir = open(c->admin,
			O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const char *made = path_join(&c->arena, c->own, PACKED);
	str ours, have, now, note;
	int r;

	if (dir < 0 ||
			file_read_beneath(&c->arena, c->own, GIT_AGENT_REFS, GIT_FILE_MAX, &ours,
					NULL) < 0 ||
			file_read_beneath(&c->arena, c->admin, PACKED, GIT_FILE_MAX, &have, NULL) <
					0 ||
			!is_ours_to_move(c, have, ours))
		return 0;
	now = with_ref(c, have, git_target_ref(c), c->target_oid);
	note = with_ref(c, ours, git_target_ref(c), c->target_oid);
	if (str_eq(now, have))
		return 0;
	r = git_own_note(c, GIT_AGENT_REFS, note, err);
	if (r == 0)
		r = git_write_plain(&c->arena, made, now, err);
	if (r == 0 && renameat(AT_FDCWD, made, dir, PACKED) < 0)
		r = ov_fail_errno(err, errno, "put %s in place", made);
	return r;
}

/* The entry of a linked worktree that this was until now. */
static int former_build(struct git_call *c, struct ov_err *err _unused_)
{
	return c->former ? git_rm(c, c->former) : GIT_SKIP;
}

const struct git_step git_publish_steps[] = {
	STEP_RUN("remove what a former call left", rest_build, NULL),
	STEP_TAKE("make the agent's git folder", publish_list_build, list_take,
			.inject = "git-published"),
	STEP_RUN("remove the former git folder", replaced_build, NULL),
	STEP_RUN("remove the former entry", former_build, NULL),
	STEP_END,
};
