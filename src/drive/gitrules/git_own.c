/*
 * Our side of a worktree: a git directory with no branches, the repository's objects, an index that
 * nobody else writes, and the configuration as it was recorded before anybody worked there. Of that
 * only what says how files are turned into objects is kept; no hook, monitor, include, alias,
 * helper or driver for differences is.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "drive/git/git_call.h"
#include "drive/git/git_confine.h"
#include "drive/git/git_lfs.h"
#include "drive/git/git_steps.h"
#include "drive/gitrules/git_attributes.h"
#include "drive/gitrules/git_programs.h"
#include "drive/gitrules/git_settings.h"
#include "sys/file/file.h"

#define EXCLUDES "exclude"  /* a note: the repository's info/exclude, as it was recorded */
#define INDEX_AT "index-at" /* the commit whose tree the index was read from */

/* Names of variables as `git config --list` prints them; a dot at the end: all below it. */
static const char *const recorded[] = { "core.autocrlf", "core.eol", "core.filemode",
	"core.symlinks", "core.ignorecase", "core.precomposeunicode", "core.protecthfs",
	"core.protectntfs", "core.bigfilethreshold", "core.excludesfile", "core.attributesfile",
	"core.sparsecheckout", "core.sparsecheckoutcone", "core.trustctime", "core.checkstat",
	"core.compression", "extensions.objectformat", "filter.", "lfs.", "merge.",
	"index.version" };

static bool is_recorded(str name)
{
	for (size_t i = 0; i < ARRAY_LEN(recorded); i++) {
		str row = str_from(recorded[i]);

		if (str_ends(row, STR(".")) ? str_starts(name, row) : str_eq(name, row))
			return true;
	}
	return false;
}

static void add_quoted(struct buf *b, str s)
{
	buf_addc(b, '"');
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '\n') {
			buf_adds(b, STR("\\n"));
			continue;
		}
		if (s.p[i] == '"' || s.p[i] == '\\')
			buf_addc(b, '\\');
		buf_addc(b, s.p[i]);
	}
	buf_addc(b, '"');
}

void git_config_add(struct buf *b, str name, str value)
{
	size_t first = str_find_byte(name, '.'), last = name.n;
	str section = str_sub(name, 0, first), below = { 0 };

	while (last > 0 && name.p[last - 1] != '.')
		last--;
	if (last > first + 1)
		below = str_sub(name, first + 1, last - first - 2);
	buf_addf(b, "[" STR_FMT, STR_ARG(section));
	if (below.n) {
		buf_addc(b, ' ');
		add_quoted(b, below);
	}
	buf_addf(b, "]\n\t" STR_FMT " = ", STR_ARG(str_sub(name, last, name.n)));
	add_quoted(b, value);
	buf_addc(b, '\n');
}

/*
 * Where the repository has it, it is ours, too. A link to nothing would puzzle those who look
 * at all files.
 */
static int share(struct git_call *c, const char *name, struct ov_err *err)
{
	const char *from = path_join(&c->arena, c->g->common, name),
		   *to = path_join(&c->arena, c->own, name);
	char *now = arena_alloc(&c->arena, PATH_MAX);
	ssize_t n = readlink(to, now, PATH_MAX);
	bool wanted = file_exists(from);

	if (wanted ? n > 0 && str_eq((str){ now, (size_t)n }, str_from(from)) : n < 0)
		return 0;
	if ((unlink(to) < 0 && errno != ENOENT) || (wanted && symlink(from, to) < 0))
		return ov_fail_errno(err, errno, "make %s", to);
	return 0;
}

/*
 * What the repository excluded when the worktree was made, and what we have excluded since: not
 * what an agent adds to it.
 */
