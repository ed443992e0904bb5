/*
 * Pointers of git-lfs to content that is not in the repository's storage, or has another size
 * there, do not get to the target branch: in the user's checkout git could not write the file, and
 * git-lfs would remove the content that is there. A pointer that the target has already may be
 * moved about.
 */
#include <sys/stat.h>

#include "base/map.h"
#include "base/utf8.h"
#include "drive/git/git_call.h"
#include "drive/git/git_lfs.h"
#include "drive/git/git_steps.h"
#include "drive/gitrules/git_settings.h"

enum { POINTER_MAX = 4096, NAMED = 5, NAME_BYTES = 160 };

static int diff_build(struct git_call *c, str from, str to)
{
	if (!c->own || c->g->no_lfs || !git_lfs_used(c) || !from.n || str_eq(from, to))
		return GIT_LEAVE;
	return git_run(c, AT_REPO, GIT_READS, "diff-tree", "-r", "-z", "--raw", "--no-renames",
			"--diff-filter=d", from.p, to.p, "--", NULL);
}

/* ":100644 100644 OLD NEW M\0NAME\0" each. */
static bool next_change(str *rest, str *oid, str *name)
{
	str words, word;
	int n = 0;

	if (!str_split(rest, '\0', &words) || !str_split(rest, '\0', name))
		return false;
	*oid = (str){ 0 };
	while (str_split(&words, ' ', &word))
		if (n++ == 3)
			*oid = word;
	return true;
}

static int diff_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	str rest = o->out, oid, name;

	/* Or does the work bring rules that may name some? */
	if (!git_lfs_ruled(c) && !str_contains(o->out, STR(".gitattributes")))
		return GIT_LEAVE;
	c->changes = arena_str(&c->arena, o->out);
	while (next_change(&rest, &oid, &name))
		buf_addf(&b, STR_FMT "\n", STR_ARG(oid));
	c->pointers = arena_str(&c->arena, buf_str(&b));
	return c->pointers.n ? GIT_NEXT : GIT_LEAVE;
}

static int sizes_build(struct git_call *c, struct ov_err *err _unused_)
{
	git_run(c, AT_REPO, GIT_READS, "cat-file",
			"--batch-check=%(objectname) %(objecttype) %(objectsize)", NULL);
	c->input = c->pointers;
	return GIT_NEXT;
}

static int sizes_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	str rest = o->out, line, oid, type;
	int64_t size;

	while (str_split(&rest, '\n', &line))
		if (str_split(&line, ' ', &oid) && str_split(&line, ' ', &type) &&
				str_is(type, "blob") && str_to_i64(line, &size) &&
				size < POINTER_MAX)
			buf_addf(&b, STR_FMT "\n", STR_ARG(oid));
	c->pointers = arena_str(&c->arena, buf_str(&b));
	return c->pointers.n ? GIT_NEXT : GIT_LEAVE;
}

static int read_build(struct git_call *c, struct ov_err *err _unused_)
{
	git_run(c, AT_REPO, GIT_READS, "cat-file", "--batch=%(objectname) %(objectsize)", NULL);
	c->input = c->pointers;
	return GIT_NEXT;
}

enum content { CONTENT_NONE, CONTENT_THERE, CONTENT_OTHER, CONTENT_MISSING };

/* git-lfs takes much for a pointer; it writes them in one way, byte by byte. */
static bool is_like_one(str text)
{
	return str_contains(text, STR("oid sha256:")) && str_contains(text, STR("size"));
}

/*
 * What a file of this text is a pointer to. What only resembles one counts as one to
 * something else.
 */
static enum content content_of(struct git_call *c, str text)
{
	str rest = text, version = { 0 }, line, name = { 0 }, digest = STR("oid sha256:");
	int64_t size = -1;
	struct stat st;

	if (!is_like_one(text))
		return CONTENT_NONE;
	(void)str_split(&rest, '\n', &version);
	while (str_split(&rest, '\n', &line))
		if (str_starts(line, digest))
			name = arena_str(&c->arena, str_sub(line, digest.n, line.n));
		else if (str_starts(line, STR("size ")) &&
				!str_to_i64(str_sub(line, 5, line.n), &size))
			size = -1;
	if (!str_starts(version, STR("version ")) || !name.n || size < 0 ||
			!git_lfs_name_valid(name.p, GIT_LFS_NAME) ||
			!str_eq(text,
					arena_printf(&c->arena,
							STR_FMT "\noid sha256:" STR_FMT
								"\nsize %lld\n",
							STR_ARG(version), STR_ARG(name),
							(long long)size)))
		return CONTENT_OTHER;
	if (lstat(git_lfs_path(c, git_lfs_storage(c), name.p), &st) < 0)
		return size ? CONTENT_MISSING : CONTENT_THERE;
	return st.st_size == size ? CONTENT_THERE : CONTENT_OTHER;
}

