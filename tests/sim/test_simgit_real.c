/*
 * The model of git against git itself: the same acts of agents, user and ours on the model and, by
 * drive/git, on a repository on disk must give the same answers and leave the same refs, files and
 * worktrees. OV_FULL, OV_SOAK: more of it. SIMGIT_SEED=n: only the sequence of that seed,
 * or with SIMGIT_SEED_TO=m of all from n to m.
 */
#include <stdio.h>
#include <string.h>

#include "tests/sim/simgit_real.h"

/* Comparing what is there. */

static void compare_folder(struct both *b, const char *tree)
{
	char name[400], text[64];

	for (size_t i = 0; i < PATHS; i++) {
		uint32_t want = here(b, tree, paths[i]), got = 0;
		FILE *f;

		snprintf(name, sizeof(name), "%s/%s", tree, paths[i]);
		f = fopen(name, "r");
		if (f && fgets(text, sizeof(text), f))
			got = (uint32_t)strtoul(text, NULL, 10);
		if (f)
			fclose(f);
		if (got != want)
			differ(b, "%s holds %u, in the model %u", name, got, want);
	}
}

/*
 * Every path at every ref, in order: a number or "missing"; what else cat-file says is passed over.
 */
static uint32_t next_number(str *out, str *ret_line)
{
	uint64_t got = 0;

	while (str_split(out, '\n', ret_line))
		if (str_to_u64(*ret_line, &got) || str_ends(*ret_line, STR(" missing")) ||
				str_is(*ret_line, "commit"))
			break;
	return (uint32_t)got;
}

static void compare_refs(struct both *b, str *out)
{
	str line = { 0 };

	for (size_t i = 0; i < b->refs_n; i++) {
		str ref = str_from(b->refs[i]);
		bool there = simgit_ref(b->g, ref);

		next_number(out, &line);
		if (str_is(line, "commit") != there)
			differ(b, "%s is%s in the model", b->refs[i], there ? "" : " not");
		for (size_t k = 0; k < PATHS; k++) {
			uint32_t want = simgit_at_ref(b->g, ref, str_from(paths[k])),
				 got = next_number(out, &line);

			if (got != want)
				differ(b, "%s at %s is %u, in the model %u", paths[k], b->refs[i],
						got, want);
		}
	}
}

/* What is unfinished or locked in a git directory, and which branch HEAD is on. */
static bool admin_busy(const char *admin, char *ret_head, size_t size)
{
	static const char *const names[] = { "rebase-merge", "rebase-apply", "MERGE_HEAD",
		"index.lock" };
	char name[400];
	bool busy = false;
	FILE *f;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(name, sizeof(name), "%s/%s", admin, names[i]);
		busy |= access(name, F_OK) == 0;
	}
	ret_head[0] = '\0';
	snprintf(name, sizeof(name), "%s/HEAD", admin);
	f = fopen(name, "r");
	assert_non_null(f);
	assert_non_null(fgets(ret_head, (int)size, f));
	fclose(f);
	return busy;
}

static void compare_tree(struct both *b, const char *tree, const char *admin, bool clean)
{
	str t = str_from(tree), head;
	char line[200];

	compare_folder(b, tree);
	if (access(tree, F_OK) != 0) {
		if (simgit_clean(b->g, t))
			differ(b, "%s is not there", tree);
		return;
	}
	clean &= !admin_busy(admin, line, sizeof(line));
	head = str_trim(str_from(line));
	head = str_starts(head, STR("ref: ")) ? str_sub(head, strlen("ref: refs/heads/"), head.n)
					      : (str){ 0 };
	if (!str_eq(head, simgit_head(b->g, t)))
		differ(b, "%s is on \"" STR_FMT "\"", tree, STR_ARG(head));
	if (clean != simgit_clean(b->g, t))
		differ(b, "%s is %s", tree, clean ? "clean" : "not clean");
}

