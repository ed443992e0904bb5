/*
 * Files that an agent ignores by rules of its own: by a .gitignore that the base does not have, or
 * has otherwise, and that may ignore itself. Nobody sees them, and with the worktree they would be
 * gone, as what the base ignores is (what a build made). They are rescued before; what is too much
 * for that is moved aside.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/map.h"
#include "drive/git/git_aside.h"
#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"
#include "drive/git/git_walk.h"
#include "drive/worktree/git_embedded.h"
#include "sys/file/file.h"

/* What lies below ignored folders; beyond that it is moved as a whole. */
enum { FILES_MAX = 20000 };

static int list_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->folder || c->making || c->keep_ignored || !c->head.n)
		return GIT_LEAVE;
	return git_run(c, AT_TREE, GIT_READS, "status", "--porcelain=v1", "-z",
			"--untracked-files=all", "--ignored=matching", "--ignore-submodules=all",
			"--no-renames", NULL);
}

/* "!! NAME", a folder with a slash at its end: not what is in it. */
static int list_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	_cleanup_(buf_done) struct buf names = BUF_INIT;
	str rest = o->out, e;

	while (str_split(&rest, '\0', &e))
		if (str_starts(e, STR("!! "))) {
			buf_adds(&names, str_sub(e, 3, e.n));
			buf_addc(&names, '\0');
		}
	c->changes = arena_str(&c->arena, buf_str(&names));
	return c->changes.n ? GIT_NEXT : GIT_LEAVE;
}

static int rules_build(struct git_call *c, struct ov_err *err _unused_)
{
	git_run(c, AT_TREE, GIT_READS, "check-ignore", "-z", "-v", "--stdin", NULL);
	c->input = c->changes;
	return GIT_NEXT;
}

/* "SOURCE\0LINE\0PATTERN\0NAME\0" each; only sources in the worktree have no slash in front. */
static bool next_rule(str *rest, str *ret_source, str *ret_name)
{
	str line, pattern;

	while (str_split(rest, '\0', ret_source) && str_split(rest, '\0', &line) &&
			str_split(rest, '\0', &pattern) && str_split(rest, '\0', ret_name))
		if (ret_source->n && ret_source->p[0] != '/')
			return true;
	return false;
}

/* Each source once, in the order in which they come. */
static void sources_of(struct git_call *c, str rules, struct buf *b)
{
	str source, name;
	struct map seen;

	map_init(&seen, 0);
	while (next_rule(&rules, &source, &name))
		if (str_find_byte(source, '\n') == source.n && !map_get(&seen, source)) {
			map_put(&seen, source, c);
			buf_adds(b, source);
			buf_addc(b, '\n');
		}
	map_done(&seen);
}

static int rules_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	str rest = o->out, source, name;

	if (o->code > 1)
		return git_fail(c, o, err);
	c->hidden = arena_str(&c->arena, o->out);
	return next_rule(&rest, &source, &name) ? GIT_NEXT : GIT_LEAVE;
}

/* What the base says there. */
static int base_build(struct git_call *c, struct ov_err *err _unused_)
{
	str base = git_own_line(c, GIT_BASE), rest, source;
	_cleanup_(buf_done) struct buf sources = BUF_INIT, input = BUF_INIT;

	if (!git_oid_valid(base))
		base = c->head;
	sources_of(c, c->hidden, &sources);
	rest = buf_str(&sources);
	while (str_split(&rest, '\n', &source))
		if (source.n)
			buf_addf(&input, STR_FMT ":" STR_FMT "\n", STR_ARG(base), STR_ARG(source));
	git_run(c, AT_ADMIN, GIT_READS, "cat-file", "--batch", NULL);
	c->input = arena_str(&c->arena, buf_str(&input));
	return GIT_NEXT;
}

