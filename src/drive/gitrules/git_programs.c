/*
 * Filters and merge drivers are programs. They run for the files for which the base names them, the
 * repository's info/attributes or the user's own file: what an agent adds to the attributes
 * makes none run.
 *
 * git-lfs is the exception: what it does to a file is known, it is confined, and its content is
 * taken over with care (git_lfs.c). For it the rules in the worktree count, as they do for the
 * agent's git and will for the user's: otherwise a pointer that the agent committed would become
 * the file again.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "drive/git/git_call.h"
#include "drive/git/git_lfs.h"
#include "drive/git/git_steps.h"
#include "drive/gitrules/git_attributes.h"
#include "drive/gitrules/git_programs.h"
#include "drive/gitrules/git_settings.h"
#include "sys/file/file.h"

/* Notes, as they were recorded: */
#define USERS "attributes-user" /* the user's own file */
#define INFO "attributes-info"  /* the repository's */
#define BASE "attributes-base"  /* the rules about filters, with those of the base's files */

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

int git_attributes_list(struct git_call *c, const char *commit, const char *other)
{
	git_run(c, AT_REPO, GIT_READS, "grep", "-z", "--text", "--full-name", "--no-line-number",
			"--no-column", "--no-color", "-e", "", commit, NULL);
	if (other)
		git_args(c, other, NULL);
	git_args(c, "--", ":(glob)**/.gitattributes", NULL);
	return GIT_NEXT;
}

static int programs_build(struct git_call *c, struct ov_err *err)
{
	unlink(path_join(&c->arena, c->own, GIT_ATTRIBUTES_LFS));
	if (!c->filters && !c->drivers)
		return git_own_note(c, GIT_ATTRIBUTES, c->info_attributes, err) < 0 ? err->code
										    : GIT_LEAVE;
	return git_attributes_list(c, c->base.n ? c->base.p : c->target_oid.p, NULL);
}

static size_t depth_of(str dir)
{
	size_t n = dir.n > 0;

	for (size_t i = 0; i < dir.n; i++)
		n += dir.p[i] == '/';
	return n;
}

/* Those deeper down count more, and come later. */
static void sort(struct git_attributes *files, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && depth_of(files[k].dir) < depth_of(files[k - 1].dir);
				k--) {
			struct git_attributes swap = files[k];

			files[k] = files[k - 1];
			files[k - 1] = swap;
		}
}

static str folder_of(str path)
{
	return str_sub(path, 0, path.n - MIN(path.n, strlen("/.gitattributes")));
}

/* "COMMIT:PATH\0LINE\n" each. */
static size_t gather(struct git_call *c, str out, const char *commit, struct git_attributes *files)
{
	str prefix = arena_printf(&c->arena, "%s:", commit), path, line, last = { 0 };
	struct buf text = BUF_INIT;
	size_t n = 0;

	for (;;) {
		bool more = str_split(&out, '\0', &path) && str_split(&out, '\n', &line);

		if (!more || !str_eq(path, last)) {
			if (str_starts(last, prefix) && n < GIT_ATTRIBUTES_FILES)
				files[n++] = (struct git_attributes){
					folder_of(str_sub(last, prefix.n, last.n)),
					arena_str(&c->arena, buf_str(&text))
				};
			buf_clear(&text);
			last = path;
		}
		if (!more)
			break;
		buf_addf(&text, STR_FMT "\n", STR_ARG(line));
	}
	buf_done(&text);
	sort(files, n);
	return n;
}

size_t git_attributes_of(struct git_call *c, str out, const char *commit,
		struct git_attributes **ret)
{
	struct git_attributes *files = arena_array(&c->arena, struct git_attributes,
			GIT_ATTRIBUTES_FILES + 2);
	size_t n;

	files[0] = (struct git_attributes){ .text = git_own_text(c, USERS) };
	n = 1 + gather(c, out, commit, files + 1);
	files[n++] = (struct git_attributes){ .text = git_own_text(c, INFO) };
	*ret = files;
	return n;
}