/* One script for everything that only git can tell; the rest is read from the folders. */
static void compare_all(struct both *b)
{
	char admin[400];
	str out, line;
	bool clean[2];

	buf_clear(&b->script);
	buf_addf(&b->script, "export GIT_OPTIONAL_LOCKS=0; { printf '");
	for (size_t i = 0; i < b->refs_n; i++) {
		buf_addf(&b->script, "%s\\n", b->refs[i]);
		for (size_t k = 0; k < PATHS; k++)
			buf_addf(&b->script, "%s:%s\\n", b->refs[i], paths[k]);
	}
	buf_addf(&b->script,
			"'; } | git cat-file --batch='%%(objecttype)'; echo =; s='status "
			"--porcelain -uall'; [ -z \"$(git $s)\" ] && echo clean || echo dirty; [ "
			"-z \"$(git -C '%s' $s -- . ':(exclude)nested' 2>&1)\" ] && echo clean || "
			"echo dirty",
			b->w->tree);
	out = str_from(sh(&b->f, "%s", buf_cstr(&b->script)));
	buf_clear(&b->script);
	compare_refs(b, &out);
	while (str_split(&out, '\n', &line) && !str_is(line, "="))
		;
	for (size_t i = 0; i < 2; i++) {
		assert_true(str_split(&out, '\n', &line));
		clean[i] = str_is(line, "clean");
	}
	snprintf(admin, sizeof(admin), "%s/.git", b->f.repo);
	compare_tree(b, b->f.repo, admin, clean[0]);
	snprintf(admin, sizeof(admin), "%s/.overseer/git/w%d/.git", b->f.repo,
			(int)(b->w - b->worker) + 1);
	compare_tree(b, b->w->tree, admin, clean[1]);
}

/* Our calls. */

enum call { ENSURE, HARVEST, ACCEPT, RESTORE, REMOVE, CALLS };
static const char *const call_names[] = { "ENSURE", "HARVEST", "ACCEPT", "RESTORE", "REMOVE" };

static struct answer call_real(struct both *b, enum call call)
{
	struct worker *w = b->w;
	struct answer a;

	switch (call) {
	case ENSURE: start_ensure_at(&b->f, w->branch, w->start, w->rescue, &a); break;
	case HARVEST: start_harvest(&b->f, w->base, w->rescue, &a); break;
	case ACCEPT: start_accept(&b->f, w->branch, w->key, "Task", &a); break;
	case RESTORE: start_restore(&b->f, w->rescue, &a); break;
	default: start_remove(&b->f, w->rescue, &a); break;
	}
	finish(&b->f, &a);
	if (call == ENSURE && a.r == 0)
		snprintf(w->ensured, sizeof(w->ensured), "%s", w->branch);
	snprintf(b->f.branch, sizeof(b->f.branch), "%s", w->ensured);
	return a;
}

/* As start_accept does it. */
static int accept_model(struct both *b, struct git_result *ret, struct ov_err *err)
{
	struct worker *w = b->w;
	struct git_rebase re = { .path = tree_of(b),
		.branch = str_from(w->branch),
		.target = STR("main"),
		.message = STR("Task"),
		.key = str_from(w->key),
		.rescue_ref = arena_printf(&b->arena, "refs/overseer/accepted/%s", w->key) };
	struct git_advance ad = { .path = re.path, .target = re.target, .key = re.key };
	int r = simgit_rebase(b->g, &re, SIMGIT_ALL, &b->arena, ret, err);

	if (r < 0 || ret->outcome != GIT_OK)
		return r;
	ad.candidate = ret->commit;
	r = simgit_advance(b->g, &ad, SIMGIT_ALL, &b->arena, ret, err);
	ret->rescue_ref = re.rescue_ref;
	return r;
}