static int put_excludes(struct git_call *c, struct ov_err *err)
{
	static const char *const ours[] = { "/.overseer/", "/.serena/" };
	const char *name = "info/exclude";
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	str now = STR(""), text, rest, line;

	if (file_read(&c->arena, path_join(&c->arena, c->g->common, name), GIT_FILE_MAX, &now,
			    NULL) < 0)
		now = STR("");
	if (file_read_beneath(&c->arena, c->own, EXCLUDES, GIT_FILE_MAX, &text, NULL) < 0)
		text = now;
	buf_addf(&b, STR_FMT "\n", STR_ARG(text));
	rest = now;
	while (str_split(&rest, '\n', &line))
		for (size_t i = 0; i < ARRAY_LEN(ours); i++)
			if (str_starts(line, str_from(ours[i])) && !str_contains(text, line))
				buf_addf(&b, STR_FMT "\n", STR_ARG(line));
	if (file_read_beneath(&c->arena, c->own, name, GIT_FILE_MAX, &text, NULL) == 0 &&
			str_eq(text, buf_str(&b)))
		return 0;
	return git_own_note(c, name, buf_str(&b), err);
}

static int make_folders(struct git_call *c, struct ov_err *err)
{
	static const char *const folders[] = { "refs", "info" };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(folders); i++)
		r = dir_make(path_join(&c->arena, c->own, folders[i]), 0700, err);
	if (r == 0)
		r = put_excludes(c, err);
	if (r == 0)
		r = share(c, "shallow", err);
	if (r == 0)
		r = git_lfs_own(c, err);
	if (r == 0)
		r = git_confine_script(c, err);
	if (r == 0 && !git_own_line(c, "HEAD").n)
		r = git_own_note(c, "HEAD", STR("ref: refs/heads/none\n"), err);
	return r;
}

/* "filter.NAME.clean": its name, once, unless it is git-lfs. */
static void add_filter(struct buf *names, str variable)
{
	str below = str_sub(variable, strlen("filter."), variable.n);

	while (below.n && below.p[below.n - 1] != '.')
		below.n--;
	below.n -= below.n > 0;
	if (below.n && !str_is(below, "lfs") && !git_filter_listed(buf_str(names), below))
		buf_addf(names, STR_FMT "\n", STR_ARG(below));
}

static int config_build(struct git_call *c, struct ov_err *err)
{
	int r = make_folders(c, err);

	if (r < 0)
		return r;
	if (c->recorded || (!c->record && file_exists(path_join(&c->arena, c->own, "config"))))
		return GIT_SKIP;
	return git_run(c, AT_REPO, GIT_READS, "config", "--list", "-z", "--show-scope", NULL);
}

static int config_take(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT, filters = BUF_INIT;
	str rest = o->out, entry, name, scope;
	const char *sparse = path_join(&c->arena, c->g->git_dir, "info/sparse-checkout");
	str patterns, excludes, storage = { 0 };
	bool lfs = false, any = false, some = false;
	int r;

	buf_adds(&b, STR("[core]\n\trepositoryformatversion = 1\n\tbare = false\n"));
	while (str_split(&rest, '\0', &scope) && str_split(&rest, '\0', &entry)) {
		bool valued = str_find_byte(entry, '\n') < entry.n;

		if (!str_split(&entry, '\n', &name) || !is_recorded(name))
			continue;
		if (git_is_program(name) && valued)
			git_config_add(&b, name, git_confine_program(c, name, entry));
		else
			git_config_add(&b, name, valued ? entry : STR("true"));
		if (git_is_program(name) && str_starts(name, STR("filter.")) && entry.n)
			add_filter(&filters, name);
		c->filters |= str_starts(name, STR("filter."));
		c->drivers |= str_starts(name, STR("merge.")) && str_ends(name, STR(".driver"));
		some |= git_is_program(name) && entry.n;
		any |= str_is(name, "merge.default");
		lfs |= str_starts(name, STR("filter.lfs."));
		if (str_is(name, "lfs.storage"))
			storage = entry;
		if (str_is(name, "core.attributesfile"))
			c->attributes_path = arena_str(&c->arena, entry);
	}
	c->recorded = true;
	if (file_read(&c->arena, path_join(&c->arena, c->g->common, "info/attributes"),
			    GIT_FILE_MAX, &c->info_attributes, NULL) < 0)
		c->info_attributes = STR("");
	if (file_read(&c->arena, path_join(&c->arena, c->g->common, "info/exclude"), GIT_FILE_MAX,
			    &excludes, NULL) < 0)
		excludes = STR("");
	if (!lfs)
		git_lfs_unused(c);
	r = lfs ? git_lfs_record(c, storage, &b, err) : 0;
	if (r == 0)
		r = git_own_note(c, "config", buf_str(&b), err);
	if (r == 0)
		r = git_own_note(c, GIT_FILTERS, buf_str(&filters), err);
	if (r == 0)
		r = git_settings_record(c, o->out, err);
	if (r == 0)
		r = git_note_programs(c, some, any, err);
	if (r == 0)
		r = git_own_note(c, EXCLUDES, excludes, err);
	if (r == 0)
		r = put_excludes(c, err);
	if (r == 0 && file_read(&c->arena, sparse, GIT_FILE_MAX, &patterns, NULL) == 0)
		r = git_own_note(c, "info/sparse-checkout", patterns, err);
	return r < 0 ? r : GIT_NEXT;
}

