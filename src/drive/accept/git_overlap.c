/*
 * What is in the way of a fast-forward in the user's checkout, by the rules of git's own (the
 * two-way merge of git-read-tree(1)): a path that the commit changes and that is staged or
 * modified, an untracked or ignored file where it brings one, a file or folder that would have to
 * make way. Everything else of the user's stays as it is, so it is in nobody's way. Only files are
 * compared; git's messages are never read. Where git itself would lose something of the user's we
 * wait: a file that was only staged, what is in a submodule, a link in place of a folder.
 */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/map.h"
#include "drive/accept/git_target_steps.h"
#include "drive/git/git_call.h"
#include "sys/file/file.h"

#define ABSENT "000000"
#define SUBMODULE "160000"

/* A path that differs between the target and the commit. */
struct change {
	str path, old_mode, new_mode, new_oid;
};

/* A path that the user has changed: as it is in the index (x), and in the folder (y). */
struct overlap_entry {
	str path, mode, oid;
	char x, y;
};

struct look {
	struct git_call *c;
	struct arena *a;
	VEC(struct change) changes;
	VEC(struct overlap_entry) entries;
	struct map change_at, entry_at; /* by path */
	VEC(str) found;                 /* what is in the way, first come first */
	struct map known;               /* the same, by path */
	size_t unmerged;
};

static bool is_there(str mode)
{
	return !str_is(mode, ABSENT);
}

static void overlap_find(struct look *l, str path)
{
	if (map_get(&l->known, path))
		return;
	map_put(&l->known, path, l);
	vec_push(&l->found, path);
}

static const char *in_checkout(struct look *l, str path)
{
	return path_join(l->a, l->c->holder, arena_cstr(l->a, path));
}

/* The commit takes it away, and the user has not changed it: it makes way. */
static bool goes(struct look *l, str path)
{
	const struct change *ch = map_get(&l->change_at, path);

	return ch && !is_there(ch->new_mode) && is_there(ch->old_mode);
}

static bool folder_is_free(struct look *l, str path);

/* Whatever is in a folder that has to make way: only what the commit takes away may be there. */
static bool entry_is_free(struct look *l, str path, const char *full)
{
	struct stat st;

	if (lstat(full, &st) < 0)
		return errno == ENOENT;
	return S_ISDIR(st.st_mode) ? folder_is_free(l, path) : goes(l, path);
}