static int programs_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	static const char *const names[] = { "filter", "merge" };
	const bool wanted[] = { c->filters, c->drivers };
	struct git_attributes *files;
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	size_t n;
	int r;

	if (o->code > 1)
		return git_fail(c, o, err);
	r = git_own_note(c, USERS, attributes_file(c, c->attributes_path), err);
	if (r == 0)
		r = git_own_note(c, INFO, c->info_attributes, err);
	n = git_attributes_of(c, o->out, c->base.n ? c->base.p : c->target_oid.p, &files);
	buf_addf(&b, STR_FMT "\n", STR_ARG(c->info_attributes));
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		str rules = git_attributes_rules(&c->arena, files, n, names[i], NULL);

		if (wanted[i])
			buf_addf(&b, "* !%s\n" STR_FMT, names[i], STR_ARG(rules));
		if (r == 0 && i == 0)
			r = git_own_note(c, BASE, rules, err);
	}
	if (r == 0)
		r = git_own_note(c, GIT_ATTRIBUTES, buf_str(&b), err);
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

bool git_filter_listed(str names, str name)
{
	str one;

	while (str_split(&names, '\n', &one))
		if (str_eq(one, name))
			return true;
	return false;
}

bool git_filter_named(str names, str token, str *ret)
{
	str before = STR("filter=");

	if (!str_starts(token, before))
		return false;
	*ret = str_sub(token, before.n, token.n);
	return git_filter_listed(names, *ret);
}

/* ---- git-lfs: the rules in the worktree ---- */

static int rules_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->own || !c->folder || c->making || c->tree_fd < 0 || c->g->no_lfs ||
			!git_lfs_used(c))
		return GIT_LEAVE;
	return git_run(c, AT_TREE, GIT_READS, "ls-files", "-z", "--cached", "--others",
			"--exclude-standard", "--", ":(glob)**/.gitattributes", NULL);
}

/* As git reads it: not through a link. */
static str read_in_tree(struct git_call *c, str name)
{
	_cleanup_(fd_closep) int fd = file_openat_beneath(c->tree_fd, arena_cstr(&c->arena, name),
			O_RDONLY);
	struct stat st;
	str text;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
			file_read(&c->arena, arena_printf(&c->arena, "/proc/self/fd/%d", fd).p,
					GIT_FILE_MAX, &text, NULL) < 0)
		return STR("");
	return text;
}

/*
 * What they say of git-lfs; that another filter is named there does not count, only that it is
 * not git-lfs.
 */
static void add_rules(struct buf *b, str rules)
{
	str pattern, token;

	while (git_attributes_next(&rules, &pattern, &token)) {
		bool kept = str_is(token, "filter=lfs") || str_is(token, "-filter");

		buf_addf(b, STR_FMT " " STR_FMT "\n", STR_ARG(pattern),
				STR_ARG(kept ? token : STR("!filter")));
	}
}

static bool names_others(struct git_call *c, str rules)
{
	str names = git_own_text(c, GIT_FILTERS), pattern, token, name;

	while (git_attributes_next(&rules, &pattern, &token))
		if (git_filter_named(names, token, &name))
			return true;
	return false;
}

/* The base's rules come after them where it names another filter, which has to stay. */
static int rules_take(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	struct git_attributes *files = arena_array(&c->arena, struct git_attributes,
			GIT_ATTRIBUTES_FILES + 2);
	str rest = o->out, name, base = git_own_text(c, BASE);
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	size_t n = 1;
	int r;

	files[0].text = git_own_text(c, USERS);
	while (n <= GIT_ATTRIBUTES_FILES && str_split(&rest, '\0', &name))
		files[n++] = (struct git_attributes){ folder_of(name), read_in_tree(c, name) };
	sort(files + 1, n - 1);
	files[n++].text = git_own_text(c, INFO);
	buf_adds(&b, STR("* !filter\n"));
	add_rules(&b, git_attributes_rules(&c->arena, files, n, "filter", NULL));
	if (names_others(c, base))
		buf_adds(&b, base);
	if (str_eq(buf_str(&b), git_own_text(c, GIT_ATTRIBUTES_LFS)))
		return GIT_LEAVE;
	r = git_own_note(c, GIT_ATTRIBUTES_LFS, buf_str(&b), err);
	return r < 0 ? r : GIT_NEXT;
}

const struct git_step git_rules_steps[] = {
	STEP_TAKE("see for which files programs run", rules_build, rules_take),
	STEP_RUN("see for which files programs run", attributes, NULL),
	STEP_END,
};
