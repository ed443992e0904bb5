#include "tests/sim/simgit_fixture.h"

#include <stdio.h>

void model_open(struct model *m)
{
	char name[8];

	*m = (struct model){ .g = simgit_new(STR(REPO), STR("main")), .steps = SIMGIT_ALL };
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		assert_int_equal(simgit_user_write(m->g, str_from(name)), 0);
	}
	assert_int_equal(simgit_user_commit(m->g), 0);
}

void check_truths(struct model *m)
{
	struct buf why = BUF_INIT;

	if (!simgit_kept(m->g, &why) || !simgit_user_intact(m->g, &why) ||
			!simgit_audit(m->g, &why))
		fail_msg("%s", buf_cstr(&why));
	buf_done(&why);
}

void model_close(struct model *m)
{
	check_truths(m);
	simgit_free(m->g);
	arena_done(&m->arena);
}

int steps_of(struct model *m)
{
	int n = m->steps;

	m->steps = SIMGIT_ALL;
	m->res = (struct git_result){ 0 };
	return n;
}

int ensure_at(struct model *m, const char *tree, const char *branch, str start)
{
	struct git_ensure spec = { .path = str_from(tree),
		.branch = str_from(branch),
		.target = STR("main"),
		.start = start,
		.rescue_ref = STR(RESCUE) };

	return simgit_ensure(m->g, &spec, steps_of(m), &m->arena, &m->res, &m->err);
}

int ensure(struct model *m, const char *branch)
{
	return ensure_at(m, TREE, branch, (str){ 0 });
}

int harvest(struct model *m, str base)
{
	return simgit_harvest(m->g, STR(TREE), base, STR(RESCUE), steps_of(m), &m->arena, &m->res,
			&m->err);
}

int restore(struct model *m)
{
	return simgit_restore(m->g, STR(TREE), STR(RESCUE), steps_of(m), &m->arena, &m->res,
			&m->err);
}

int removed(struct model *m)
{
	return simgit_remove(m->g, STR(TREE), STR(RESCUE), steps_of(m), &m->arena, &m->res,
			&m->err);
}

int accept_of(struct model *m, const char *branch, const char *key)
{
	struct git_accept spec = { .path = STR(TREE),
		.branch = str_from(branch),
		.target = STR("main"),
		.message = STR("Task"),
		.key = str_from(key) };

	return simgit_accept(m->g, &spec, steps_of(m), &m->arena, &m->res, &m->err);
}

int accepted(struct model *m, const char *key)
{
	return accept_of(m, BRANCH, key);
}

int accepted_in_parts(struct model *m, const char *key)
{
	struct git_rebase re = { .path = STR(TREE),
		.branch = STR(BRANCH),
		.target = STR("main"),
		.message = STR("Task"),
		.key = str_from(key),
		.rescue_ref = STR(RESCUE "-rebase") };
	struct git_advance ad = { .path = re.path, .target = re.target, .key = re.key };
	int steps = steps_of(m), r = simgit_rebase(m->g, &re, steps, &m->arena, &m->res, &m->err);

	if (r < 0 || m->res.outcome != GIT_OK)
		return r;
	if (steps != SIMGIT_ALL)
		steps -= simgit_steps(m->g);
	ad.candidate = m->res.commit;
	return simgit_advance(m->g, &ad, steps, &m->arena, &m->res, &m->err);
}

void write_file(struct model *m, const char *path)
{
	assert_int_equal(simgit_agent_write(m->g, STR(TREE), str_from(path), STR("R_1")), 0);
}

void commit(struct model *m)
{
	assert_int_equal(simgit_agent_commit(m->g, STR(TREE), STR("R_1")), 0);
}

uint32_t at(struct model *m, const char *ref, const char *path)
{
	return simgit_at_ref(m->g, str_from(ref), str_from(path));
}

uint32_t in_tree(struct model *m, const char *tree, const char *path)
{
	return simgit_in_tree(m->g, str_from(tree), str_from(path));
}

void work(struct model *m)
{
	model_open(m);
	assert_int_equal(ensure(m, BRANCH), 0);
	write_file(m, "f1");
	commit(m);
	write_file(m, "new");
	assert_int_equal(harvest(m, m->res.base), 0);
}
