/*
 * Predict: would two commits conflict? The merge is made on trees only, and what it writes goes to
 * a folder of objects of its own, which is emptied again: a radar that looks often must not fill
 * the repository, nor wait for the disk.
 */
#include <unistd.h>

#include "drive/accept/git_accept.h"
#include "drive/accept/git_target_steps.h"
#include "drive/git/git_call.h"
#include "sys/file/file.h"

#define OBJECTS "overseer-predict"

/* A branch by its full name: git would take a tag of the same name first. */
static str commitish(struct git_call *c, str s)
{
	if (git_oid_valid(s) || str_starts(s, STR("refs/")))
		return arena_str(&c->arena, s);
	return arena_printf(&c->arena, "refs/heads/" STR_FMT, STR_ARG(s));
}

/* Loose objects lie in folders of two letters; whatever else there might be stays. */
static void remove_objects(struct git_call *c)
{
	struct arena *a = &c->arena;
	str *folders = NULL, *files = NULL;
	size_t folders_n = 0, n = 0;

	list_each (at, &c->g->calls)
		if (list_entry(at, struct git_call, node)->objects)
			return; /* another still needs them, and empties the folder */
	if (dir_list(a, c->objects, 4096, &folders, &folders_n, NULL) < 0)
		return;
	for (size_t i = 0; i < folders_n; i++) {
		const char *dir = path_join(a, c->objects, arena_cstr(a, folders[i]));

		if (dir_list(a, dir, 1 << 16, &files, &n, NULL) < 0)
			continue;
		for (size_t k = 0; k < n; k++)
			unlink(path_join(a, dir, arena_cstr(a, files[k])));
		rmdir(dir);
	}
}

static int merge_build(struct git_call *c, struct ov_err *err)
{
	const char *objects = path_join(&c->arena, c->g->common, OBJECTS);
	int r = dir_make(objects, 0755, err);

	if (r < 0)
		return r;
	c->objects = objects;
	c->at_end = remove_objects;
	git_run(c, AT_REPO, GIT_READS | GIT_PREDICTS, "-c", "core.fsync=none", "merge-tree",
			"--write-tree", "-z", "--name-only", "--no-messages", c->base.p, c->side.p,
			NULL);
	git_env_add(c, "GIT_OBJECT_DIRECTORY", objects);
	git_env_add(c, "GIT_ALTERNATE_OBJECT_DIRECTORIES",
			git_quoted(c, path_join(&c->arena, c->g->common, "objects")).p);
	return GIT_NEXT;
}

static const struct git_step predict_steps[] = {
	STEP_RUN("merge", merge_build, git_merge_judge),
	STEP_END,
};

void git_predict(struct git *g, str a, str b, git_done_fn *done, void *user)
{
	struct git_call *c = git_call_new(g, "prediction", str_from(g->repo), done, user);
	struct ov_err err;
	int r = 0;

	c->loose = true;
	c->base = commitish(c, a);
	c->side = commitish(c, b);
	if (!git_ref_valid(c->base) || !git_ref_valid(c->side))
		r = ov_fail(&err, OV_EINVALID,
				"cannot compare \"" STR_FMT "\" with \"" STR_FMT "\"", STR_ARG(a),
				STR_ARG(b));
	git_call_start(c, predict_steps, r, &err);
}
