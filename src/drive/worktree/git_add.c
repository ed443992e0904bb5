/*
 * Adding: the files of a worktree go into our index, their contents into the repository.
 *
 * Git writes one file per object, and does not wait for the disk (core.fsync). Many files are put
 * into packs instead, as git does it with large ones: that is a fraction of what is written to the
 * disk, and durable before the command ends. Git looks for each new object among all that it has
 * put into the same pack so far, so there are several, of some 10,000 objects each.
 */
#include <sys/stat.h>

#include "base/utf8.h"
#include "drive/git/git_aside.h"
#include "drive/git/git_confine.h"
#include "drive/git/git_steps.h"
#include "drive/gitrules/git_settings.h"
#include "drive/worktree/git_add.h"

enum { UNENCODED_MAX = 64, NAMED_MAX = 3 };

/* OBJECT_BYTES: what git adds to the smallest file. */
enum { PACK_FROM = 200, PACK_OBJECTS = 10 * 1000, PACKS_MAX = 100, OBJECT_BYTES = 15 };

/*
 * Git hashes and packs some 100 MB in a second. What is mostly a hole costs whoever made
 * it nothing.
 */
static const off_t file_max = (off_t)8 << 30, hole_max = (off_t)2 << 30;

int git_add_command(struct git_call *c)
{
	int64_t packs = MIN((int64_t)c->found / PACK_OBJECTS + 1, PACKS_MAX);
	int64_t bytes = (c->found_bytes + (int64_t)c->found * OBJECT_BYTES) / packs;

	git_run(c, AT_TREE, 0, NULL);
	/*
	 * A file that shrinks meanwhile ends the whole command then: not where the rest has to
	 * be kept.
	 */
	if (c->found >= PACK_FROM && !c->partly) {
		git_args(c, "-c", "core.bigFileThreshold=0", NULL);
		if (packs > 1)
			git_args(c, "-c",
					arena_printf(&c->arena, "pack.packSizeLimit=%lld",
							(long long)bytes)
							.p,
					NULL);
	}
	git_args(c, "add", "-A", "--sparse", NULL);
	return GIT_NEXT;
}

/* "failed to encode 'PATH' from X to UTF-8": that file is taken as it is, and the next is tried. */
static bool unencoded(struct git_call *c, const struct git_out *o)
{
	str before = STR("failed to encode '"), path;
	size_t at = str_find(o->err, before), end;

	if (at == o->err.n || c->unencoded.n >= UNENCODED_MAX)
		return false;
	path = str_sub(o->err, at + before.n, o->err.n);
	end = str_find(path, STR("' from "));
	if (end == path.n)
		return false;
	vec_push(&c->unencoded, arena_cstr(&c->arena, str_sub(path, 0, end)));
	return git_own_attributes(c, false, NULL) == 0;
}

/*
 * A filter failed, or could not run. What is kept in a rescue is as it lies there; it must not
 * become work, such as plain text in place of what is encrypted. git-lfs is no such filter.
 */
static void note_filter(struct git_call *c, const struct git_out *o)
{
	str rest = o->err, line, words = { 0 };

	if (git_programs_failed(c, o))
		words = str_trim(o->err);
	while (!words.n && str_split(&rest, '\n', &line))
		if (str_contains(line, STR(": clean filter '")) &&
				!str_contains(line, STR(": clean filter 'lfs'")))
			words = line;
	c->unfiltered = arena_str(&c->arena, utf8_truncate(words, 500));
}

int git_filtered(struct git_call *c, struct ov_err *err)
{
	if (!c->unfiltered.n)
		return GIT_SKIP;
	return ov_fail(err, OV_EIO,
			"a filter failed. The files are kept in a rescue as they are, and not "
			"committed without it. Git says: " STR_FMT,
			STR_ARG(c->unfiltered));
}

int git_add_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	int r;

	if (o->code != 0 && (git_loosen(c, o) || unencoded(c, o)))
		return GIT_AGAIN;
	/*
	 * Names, kinds of files and encodings that git does not take: the rest, as it is, byte
	 * by byte.
	 */
	if (o->code != 0 && !c->partly) {
		c->partly = true;
		note_filter(c, o);
		r = git_own_attributes(c, true, err);
		return r < 0 ? r : GIT_AGAIN;
	}
	if (c->partly) {
		r = git_own_attributes(c, false, err);
		if (r < 0)
			return r;
	}
	if (o->code == 0 || (c->partly && !git_could_not_write(o)))
		return GIT_NEXT;
	return git_fail(c, o, err);
}

bool git_is_oversize(const struct stat *st)
{
	off_t on_disk = (off_t)st->st_blocks * 512;

	if (!S_ISREG(st->st_mode))
		return false;
	return st->st_size > file_max || (st->st_size > hole_max && on_disk < st->st_size / 2);
}

static int oversize(struct git_call *c, struct ov_err *err)
{
	str rest = c->oversize, name, names = { 0 };
	size_t n = 0;
	int r = 0;

	if (!c->oversize.n)
		return GIT_SKIP;
	if (!c->aside)
		r = git_aside_make(c, &c->aside, err);
	while (r == 0 && str_split(&rest, '\0', &name)) {
		if (!name.n)
			continue;
		r = git_aside_put(c, c->aside, name, err);
		if (n++ < NAMED_MAX)
			names = arena_printf(&c->arena, STR_FMT "%s" STR_FMT, STR_ARG(names),
					n > 1 ? ", " : "", STR_ARG(git_shown(c, name)));
	}
	if (r < 0)
		return r;
	c->res.refused = arena_printf(&c->arena,
			STR_FMT "%s too large (a file can have 8 GiB, and one with holes 2 GiB); "
				"moved to %s",
			STR_ARG(names),
			n > NAMED_MAX           ? " and others are"
					: n > 1 ? " are"
						: " is",
			c->aside);
	git_say(c, c->res.refused);
	return GIT_SKIP;
}

const struct git_step git_oversize_steps[] = {
	STEP_RUN("move aside what is too large", oversize, NULL),
	STEP_END,
};