static int call_model(struct both *b, enum call call, struct git_result *ret, struct ov_err *err)
{
	struct worker *w = b->w;
	str tree = tree_of(b), branch = str_from(w->branch), rescue = str_from(w->rescue);
	struct git_ensure en = { tree, branch, STR("main"), str_from(w->model_start), rescue };

	switch (call) {
	case ENSURE: return simgit_ensure(b->g, &en, SIMGIT_ALL, &b->arena, ret, err);
	case HARVEST:
		return simgit_harvest(b->g, tree, str_from(w->model_base), rescue, SIMGIT_ALL,
				&b->arena, ret, err);
	case ACCEPT: return accept_model(b, ret, err);
	case RESTORE: return simgit_restore(b->g, tree, rescue, SIMGIT_ALL, &b->arena, ret, err);
	default: return simgit_remove(b->g, tree, rescue, SIMGIT_ALL, &b->arena, ret, err);
	}
}

static void compare_answers(struct both *b, const struct answer *a, const struct git_result *res)
{
	size_t at = 0;

	if (a->outcome != res->outcome)
		differ(b, "outcome %d, of the model %d: %s", (int)a->outcome, (int)res->outcome,
				a->detail);
	if (!str_is(res->rescue_ref, a->rescue_ref))
		differ(b, "rescue ref \"%s\", of the model \"" STR_FMT "\"", a->rescue_ref,
				STR_ARG(res->rescue_ref));
	if (a->commits != res->commits || a->files_changed != res->files_changed ||
			a->leftovers != res->leftovers || a->commit_ids_n != res->commit_ids_n)
		differ(b, "%d commits, %d files, leftovers %d; of the model %d, %d, %d",
				(int)a->commits, (int)a->files_changed, a->leftovers,
				(int)res->commits, (int)res->files_changed, res->leftovers);
	for (size_t i = 0; i < res->files_n; i++)
		at += (size_t)snprintf(b->files + at, sizeof(b->files) - at, STR_FMT "\n",
				STR_ARG(res->files[i]));
	b->files[at] = '\0';
	if (strcmp(b->files, a->files) != 0)
		differ(b, "files %s, of the model %s", a->files, b->files);
	at = 0;
	for (size_t i = 0; i < res->leftover_files_n; i++)
		at += (size_t)snprintf(b->files + at, sizeof(b->files) - at, STR_FMT "\n",
				STR_ARG(res->leftover_files[i]));
	b->files[at] = '\0';
	if (strcmp(b->files, a->leftover_files) != 0)
		differ(b, "leftovers %s, of the model %s", a->leftover_files, b->files);
	if (a->outcome == GIT_CONFLICT && !str_is(res->detail, a->detail))
		differ(b, "conflicts %s, of the model " STR_FMT, a->detail, STR_ARG(res->detail));
	if ((a->detail[0] != '\0') != (res->detail.n > 0))
		differ(b, "detail \"%s\", of the model \"" STR_FMT "\"", a->detail,
				STR_ARG(res->detail));
}

static void call_both(struct both *b, enum call call)
{
	struct git_result res = { 0 };
	struct worker *w = b->w;
	struct ov_err err = { 0 };
	struct answer a;
	int r;

	run_script(b);
	tell(b, "\n#  %s %s ->", call_names[call], w->branch);
	a = call_real(b, call);
	if (call == RESTORE) {
		see_branches(b);
		run_script(b);
	}
	r = call_model(b, call, &res, &err);
	tell(b, " %d.%d", a.r, (int)a.outcome);
	b->calls++;
	if (a.r != r)
		differ(b, "error %s, of the model %s", a.r < 0 ? a.msg : "none",
				r < 0 ? err.msg : "none");
	if (r == 0)
		compare_answers(b, &a, &res);
	compare_all(b);
	if (r == 0 && call == ENSURE) {
		snprintf(w->base, sizeof(w->base), "%s", a.base);
		snprintf(w->model_base, sizeof(w->model_base), STR_FMT, STR_ARG(res.base));
	}
	if (r == 0 && call == HARVEST) {
		snprintf(w->head, sizeof(w->head), "%s", a.head);
		snprintf(w->model_head, sizeof(w->model_head), STR_FMT, STR_ARG(res.head));
	}
	if (call == ENSURE || call == HARVEST || r < 0)
		w->phase = r < 0 ? 0 : call == ENSURE ? 1 : 2;
	if (call != ACCEPT || r < 0)
		return;
	b->outcomes[a.outcome]++;
	w->phase = 1;
	if (a.outcome <= GIT_NO_CHANGES && rng_below(&b->rng, 4))
		next_task(b, w);
}

