/*
 * Files that an agent does not have checked out (a sparse checkout): its index says of them that
 * they are not in the folder. That is no removal, so our own index says it, too, while the call
 * looks and adds. It holds for what is absent only: a file that lies there counts, whatever the
 * agent's index says.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/map.h"
#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"
#include "drive/gitrules/git_settings.h"
#include "drive/worktree/git_tree_steps.h"
#include "sys/file/file.h"

#define COPY "index-sparse"

static int sparse_list_build(struct git_call *c, struct ov_err *err)
{
	_cleanup_(fd_closep) int fd = -1;
	struct stat st;
	int r;

	if (!c->absent.n || !c->admin ||
			file_open_beneath(c->admin, "index", O_RDONLY, &fd, NULL) < 0 ||
			fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > GIT_INDEX_MAX)
		return GIT_LEAVE;
	git_temp_index(c, c->own, COPY);
	r = git_copy_index(fd, c->index, err);
	return r < 0 ? r
		     : git_run(c, AT_ADMIN, GIT_READS | GIT_TEMP_INDEX, "ls-files", "-t", "-z",
				       NULL);
}

/* "S NAME\0" each; of those, what is absent. An index that cannot be read says nothing. */
static int sparse_list_judge(struct git_call *c, const struct git_out *o,
		struct ov_err *err _unused_)
{
	_cleanup_(buf_done) struct buf names = BUF_INIT;
	str rest = c->absent, name;
	struct map absent;

	unlink(c->index);
	if (o->code != 0)
		return GIT_LEAVE;
	map_init(&absent, 0);
	while (str_split(&rest, '\0', &name))
		if (name.n)
			map_put(&absent, name, c);
	rest = o->out;
	while (str_split(&rest, '\0', &name))
		if (str_starts(name, STR("S ")) && map_get(&absent, str_sub(name, 2, name.n))) {
			buf_adds(&names, str_sub(name, 2, name.n));
			buf_addc(&names, '\0');
		}
	map_done(&absent);
	c->absent = arena_str(&c->arena, buf_str(&names));
	return c->absent.n ? GIT_NEXT : GIT_LEAVE;
}

static int mark_build(struct git_call *c, struct ov_err *err)
{
	int r = git_own_note(c, GIT_SPARSE, STR("yes"), err);

	if (r < 0)
		return r;
	c->sparse = true;
	git_run(c, AT_TREE, 0, "update-index", "-z", "--skip-worktree", "--stdin", NULL);
	c->input = c->absent;
	return GIT_NEXT;
}

const struct git_step git_sparse_steps[] = {
	STEP_RUN("see what is not checked out", sparse_list_build, sparse_list_judge),
	STEP_RUN("pass over what is not checked out", mark_build, NULL),
	STEP_RUN("see what is uncommitted", git_status_build, git_status_judge),
	STEP_END,
};
