#include "tests/sim/simgit_real.h"

#include <stdio.h>
#include <string.h>

const char *const paths[PATHS] = { "src/one", "src/two", "p0", "p1", "p2", "p3" };

void know_ref(struct both *b, const char *ref)
{
	for (size_t i = 0; i < b->refs_n; i++)
		if (strcmp(b->refs[i], ref) == 0)
			return;
	assert_true(b->refs_n < MAX_REFS);
	snprintf(b->refs[b->refs_n++], sizeof(b->refs[0]), "%s", ref);
}

void next_task(struct both *b, struct worker *w)
{
	int i = (int)(w - b->worker) + 1;
	const struct worker *o = &b->worker[rng_below(&b->rng, WORKERS)];
	char ref[128];

	w->task++;
	/* Handed over: one in three goes on from what it, or the other, left. */
	w->start[0] = w->model_start[0] = '\0';
	if (rng_below(&b->rng, 3) == 0) {
		memcpy(w->start, o->head, sizeof(w->start));
		memcpy(w->model_start, o->model_head, sizeof(w->model_start));
	}
	w->phase = w->resets = 0;
	snprintf(w->tree, sizeof(w->tree), "%s/.overseer/worktrees/w%d", b->f.repo, i);
	snprintf(w->branch, sizeof(w->branch), "overseer/w%d/%d", i, w->task);
	snprintf(w->key, sizeof(w->key), "A_%d_%d", i, w->task);
	snprintf(w->run, sizeof(w->run), "R_%d_%d", i, w->task);
	snprintf(w->rescue, sizeof(w->rescue), "refs/overseer/rescue/w%d/%d", i, w->task);
	know_ref(b, w->rescue);
	snprintf(ref, sizeof(ref), "refs/heads/%s", w->branch);
	know_ref(b, ref);
	snprintf(ref, sizeof(ref), "refs/overseer/accepted/%s", w->key);
	know_ref(b, ref);
}

void use(struct both *b, struct worker *w)
{
	b->w = w;
	snprintf(b->f.tree, sizeof(b->f.tree), "%s", w->tree);
	snprintf(b->f.branch, sizeof(b->f.branch), "%s", w->ensured);
}

str tree_of(struct both *b)
{
	return str_from(b->w->tree);
}

uint32_t here(struct both *b, const char *tree, const char *path)
{
	return simgit_in_tree(b->g, str_from(tree), str_from(path));
}

/*
 * Acts: on the model at once, on disk by a line of the script that runs before the next call. What
 * the model refuses is not tried there, or must be refused there too.
 */
#define act(b, ...) buf_addf(&(b)->script, __VA_ARGS__)
#define ADD "git add -A -- . ':(exclude)nested'; "
/* The agent looks where the target is now, which the model's always knows. */
#define LOOK "git fetch -q \"$R\" +main:main; "
#define COMMIT ADD "git commit -q -m agent >/dev/null || git diff --cached --quiet; "

/* In the model everybody sees at once what agents commit; in the repository a harvest tells. */
void see_branches(struct both *b)
{
	for (size_t i = 0; i < WORKERS; i++)
		act(b,
				"\ncd \"$R\"; ! [ -e '%s/.git' ] || git fetch -q "
				"--no-write-fetch-head "
				"'%s' '+refs/heads/%s:refs/heads/%s' "
				"'+refs/heads/own-*:refs/heads/own-*' "
				"2>/dev/null || :",
				b->worker[i].tree, b->worker[i].tree, b->worker[i].ensured,
				b->worker[i].ensured);
}

static void in_worktree(struct both *b)
{
	act(b, "\ncd '%s'; ", b->w->tree);
}

static void put(struct both *b, uint32_t content, const char *path)
{
	if (content)
		act(b, "mkdir -p src; echo %u >%s", content, path);
	else
		act(b, "rm -f %s", path);
}

static void agent_write(struct both *b, const char *path)
{
	if (simgit_agent_write(b->g, tree_of(b), str_from(path), str_from(b->w->run)) < 0)
		return;
	in_worktree(b);
	put(b, here(b, b->w->tree, path), path);
}

static void agent_delete(struct both *b, const char *path)
{
	if (simgit_agent_delete(b->g, tree_of(b), str_from(path)) < 0)
		return;
	in_worktree(b);
	put(b, 0, path);
}

static void agent_stage(struct both *b, const char *path _unused_)
{
	if (simgit_agent_stage(b->g, tree_of(b)) < 0)
		return;
	in_worktree(b);
	act(b, ADD);
}

static void agent_commit(struct both *b, const char *path _unused_)
{
	if (simgit_agent_commit(b->g, tree_of(b), str_from(b->w->run)) < 0)
		return;
	in_worktree(b);
	act(b, COMMIT);
}

