/*
 * Our side of a worktree: a git directory with no branches, the repository's objects, an index that
 * nobody else writes, and the configuration as it was recorded before anybody worked there. Of that
 * only what says how files are turned into objects is kept; no hook, monitor, include, alias, helper
 * or driver for differences is.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "drive/git_attributes.h"
#include "drive/git_call.h"
#include "drive/git_confine.h"
#include "drive/git_lfs.h"
#include "drive/git_steps.h"
#include "sys/file.h"

#define ATTRIBUTES "attributes" /* a note: what info/attributes holds, mostly */
#define EXCLUDES "exclude"      /* a note: the repository's info/exclude, as it was recorded */
#define INDEX_AT "index-at"     /* the commit whose tree the index was read from */

enum { FILES_MAX = 4096, ATTRIBUTES_MAX = 16 << 20 };

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

/* "filter.l f s.clean" is [filter "l f s"] clean. */
static void add_variable(struct buf *b, str name, str value)
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

/* Where the repository has them they are ours, too: this is read at each call. */
static int share(struct git_call *c, const char *name, struct ov_err *err)
{
	const char *from = path_join(&c->arena, c->g->common, name),
		   *to = path_join(&c->arena, c->own, name);
	char *now = arena_alloc(&c->arena, PATH_MAX);
	ssize_t n = readlink(to, now, PATH_MAX);

	if (n > 0 && str_eq((str){ now, (size_t)n }, str_from(from)))
		return 0;
	if ((unlink(to) < 0 && errno != ENOENT) || symlink(from, to) < 0)
		return ov_fail_errno(err, errno, "make %s", to);
	return 0;
}

/*
 * What the repository excluded when the worktree was made, and what we have excluded since: not what an
 * agent adds to it.
 */
static int put_excludes(struct git_call *c, struct ov_err *err)
{
	static const char *const ours[] = { "/.overseer/", "/.serena/" };
	const char *name = "info/exclude";
	_cleanup_(buf_done)
	struct buf b = BUF_INIT;
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

static int config_build(struct git_call *c, struct ov_err *err)
{
	int r = make_folders(c, err);

	if (r < 0)
		return r;
	if (c->recorded || (!c->record && file_exists(path_join(&c->arena, c->own, "config"))))
		return GIT_SKIP;
	return git_run(c, AT_REPO, GIT_READS, "config", "--list", "-z", NULL);
}

static int config_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	_cleanup_(buf_done)
	struct buf b = BUF_INIT;
	str rest = o->out, entry, name;
	const char *sparse = path_join(&c->arena, c->g->git_dir, "info/sparse-checkout");
	str patterns, excludes, storage = { 0 };
	bool lfs = false;
	int r;

	if (o->code != 0)
		return git_fail(c, o, err);
	buf_adds(&b, STR("[core]\n\trepositoryformatversion = 1\n\tbare = false\n"));
	while (str_split(&rest, '\0', &entry)) {
		bool valued = str_find_byte(entry, '\n') < entry.n;

		if (!str_split(&entry, '\n', &name) || !is_recorded(name))
			continue;
		if (git_is_program(name) && valued)
			add_variable(&b, name, git_confine_program(c, name, entry));
		else
			add_variable(&b, name, valued ? entry : STR("true"));
		c->filters |= str_starts(name, STR("filter."));
		c->drivers |= str_starts(name, STR("merge.")) && str_ends(name, STR(".driver"));
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
		r = git_own_note(c, EXCLUDES, excludes, err);
	if (r == 0)
		r = put_excludes(c, err);
	if (r == 0 && file_read(&c->arena, sparse, GIT_FILE_MAX, &patterns, NULL) == 0)
		r = git_own_note(c, "info/sparse-checkout", patterns, err);
	return r < 0 ? r : GIT_NEXT;
}

const struct git_step git_own_steps[] = {
	STEP_RUN("record the configuration", config_build, config_judge),
	STEP_END,
};

/*
 * Filters and merge drivers are programs. They run for the files for which the base names them, the
 * repository's info/attributes or the user's own file: what an agent adds to the attributes makes none run.
 */

static str attributes_file(struct git_call *c, str path)
{
	const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME"), *name;
	str text;

	if (str_starts(path, STR("~/")) && home)
		name = path_join(&c->arena, home, arena_cstr(&c->arena, str_sub(path, 2, path.n)));
	else if (path.n)
		name = arena_cstr(&c->arena, path);
	else if (config && config[0])
		name = path_join(&c->arena, config, "git/attributes");
	else
		name = path_join(&c->arena, home ? home : "/", ".config/git/attributes");
	return file_read(&c->arena, name, GIT_FILE_MAX, &text, NULL) == 0 ? text : STR("");
}

static int programs_build(struct git_call *c, struct ov_err *err)
{
	if (!c->filters && !c->drivers)
		return git_own_note(c, ATTRIBUTES, c->info_attributes, err) < 0 ? err->code
										: GIT_LEAVE;
	return git_run(c, AT_REPO, GIT_READS, "grep", "-z", "--text", "--full-name", "-e", "",
			c->base.n ? c->base.p : c->target_oid.p, "--", ":(glob)**/.gitattributes",
			NULL);
}

static size_t depth_of(str path)
{
	size_t n = 0;

	for (size_t i = 0; i < path.n; i++)
		n += path.p[i] == '/';
	return n;
}

/* "COMMIT:PATH\0LINE\n" each, into files; those deeper down count more, and come later. */
static size_t gather(struct git_call *c, str out, struct git_attributes *files, size_t max)
{
	struct buf text = BUF_INIT;
	str path, line, last = { 0 };
	size_t n = 0;

	for (;;) {
		bool more = str_split(&out, '\0', &path) && str_split(&out, '\n', &line);

		if (!more || !str_eq(path, last)) {
			if (last.n && n < max) {
				str dir = str_sub(last, str_find_byte(last, ':') + 1, last.n);

				dir.n -= MIN(dir.n, strlen("/.gitattributes"));
				files[n++] = (struct git_attributes){ dir,
					arena_str(&c->arena, buf_str(&text)) };
			}
			buf_clear(&text);
			last = path;
		}
		if (!more)
			break;
		buf_addf(&text, STR_FMT "\n", STR_ARG(line));
	}
	buf_done(&text);
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 &&
				(files[k].dir.n ? depth_of(files[k].dir) + 1 : 0) <
						(files[k - 1].dir.n ? depth_of(files[k - 1].dir) + 1
								    : 0);
				k--) {
			struct git_attributes swap = files[k];

			files[k] = files[k - 1];
			files[k - 1] = swap;
		}
	return n;
}

