/*
 * git-lfs: the content of large files is in a storage beside git's objects, and every git folder
 * has one of its own: the repository's, the agent's and ours. An agent can write any name and any
 * size into the pointer to such a file, and git-lfs removes from its storage what has another size
 * than a pointer says. So neither our git nor an agent's is given the repository's storage to
 * write: both read it as that of an alternate. What the two of them add is taken over
 * (git_lfs_take.c); pointers that would do harm in the user's checkout do not get there
 * (git_lfs_check.c).
 */
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "drive/git/git_call.h"
#include "drive/git/git_lfs.h"
#include "drive/git/git_steps.h"
#include "sys/file/file.h"

#define NOTE "lfs-storage" /* a note: where the repository has them, as its configuration says */
#define REFERENCE \
	"storage" /* a folder like that of a repository, whose storage is the repository's */

enum { RULES_MAX = 16 << 20 };

const char *git_lfs_objects(struct git_call *c)
{
	return path_join(&c->arena, c->own, "lfs");
}

/* As git-lfs reads it: relative to the git folder. */
const char *git_lfs_storage(struct git_call *c)
{
	str name = c->own ? git_own_line(c, NOTE) : (str){ 0 };

	if (name.n && name.p[0] == '/')
		return name.p;
	return path_join(&c->arena, c->g->common, name.n ? name.p : "lfs");
}

const char *git_lfs_path(struct git_call *c, const char *storage, const char *name)
{
	return arena_printf(&c->arena, "%s/objects/%.2s/%.2s/%s", storage, name, name + 2, name).p;
}

bool git_lfs_name_valid(const char *s, size_t n)
{
	return strlen(s) == n && strspn(s, "0123456789abcdef") == n;
}

int git_lfs_refer(struct git_call *c, const char *dir, struct ov_err *err)
{
	struct arena *a = &c->arena;
	const char *reference = path_join(a, dir, REFERENCE), *storage = git_lfs_storage(c),
		   *link = path_join(a, reference, "lfs");
	char *now = arena_zalloc(a, PATH_MAX);
	int r = dir_make(path_join(a, storage, "objects"), 0777, err);

	if (r == 0) /* git looks for it, where it is an alternate */
		r = dir_make(path_join(a, reference, "objects"), 0755, err);
	if (r < 0 || (readlink(link, now, PATH_MAX - 1) > 0 && strcmp(now, storage) == 0))
		return r;
	if ((unlink(link) < 0 && errno != ENOENT) || symlink(storage, link) < 0)
		return ov_fail_errno(err, errno, "make %s", link);
	return 0;
}

/* Absolute, since git-lfs takes a relative one to begin where it was started. */
str git_lfs_alternates(struct git_call *c, const char *dir)
{
	return arena_printf(&c->arena, "%s/objects\n%s/" REFERENCE "/objects\n", c->g->common, dir);
}

bool git_lfs_used(struct git_call *c)
{
	return git_own_line(c, NOTE).n;
}

bool git_lfs_ruled(struct git_call *c)
{
	str rules = { 0 };

	(void)file_read(&c->arena, path_join(&c->arena, c->own, "info/attributes"), RULES_MAX,
			&rules, NULL);
	return str_contains(rules, STR("filter=lfs"));
}

int git_lfs_own(struct git_call *c, struct ov_err *err)
{
	const char *info = path_join(&c->arena, c->own, "objects/info");
	int r = 0;

	if (!git_lfs_used(c))
		return 0;
	r = dir_make(git_lfs_objects(c), 0700, err);
	if (r == 0)
		r = git_lfs_refer(c, c->own, err);
	if (r == 0)
		r = dir_make(info, 0700, err);
	if (r == 0)
		r = git_own_note(c, "objects/info/alternates", git_lfs_alternates(c, c->own), err);
	return r;
}

/*
 * What is not here stays a pointer: nothing is downloaded, since an agent's .lfsconfig can say from
 * where. All of it comes last, and so counts.
 */
int git_lfs_record(struct git_call *c, str storage, struct buf *config, struct ov_err *err)
{
	int r = git_own_note(c, NOTE, storage.n ? storage : STR("lfs"), err);

	buf_adds(config,
			STR("[lfs]\n\tstorage = lfs\n\trepositoryformatversion = 0\n\turl = none\n"
			    "\tskipdownloaderrors = true\n"));
	return r < 0 ? r : git_lfs_own(c, err);
}

void git_lfs_unused(struct git_call *c)
{
	unlink(path_join(&c->arena, c->own, NOTE));
}