static void agent_detach(struct both *b, const char *path _unused_)
{
	if (simgit_agent_checkout(b->g, tree_of(b), (str){ 0 }) < 0)
		return;
	in_worktree(b);
	act(b, "git checkout -q --detach");
}

static void agent_branch(struct both *b, const char *path _unused_)
{
	char name[64], ref[80];

	snprintf(name, sizeof(name), "own-%s", b->w->run);
	snprintf(ref, sizeof(ref), "refs/heads/%s", name);
	know_ref(b, ref);
	if (simgit_agent_checkout(b->g, tree_of(b), str_from(name)) < 0)
		return;
	in_worktree(b);
	act(b, "git checkout -q -b %s", name);
}

static void agent_leave(struct both *b, const char *path _unused_)
{
	if (simgit_agent_leave(b->g, tree_of(b), STR("main")) < 0)
		return;
	in_worktree(b);
	act(b, LOOK "git checkout -q --detach main");
}

/* Once in a task: further back the histories are not the same. */
static void agent_reset(struct both *b, const char *path _unused_)
{
	if (b->w->resets++ || simgit_agent_reset(b->g, tree_of(b)) < 0)
		return;
	in_worktree(b);
	act(b, "git reset -q --hard HEAD~1");
}

/* Files that git put its marks into, or left unmerged, hold what the model says. */
static void mark(struct both *b, const char *when)
{
	for (size_t i = 0; i < PATHS; i++)
		if (here(b, b->w->tree, paths[i]))
			act(b, "p=%s; if %s; then mkdir -p src; echo %u >$p; fi; ", paths[i], when,
					here(b, b->w->tree, paths[i]));
}

static void agent_rebase(struct both *b, const char *path _unused_)
{
	if (simgit_agent_rebase(b->g, tree_of(b), STR("main"), str_from(b->w->run),
			    SIMGIT_UNFINISHED) < 0)
		return;
	in_worktree(b);
	/* The model does not know by its patch what is on the target already. */
	act(b, COMMIT LOOK "git rebase -q --reapply-cherry-picks main >/dev/null 2>&1 || :; ");
	mark(b, "grep -qs '^<<<<<<<' $p");
}

static void agent_merge(struct both *b, const char *path _unused_)
{
	enum simgit_left left = (enum simgit_left)rng_below(&b->rng, SIMGIT_FINISHED + 1);

	if (simgit_agent_merge(b->g, tree_of(b), STR("main"), str_from(b->w->run), left) < 0)
		return;
	tell(b, "(%d)", (int)left);
	in_worktree(b);
	act(b, COMMIT LOOK "git merge -q -m merged main >/dev/null 2>&1 || :; ");
	if (left == SIMGIT_UNFINISHED) {
		mark(b, "grep -qs '^<<<<<<<' $p");
		return;
	}
	mark(b, "git ls-files -u $p | grep -q .");
	act(b, "if [ -e \"$(git rev-parse --git-path MERGE_HEAD)\" ]; then " ADD "%s fi",
			left == SIMGIT_FINISHED ? "git commit -q -m merged;" : "");
}

static void agent_nested(struct both *b, const char *path _unused_)
{
	if (simgit_agent_nested(b->g, tree_of(b), str_from(b->w->run)) < 0)
		return;
	in_worktree(b);
	act(b, "git init -q nested; echo n >nested/file");
}

static void agent_lock(struct both *b, const char *path _unused_)
{
	if (simgit_agent_lock(b->g, tree_of(b)) < 0)
		return;
	in_worktree(b);
	act(b, ": >\"$(git rev-parse --git-path index.lock)\"");
}

static void agent_vanish(struct both *b, const char *path _unused_)
{
	if (simgit_agent_vanish(b->g, tree_of(b)) < 0)
		return;
	see_branches(b); /* while they can be seen */
	act(b, "\nrm -rf '%s'", b->w->tree);
}

/* Both refuse, or both do it. */
static void user_does(struct both *b, int r, const char *command)
{
	if (r < 0 && b->busy)
		return;
	act(b, "\ncd \"$R\"; ");
	if (r < 0)
		act(b, "if %s; then echo 'the model refused: %s'; exit 9; fi >/dev/null 2>&1",
				command, command);
	else
		act(b, "%s", command);
}

void user_write(struct both *b, const char *path)
{
	simgit_user_write(b->g, str_from(path));
	act(b, "\ncd \"$R\"; ");
	put(b, here(b, b->f.repo, path), path);
}

static void user_delete(struct both *b, const char *path)
{
	simgit_user_delete(b->g, str_from(path));
	act(b, "\ncd \"$R\"; ");
	put(b, 0, path);
}

static void user_stage(struct both *b, const char *path _unused_)
{
	user_does(b, simgit_user_stage(b->g), "git add -A");
}