static int programs_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	static const char *const names[] = { "filter", "merge" };
	const bool wanted[] = { c->filters, c->drivers };
	struct git_attributes *files = arena_array(&c->arena, struct git_attributes, FILES_MAX + 2);
	_cleanup_(buf_done)
	struct buf b = BUF_INIT;
	size_t n;
	int r;

	if (o->code > 1)
		return git_fail(c, o, err);
	files[0] = (struct git_attributes){ .text = attributes_file(c, c->attributes_path) };
	n = 1 + gather(c, o->out, files + 1, FILES_MAX);
	files[n++] = (struct git_attributes){ .text = c->info_attributes };
	buf_addf(&b, STR_FMT "\n", STR_ARG(c->info_attributes));
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (wanted[i])
			buf_addf(&b, "* !%s\n" STR_FMT, names[i],
					STR_ARG(git_attributes_rules(&c->arena, files, n,
							names[i])));
	r = git_own_note(c, ATTRIBUTES, buf_str(&b), err);
	return r < 0 ? r : GIT_NEXT;
}

static int attributes(struct git_call *c, struct ov_err *err)
{
	int r = git_own_attributes(c, false, err);

	return r < 0 ? r : GIT_SKIP;
}

static const struct git_step programs_steps[] = {
	STEP_RUN("see for which files programs run", programs_build, programs_judge),
	STEP_END,
};

const struct git_step git_programs_steps[] = {
	STEP_SUB("see for which files programs run", NULL, programs_steps),
	STEP_RUN("see for which files programs run", attributes, NULL),
	STEP_END,
};

/* What counts more than any .gitattributes. raw: files are taken byte by byte. */
int git_own_attributes(struct git_call *c, bool raw, struct ov_err *err)
{
	str text = STR("* -text -filter -ident -working-tree-encoding\n");

	if (!raw &&
			file_read(&c->arena, path_join(&c->arena, c->own, ATTRIBUTES),
					ATTRIBUTES_MAX, &text, NULL) < 0)
		text = STR("");
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
		(void)git_own_note(c, INDEX_AT, commit, NULL); /* unknown: it is read anew */
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