static void both_open(struct both *b, uint64_t seed)
{
	*b = (struct both){ .rng = { seed } };
	fixture_open(&b->f);
	b->g = simgit_new(str_from(b->f.repo), STR("main"));
	know_ref(b, "refs/heads/main");
	know_ref(b, "refs/heads/mine");
	for (size_t i = 0; i < WORKERS; i++)
		next_task(b, &b->worker[i]);
	use(b, &b->worker[0]);
	for (int i = 0; i < 2; i++) {
		user_write(b, "src/one");
		user_write(b, "src/two");
		user_write(b, i ? "p1" : "p0");
		user_commit(b, NULL);
	}
}

static void sequence(uint64_t seed, size_t outcomes[static GIT_MOVED + 1], size_t *ret_calls)
{
	static const enum call usual[] = { ENSURE, HARVEST, ACCEPT };
	struct both b;
	struct buf why = BUF_INIT;

	both_open(&b, seed);
	tell(&b, "seed %llu:", (unsigned long long)seed);
	for (int i = 0; i < 12; i++) {
		enum call call;

		use(&b, &b.worker[rng_below(&b.rng, WORKERS)]);
		for (size_t n = rng_below(&b.rng, 5); n; n--)
			any_act(&b);
		call = usual[b.w->phase];
		if (rng_below(&b.rng, 5) == 0)
			call = (enum call)rng_below(&b.rng, CALLS);
		call_both(&b, call);
	}
	if (!simgit_kept(b.g, &why) || !simgit_user_intact(b.g, &why) || !simgit_audit(b.g, &why))
		differ(&b, "%s", buf_cstr(&why));
	for (size_t i = 0; i <= GIT_MOVED; i++)
		outcomes[i] += b.outcomes[i];
	*ret_calls += b.calls;
	simgit_free(b.g);
	arena_done(&b.arena);
	buf_done(&b.story);
	buf_done(&b.script);
	buf_done(&why);
	fixture_close(&b.f);
}

TEST(the_model_does_as_git_does)
{
	const char *from = getenv("SIMGIT_SEED"), *to = getenv("SIMGIT_SEED_TO");
	uint64_t first = from ? strtoull(from, NULL, 10) : 1,
		 n = getenv("OV_SOAK")           ? 300
			: getenv("OV_FULL")      ? 60
			: getenv("OV_SANITIZED") ? 10
						 : 20;
	size_t outcomes[GIT_MOVED + 1] = { 0 }, calls = 0;

	if (from)
		n = to ? strtoull(to, NULL, 10) - first + 1 : 1;
	for (uint64_t seed = first; seed < first + n; seed++)
		sequence(seed, outcomes, &calls);
	if (from)
		return;
	assert_int_equal(calls, 12 * n);
	if (n < 20)
		return; /* too few for all of them */
	/* Not GIT_MOVED: nobody moves the target while a call is at work. */
	for (size_t i = 0; i < GIT_MOVED; i++)
		if (!outcomes[i])
			fail_msg("outcome %zu did not come up", i);
}

/*
 * Sequences in which they once differed: what was left behind, conflicts, a HEAD that is elsewhere.
 */
TEST(where_they_once_differed)
{
	static const uint64_t seeds[] = { 39, 45, 97, 103, 138 };
	size_t outcomes[GIT_MOVED + 1] = { 0 }, calls = 0;

	for (size_t i = 0; i < ARRAY_LEN(seeds); i++)
		sequence(seeds[i], outcomes, &calls);
}

TEST_MAIN