void user_commit(struct both *b, const char *path _unused_)
{
	if (simgit_user_commit(b->g) == 0)
		user_does(b, 0, "git add -A; git commit -qm user >/dev/null || :");
}

static void user_commit_on(struct both *b, const char *path)
{
	if (simgit_user_commit_on(b->g, STR("main"), str_from(path)) < 0)
		return;
	act(b,
			"\ncd \"$R\"; export GIT_INDEX_FILE=\"$R/../index\"; git read-tree main; "
			"git update-index --add --cacheinfo 100644,$(echo %u | git hash-object -w "
			"--stdin),%s; git update-ref refs/heads/main $(git commit-tree -p main -m "
			"on "
			"$(git write-tree)); unset GIT_INDEX_FILE",
			simgit_at_ref(b->g, STR("refs/heads/main"), str_from(path)), path);
}

static void user_branch(struct both *b, const char *path _unused_)
{
	user_does(b, simgit_user_branch(b->g, STR("mine")), "git checkout -q -b mine");
}

static void user_switch_main(struct both *b, const char *path _unused_)
{
	user_does(b, simgit_user_switch(b->g, STR("main")), "git checkout -q main");
}

static void user_switch_mine(struct both *b, const char *path _unused_)
{
	user_does(b, simgit_user_switch(b->g, STR("mine")), "git checkout -q mine --");
}

static void user_lock(struct both *b, const char *path _unused_)
{
	user_does(b, simgit_user_lock(b->g), ": >.git/index.lock");
	b->busy = true;
}

static void user_rebase(struct both *b, const char *path _unused_)
{
	if (simgit_user_rebase(b->g) < 0)
		return;
	user_does(b, 0,
			"GIT_SEQUENCE_EDITOR=true git rebase -q -i --exec false HEAD~1 >/dev/null "
			"2>&1 || :");
	b->busy = true;
}

static void user_clean(struct both *b, const char *path _unused_)
{
	user_does(b, simgit_user_clean(b->g),
			"rm -f .git/index.lock; git rebase --abort 2>/dev/null || :; git reset -q "
			"--hard; git clean -qfd");
	b->busy = false;
}

static void user_delete_branch(struct both *b, const char *path _unused_)
{
	user_does(b, simgit_user_delete_branch(b->g, STR("mine")), "git branch -qD mine");
}

static const struct {
	const char *name;
	void (*fn)(struct both *b, const char *path);
	int weight;
} acts[] = {
	{ "agent_write", agent_write, 12 },
	{ "agent_delete", agent_delete, 3 },
	{ "agent_stage", agent_stage, 3 },
	{ "agent_commit", agent_commit, 6 },
	{ "agent_detach", agent_detach, 2 },
	{ "agent_branch", agent_branch, 1 },
	{ "agent_leave", agent_leave, 1 },
	{ "agent_reset", agent_reset, 1 },
	{ "agent_rebase", agent_rebase, 3 },
	{ "agent_merge", agent_merge, 4 },
	{ "agent_nested", agent_nested, 1 },
	{ "agent_lock", agent_lock, 1 },
	{ "agent_vanish", agent_vanish, 1 },
	{ "user_write", user_write, 4 },
	{ "user_delete", user_delete, 1 },
	{ "user_stage", user_stage, 1 },
	{ "user_commit", user_commit, 5 },
	{ "user_commit_on", user_commit_on, 3 },
	{ "user_branch", user_branch, 2 },
	{ "user_switch_main", user_switch_main, 3 },
	{ "user_switch_mine", user_switch_mine, 1 },
	{ "user_lock", user_lock, 1 },
	{ "user_rebase", user_rebase, 1 },
	{ "user_clean", user_clean, 6 },
	{ "user_delete_branch", user_delete_branch, 1 },
};

void any_act(struct both *b)
{
	const char *path = paths[rng_below(&b->rng, PATHS)];
	size_t total = 0, i = 0, at;

	for (size_t k = 0; k < ARRAY_LEN(acts); k++)
		total += (size_t)acts[k].weight;
	at = rng_below(&b->rng, total);
	while (at >= (size_t)acts[i].weight)
		at -= (size_t)acts[i++].weight;
	tell(b, " %s.%c:%s", acts[i].name, b->w->branch[10], path);
	acts[i].fn(b, path);
}

void run_script(struct both *b)
{
	const char *out;

	if (!b->script.n)
		return;
	see_branches(b);
	/* Not as a condition, under which the shell would not stop at what fails. */
	out = sh(&b->f, "set +e; (set -e; %s\n); echo status $?", buf_cstr(&b->script));
	if (!str_ends(str_from(out), STR("status 0")))
		differ(b, "git did not do as the model: %s\n%s", buf_cstr(&b->script), out);
	buf_clear(&b->script);
}