const struct git_step git_own_steps[] = {
	STEP_TAKE("record the configuration", config_build, config_take),
	STEP_END,
};

/* What counts more than any .gitattributes. raw: files are taken byte by byte. */
int git_own_attributes(struct git_call *c, bool raw, struct ov_err *err)
{
	str text = STR("* -text -filter -ident -working-tree-encoding\n");

	c->runs = RUNS_UNKNOWN;
	if (!raw)
		text = arena_printf(&c->arena, STR_FMT "\n" STR_FMT,
				STR_ARG(git_own_text(c, GIT_ATTRIBUTES)),
				STR_ARG(git_own_text(c, GIT_ATTRIBUTES_LFS)));
	for (size_t i = 0; i < c->unencoded.n; i++)
		text = arena_printf(&c->arena, STR_FMT "\n" STR_FMT, STR_ARG(text),
				STR_ARG(git_attributes_rule(&c->arena, str_from(c->unencoded.p[i]),
						"-working-tree-encoding")));
	return git_own_note(c, "info/attributes", text, err);
}

/* The index stands for HEAD: what is equal in it since the last time is not read again. */

void git_own_index_is(struct git_call *c, str commit)
{
	if (commit.n)
		(void)git_own_note(c, INDEX_AT, commit, NULL); /* unknown: it is read again */
	else
		unlink(path_join(&c->arena, c->own, INDEX_AT));
}

static int index_build(struct git_call *c, struct ov_err *err)
{
	const char *index = path_join(&c->arena, c->own, "index");
	bool former = !c->sparse && git_own_line(c, GIT_SPARSE).n; /* it is another call's */
	bool there = file_exists(index) && !c->index_bad && !former;
	str head = c->head.n ? arena_printf(&c->arena, STR_FMT "\n", STR_ARG(c->head))
			     : STR("ref: refs/heads/none\n");
	int r = c->folder && !c->making ? git_own_note(c, "HEAD", head, err) : GIT_LEAVE;

	if (r)
		return r;
	if (there && c->head.n && str_eq(git_own_line(c, INDEX_AT), c->head))
		return GIT_SKIP;
	git_own_index_is(c, STR(""));
	if (c->index_bad || former)
		unlink(index);
	git_run(c, AT_TREE, 0, "read-tree", NULL);
	if (!c->head.n)
		git_args(c, "--empty", NULL);
	else if (there)
		git_args(c, "-m", "-i", c->head.p, NULL);
	else
		git_args(c, c->head.p, NULL);
	return GIT_NEXT;
}

static int index_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code != 0 && !c->index_bad) {
		c->index_bad = true;
		return GIT_AGAIN;
	}
	if (o->code != 0)
		return git_fail(c, o, err);
	c->index_bad = false;
	if (!c->sparse)
		unlink(path_join(&c->arena, c->own, GIT_SPARSE));
	git_own_index_is(c, c->head);
	return GIT_NEXT;
}

const struct git_step git_own_index_steps[] = {
	STEP_RUN("read what was committed", index_build, index_judge),
	STEP_END,
};