/*
 * "OID SIZE\nTEXT\n" each. What is left of c->pointers are those without content: "OID ?", or
 * "OID !".
 */
static int read_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	str rest = o->out, line, oid;
	int64_t size;

	while (str_split(&rest, '\n', &line) && str_split(&line, ' ', &oid) &&
			str_to_i64(line, &size) && size >= 0 && (size_t)size < rest.n) {
		enum content what = content_of(c, str_sub(rest, 0, (size_t)size));

		if (what == CONTENT_MISSING || what == CONTENT_OTHER)
			buf_addf(&b, STR_FMT " %c\n", STR_ARG(oid),
					what == CONTENT_OTHER ? '!' : '?');
		rest = str_sub(rest, (size_t)size + 1, rest.n);
	}
	c->pointers = arena_str(&c->arena, buf_str(&b));
	return c->pointers.n ? GIT_NEXT : GIT_LEAVE;
}

static int known_build(struct git_call *c, str from)
{
	return git_run(c, AT_REPO, GIT_READS, "ls-tree", "-r", "--object-only", from.p, NULL);
}

/* As a person or an agent can read it in one line. */
static str lfs_check_shown(struct git_call *c, str path)
{
	char *text = arena_cstr(&c->arena, utf8_truncate(utf8_clean(&c->arena, path), NAME_BYTES));

	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return str_from(text);
}

static str reason(struct git_call *c, struct map *bad)
{
	str rest = c->changes, oid, name, names = STR("");
	size_t n = 0;

	while (next_change(&rest, &oid, &name))
		if (map_get(bad, oid) && n++ < NAMED)
			names = arena_printf(&c->arena, STR_FMT "%s\"" STR_FMT "\"", STR_ARG(names),
					n > 1 ? ", " : "", STR_ARG(lfs_check_shown(c, name)));
	if (!n)
		return STR("");
	if (n > NAMED)
		names = arena_printf(&c->arena, STR_FMT " and %zu more", STR_ARG(names), n - NAMED);
	return arena_printf(&c->arena,
			"in the work " STR_FMT " %s of git-lfs to content that is not in the "
			"repository's storage or has another size there, or as git-lfs does not "
			"write them; commit the content instead" GIT_REMOVE_PATHS,
			STR_ARG(names), n > 1 ? "are pointers" : "is a pointer");
}

/* Bad are those whose content has another size, and the missing ones that are new. */
static int known_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	str rest = o->out, line, oid;
	struct map known, bad;

	map_init(&known, 0);
	map_init(&bad, 0);
	while (str_split(&rest, '\n', &line))
		map_put(&known, line, c);
	rest = c->pointers;
	while (str_split(&rest, '\n', &line))
		if (str_split(&line, ' ', &oid) && (str_is(line, "!") || !map_get(&known, oid)))
			map_put(&bad, oid, c);
	c->pointers = reason(c, &bad);
	map_done(&known);
	map_done(&bad);
	return c->pointers.n ? GIT_NEXT : GIT_LEAVE;
}

/* Of a harvest. */

static int harvest_diff(struct git_call *c, struct ov_err *err _unused_)
{
	return c->res.refused.n ? GIT_LEAVE : diff_build(c, c->base, c->head);
}

static int harvest_known(struct git_call *c, struct ov_err *err _unused_)
{
	return known_build(c, c->base);
}

static int harvest_refuse(struct git_call *c, struct ov_err *err _unused_)
{
	c->res.refused = c->pointers;
	return GIT_SKIP;
}

const struct git_step git_lfs_harvest_steps[] = {
	STEP_TAKE("list what changed", harvest_diff, diff_take),
	STEP_TAKE("look for pointers", sizes_build, sizes_take),
	STEP_TAKE("read the pointers", read_build, read_take),
	STEP_TAKE("look for pointers that were there before", harvest_known, known_take),
	STEP_RUN("refuse it", harvest_refuse, NULL),
	STEP_END,
};

/* Of a move of the target. */

static int move_diff(struct git_call *c, struct ov_err *err _unused_)
{
	return diff_build(c, c->target_oid, c->commit);
}

static int move_known(struct git_call *c, struct ov_err *err _unused_)
{
	return known_build(c, c->target_oid);
}

static int move_refuse(struct git_call *c, struct ov_err *err _unused_)
{
	c->res.detail = c->pointers;
	c->res.outcome = GIT_REFUSED;
	return GIT_FINISH;
}

const struct git_step git_lfs_move_steps[] = {
	STEP_TAKE("list what changed", move_diff, diff_take),
	STEP_TAKE("look for pointers", sizes_build, sizes_take),
	STEP_TAKE("read the pointers", read_build, read_take),
	STEP_TAKE("look for pointers that were there before", move_known, known_take),
	STEP_RUN("refuse it", move_refuse, NULL),
	STEP_END,
};