/* The next answer, "OID blob SIZE\nCONTENT\n": is it what lies in the worktree? */
static bool is_the_bases(struct git_call *c, str *rest, str source)
{
	str line, part, size = { 0 }, have, content;
	int64_t n = 0;

	if (!str_split(rest, '\n', &line) || str_ends(line, STR(" missing")))
		return false;
	while (str_split(&line, ' ', &part))
		size = part;
	if (!str_to_i64(size, &n) || n < 0 || (size_t)n >= rest->n)
		return false;
	content = str_sub(*rest, 0, (size_t)n);
	*rest = str_sub(*rest, (size_t)n + 1, rest->n);
	return file_read_beneath(&c->arena, c->path, arena_cstr(&c->arena, source), GIT_FILE_MAX,
			       &have, NULL) == 0 &&
			str_eq(have, content);
}

struct hidden_found {
	struct git_call *c;
	struct buf *names;
	int64_t bytes;
	bool whole; /* another repository is among them */
};

static void add_file(struct hidden_found *f, int dir, const char *path, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			!(S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)))
		return;
	f->bytes += st.st_size;
	buf_adds(f->names, str_from(path));
	buf_addc(f->names, '\0');
}

static bool each(struct git_walk *w, int dir, const char *folder, const char *name, int type)
{
	struct hidden_found *f = w->user;

	f->whole |= strcmp(name, ".git") == 0;
	if (type == DT_REG || type == DT_LNK)
		add_file(f, dir, git_walk_name(&f->c->arena, folder, name), name);
	return !f->whole;
}

static void add_entry(struct hidden_found *f, str name)
{
	struct git_walk w = { .c = f->c, .entries = FILES_MAX, .each = each, .user = f };

	if (name.p[name.n - 1] != '/') {
		const char *path = arena_cstr(&f->c->arena, name);

		add_file(f, f->c->tree_fd, path, path);
		return;
	}
	git_walk(&w, arena_cstr(&f->c->arena, str_sub(name, 0, name.n - 1)));
	f->whole |= w.cut || w.closed;
}

static int base_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	_cleanup_(buf_done) struct buf sources = BUF_INIT, names = BUF_INIT, entries = BUF_INIT;
	struct hidden_found f = { .c = c, .names = &names };
	str rest, answers = o->out, source, name;
	struct map known;

	map_init(&known, 0);
	sources_of(c, c->hidden, &sources);
	rest = buf_str(&sources);
	while (str_split(&rest, '\n', &source))
		if (source.n && is_the_bases(c, &answers, source))
			map_put(&known, source, c);
	rest = c->hidden;
	while (next_rule(&rest, &source, &name))
		if (name.n && !map_get(&known, source)) {
			add_entry(&f, name);
			buf_adds(&entries, name);
			buf_addc(&entries, '\0');
		}
	map_done(&known);
	c->hidden = arena_str(&c->arena, buf_str(&entries));
	c->changes = arena_str(&c->arena, buf_str(&names));
	c->ok = !f.whole && f.bytes <= GIT_RESCUED_MAX;
	c->tree = c->rescue.added ? c->rescue.tree : c->head_tree;
	c->start = c->head;
	return c->changes.n ? GIT_NEXT : GIT_LEAVE;
}

static int rescue_only(struct git_call *c, struct ov_err *err _unused_)
{
	return c->ok ? GIT_NEXT : GIT_SKIP;
}

static int aside(struct git_call *c, struct ov_err *err)
{
	str rest = c->hidden, name;
	int r = 0;

	while (!c->ok && r == 0 && str_split(&rest, '\0', &name))
		if (name.n)
			r = git_aside_path(c, name, err);
	return r < 0 ? r : GIT_SKIP;
}

const struct git_step git_hidden_steps[] = {
	STEP_TAKE("see what is ignored", list_build, list_take),
	STEP_RUN("see by which rules", rules_build, rules_judge),
	STEP_TAKE("see which rules are the base's", base_build, base_take),
	STEP_SUB("rescue what is ignored by others", rescue_only, git_add_ignored_steps),
	STEP_RUN("move what is ignored by others aside", aside, NULL),
	STEP_END,
};