static bool folder_is_free(struct look *l, str path)
{
	const char *full = in_checkout(l, path);
	DIR *d = opendir(full);
	bool free = d != NULL;
	struct dirent *e;

	while (free && (e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		free = entry_is_free(l, arena_printf(l->a, STR_FMT "/%s", STR_ARG(path), e->d_name),
				path_join(l->a, full, e->d_name));
	}
	if (d)
		closedir(d);
	return free;
}

/* The first part of the path that ends at or after `from`; its length, or 0. */
static size_t next_part(str path, size_t from)
{
	for (size_t i = from; i < path.n; i++)
		if (path.p[i] == '/')
			return i;
	return 0;
}

/* A file is to be where the index has none: what of the user's is there, untracked or ignored? */
static void check_absent(struct look *l, str path)
{
	struct stat st;
	const struct overlap_entry *e;

	for (size_t end = next_part(path, 0); end; end = next_part(path, end + 1)) {
		str part = arena_str(l->a, str_sub(path, 0, end));

		e = map_get(&l->entry_at, part);
		if (e && e->x == 'A') {
			overlap_find(l, part);
			return;
		}
		if (lstat(in_checkout(l, part), &st) < 0) {
			if (errno != ENOENT && errno != ENOTDIR)
				overlap_find(l, part);
			return;
		}
		if (S_ISDIR(st.st_mode))
			continue;
		if (!goes(l, part))
			overlap_find(l, part);
		return;
	}
	if (lstat(in_checkout(l, path), &st) < 0) {
		if (errno != ENOENT)
			overlap_find(l, path);
	} else if (!S_ISDIR(st.st_mode)) {
		overlap_find(l, path);
	} else if (!folder_is_free(l, path)) {
		overlap_find(l, arena_printf(l->a, STR_FMT "/", STR_ARG(path)));
	}
}

/* It is in the index as the target has it, and the user has changed it in the folder. */
static void check_modified(struct look *l, const struct change *ch, const struct overlap_entry *e)
{
	if (e->y == '.' || str_is(ch->old_mode, SUBMODULE))
		return;
	/* One that was only removed has nothing that could be lost: it comes back, as with git. */
	if (e->y == 'D')
		check_absent(l, ch->path);
	else
		overlap_find(l, ch->path);
}

/*
 * A file in place of a submodule: git removes its folder with all that is in it, its commits too.
 */
static void check_submodule(struct look *l, const struct change *ch)
{
	struct stat st;

	if (str_is(ch->old_mode, SUBMODULE) && is_there(ch->new_mode) &&
			!str_is(ch->new_mode, SUBMODULE) &&
			lstat(in_checkout(l, ch->path), &st) == 0 && S_ISDIR(st.st_mode) &&
			!folder_is_free(l, ch->path))
		overlap_find(l, arena_printf(l->a, STR_FMT "/", STR_ARG(ch->path)));
}

static void check_staged(struct look *l, const struct change *ch, const struct overlap_entry *e)
{
	if (is_there(e->mode)) {
		if (!str_eq(e->mode, ch->new_mode) || !str_eq(e->oid, ch->new_oid))
			overlap_find(l, ch->path);
		else
			l->c->staged_alike = true;
	} else if (is_there(ch->new_mode)) {
		overlap_find(l, ch->path);
	} else {
		check_absent(l, ch->path);
	}
}

static void check_change(struct look *l, const struct change *ch)
{
	const struct overlap_entry *e = map_get(&l->entry_at, ch->path);

	check_submodule(l, ch);
	if (e && e->x == '.' && e->y == 'A')
		overlap_find(l, ch->path); /* git add -N */
	else if (e && e->x != '.')
		check_staged(l, ch, e);
	else if (!is_there(ch->old_mode))
		check_absent(l, ch->path);
	else if (e)
		check_modified(l, ch, e);
}

/*
 * A new file of the user's that is in the index, where the commit has a file in place of
 * its folder.
 */
static void check_new(struct look *l, const struct overlap_entry *e)
{
	const struct change *ch;

	if (e->x != 'A')
		return;
	for (size_t end = next_part(e->path, 0); end; end = next_part(e->path, end + 1)) {
		ch = map_get(&l->change_at, str_sub(e->path, 0, end));
		if (ch && is_there(ch->new_mode))
			overlap_find(l, e->path);
	}
}

/* ":MODE MODE OID OID STATUS", then the path. */
static bool parse_changes(struct look *l, str raw)
{
	str head, path, skip;

	while (str_split(&raw, '\0', &head) && head.n) {
		struct change ch = { 0 };

		if (!str_split(&raw, '\0', &path) || head.p[0] != ':')
			return false;
		head = str_sub(head, 1, head.n);
		ch.path = path;
		if (!str_split(&head, ' ', &ch.old_mode) || !str_split(&head, ' ', &ch.new_mode) ||
				!str_split(&head, ' ', &skip) ||
				!str_split(&head, ' ', &ch.new_oid))
			return false;
		vec_push(&l->changes, ch);
	}
	return true;
}

/* "1 XY SUB mH mI mW hH hI PATH", of unmerged ones "u XY ..."; see git-status(1). */
static bool parse_entries(struct look *l, str out)
{
	str line, kind, xy, skip;

	while (str_split(&out, '\0', &line) && line.n) {
		struct overlap_entry e = { 0 };

		str_split(&line, ' ', &kind);
		if (str_is(kind, "u"))
			l->unmerged++;
		if (!str_is(kind, "1"))
			continue;
		if (!str_split(&line, ' ', &xy) || xy.n != 2 || !str_split(&line, ' ', &skip) ||
				!str_split(&line, ' ', &skip) || !str_split(&line, ' ', &e.mode) ||
				!str_split(&line, ' ', &skip) || !str_split(&line, ' ', &skip) ||
				!str_split(&line, ' ', &e.oid))
			return false;
		e.path = line;
		e.x = xy.p[0];
		e.y = xy.p[1];
		vec_push(&l->entries, e);
	}
	return true;
}

static void index_both(struct look *l)
{
	for (size_t i = 0; i < l->changes.n; i++)
		map_put(&l->change_at, l->changes.p[i].path, &l->changes.p[i]);
	for (size_t i = 0; i < l->entries.n; i++)
		map_put(&l->entry_at, l->entries.p[i].path, &l->entries.p[i]);
}

/* The result: as many names as a list holds, and how many there are. */
static void overlap_tell(struct look *l)
{
	struct git_call *c = l->c;
	str *list = arena_array(&c->arena, str, MIN(l->found.n, (size_t)GIT_LISTED) + 1);
	size_t n = 0, bytes = 0;

	for (; n < l->found.n && n < GIT_LISTED; n++) {
		bytes += l->found.p[n].n;
		if (bytes > GIT_LISTED_BYTES)
			break;
		list[n] = arena_str(&c->arena, l->found.p[n]);
	}
	c->res.outcome = GIT_DIRTY;
	c->res.files = list;
	c->res.files_n = n;
	c->res.files_changed = (int64_t)l->found.n;
	c->res.detail = arena_printf(&c->arena,
			"%s has uncommitted changes in %zu of the files that are to change, the "
			"first is " STR_FMT,
			c->holder, l->found.n, STR_ARG(l->found.p[0]));
}

static int overlap_judge(struct look *l, str out, struct ov_err *err)
{
	struct git_call *c = l->c;

	if (!parse_changes(l, c->changes) || !parse_entries(l, out))
		return ov_fail(err, OV_EIO, "git gave no list of changes that can be read");
	index_both(l);
	if (l->unmerged) {
		c->res.outcome = GIT_DIRTY;
		c->res.detail = arena_printf(&c->arena, "%s has unresolved conflicts in %zu files",
				c->holder, l->unmerged);
		return GIT_FINISH;
	}
	for (size_t i = 0; i < l->changes.n; i++)
		check_change(l, &l->changes.p[i]);
	for (size_t i = 0; i < l->entries.n; i++)
		check_new(l, &l->entries.p[i]);
	if (!l->found.n)
		return GIT_NEXT;
	overlap_tell(l);
	return GIT_FINISH;
}

static int changes_build(struct git_call *c, struct ov_err *err _unused_)
{
	c->staged_alike = false;
	if (!c->holder)
		return GIT_LEAVE;
	return git_run(c, AT_REPO, GIT_READS, "diff-tree", "-r", "-z", "--raw", "--no-abbrev",
			"--no-renames", "--no-ext-diff", c->target_oid.p, c->commit.p, "--", NULL);
}

static int changes_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	c->changes = arena_str(&c->arena, o->out);
	return GIT_NEXT;
}

/* Inside submodules that stay nothing is touched by a merge, so that is in nobody's way. */
static int entries_build(struct git_call *c, struct ov_err *err _unused_)
{
	git_run(c, AT_REPO, GIT_READS, "status", "--porcelain=v2", "-z", "--untracked-files=no",
			"--ignore-submodules=dirty", "--no-renames", NULL);
	return git_at_holder(c);
}

static int entries_take(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	struct look l = { .c = c, .a = &c->arena };
	int r;

	map_init(&l.change_at, 0);
	map_init(&l.entry_at, 0);
	map_init(&l.known, 0);
	r = overlap_judge(&l, arena_str(&c->arena, o->out), err);
	map_done(&l.change_at);
	map_done(&l.entry_at);
	map_done(&l.known);
	vec_done(&l.changes);
	vec_done(&l.entries);
	vec_done(&l.found);
	return r;
}

const struct git_step git_overlap_steps[] = {
	STEP_TAKE("list what is to change", changes_build, changes_take),
	STEP_TAKE("see what the user has changed", entries_build, entries_take),
	STEP_END,
};
