#include "tests/git/fixture.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/err.h"
#include "base/str.h"
#include "sys/loop/loop.h"

/*
 * As a harvest would: what the agent committed on its branch is the repository's, and nothing more.
 */
static const char live[] =
		"ref=refs/heads/$B; was= now=; p=$(dirname \"$(dirname "
		"\"$W\")\")/git/${W##*/}/.git; "
		"! [ -e \"$p/$ref\" ] || read now <\"$p/$ref\"; ! [ -e \"$R/.git/$ref\" ] || read "
		"was "
		"<\"$R/.git/$ref\"; [ -z \"$now\" ] || [ \"$now\" = \"$was\" ] || git -C \"$R\" -c "
		"core.hooksPath=/dev/null fetch -q --no-write-fetch-head \"$W\" \"+$ref:$ref\" "
		"2>/dev/null "
		"|| :";

__attribute__((format(printf, 2, 0))) static char *script(const struct fixture *f, const char *fmt,
		va_list ap, int *ret_status)
{
	static char ring[8][65536];
	static size_t turn;
	char *cmd = NULL, *out = ring[turn++ % 8];
	size_t n = 0, got;
	FILE *p;

	assert_true(vasprintf(&cmd, fmt, ap) >= 0);
	assert_int_equal(setenv("R", f->repo, 1), 0);
	assert_int_equal(setenv("W", f->tree, 1), 0);
	assert_int_equal(setenv("CMD", cmd, 1), 0);
	assert_int_equal(setenv("LIVE", f->live ? live : ":", 1), 0);
	assert_int_equal(setenv("B", f->branch[0] ? f->branch : "none", 1), 0);
	p = popen("exec sh -ec 'cd \"$R\"; eval \"$CMD\"; eval \"$LIVE\"' 2>&1", "r");
	assert_non_null(p);
	while ((got = fread(out + n, 1, 65535 - n, p)) > 0)
		n += got;
	*ret_status = pclose(p);
	while (n && out[n - 1] == '\n')
		n--;
	out[n] = '\0';
	if (*ret_status != 0 && getenv("GIT_TEST_VERBOSE"))
		fprintf(stderr, "# %s\n# -> %d: %s\n", cmd, *ret_status, out);
	free(cmd);
	return out;
}

const char *sh(const struct fixture *f, const char *fmt, ...)
{
	const char *out;
	va_list ap;
	int status;

	va_start(ap, fmt);
	out = script(f, fmt, ap, &status);
	va_end(ap);
	if (status != 0)
		fail_msg("%s: status %d: %s", fmt, status, out);
	return out;
}

int sh_status(const struct fixture *f, const char *fmt, ...)
{
	va_list ap;
	int status;

	va_start(ap, fmt);
	script(f, fmt, ap, &status);
	va_end(ap);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Confined as the daemon's is, where this machine can. */
static void open_git(struct fixture *f)
{
	const char *shim = getenv("OV_SHIM");
	struct ov_err err;

	if (git_open(f->loop, f->repo, &f->git, &err) < 0)
		fail_msg("git_open: %s", err.msg);
	if (shim && git_confine_works(shim, &err) == 0)
		git_confine(f->git, &(struct git_bounds){ .program = shim, .landlock = true });
}

void fixture_open(struct fixture *f)
{
	struct ov_err err;

	*f = (struct fixture){ .dir = "/tmp/ov-git-XXXXXX" };
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->repo, sizeof(f->repo), "%s/a repo", f->dir);
	snprintf(f->tree, sizeof(f->tree), "%s/.overseer/worktrees/w1", f->repo);
	setenv("HOME", f->dir, 1);
	setenv("XDG_CONFIG_HOME", f->dir, 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	unsetenv("GIT_CONFIG_GLOBAL");
	/* Ours must win over a daemon that was started from a hook. */
	setenv("GIT_DIR", "/nonexistent", 1);
	setenv("GIT_INDEX_FILE", "/nonexistent", 1);
	setenv("GIT_EDITOR", "true", 1); /* of the scripts */
	assert_int_equal(loop_new(&f->loop, &err), 0);
	setenv("R", f->dir, 1);
	snprintf(f->repo, sizeof(f->repo), "%s", f->dir);
	sh(f,
			"unset GIT_DIR GIT_INDEX_FILE; git init -q -b main 'a repo'; cd 'a repo';"
			"git config user.name User; git config user.email user@example.org;"
			"mkdir src; echo one >src/one; echo two >src/two; printf '*.o\\n' "
			">.gitignore;"
			"git add -A; git commit -qm first; echo more >>src/two; git commit -qam "
			"second");
	snprintf(f->repo, sizeof(f->repo), "%s/a repo", f->dir);
	open_git(f);
	unsetenv("GIT_DIR");
	unsetenv("GIT_INDEX_FILE");
}

void fixture_open_live(struct fixture *f)
{
	fixture_open(f);
	f->live = true;
}

void fixture_reopen(struct fixture *f)
{
	git_close(f->git);
	open_git(f);
}

void fixture_close(struct fixture *f)
{
	git_close(f->git);
	loop_free(f->loop);
	assert_int_equal(strncmp(f->dir, "/tmp/ov-git-", 12), 0);
	sh(f, "cd /; rm -rf '%s'", f->dir);
}

static void copy(char *to, size_t size, str s)
{
	snprintf(to, size, STR_FMT, STR_ARG(s));
}

static void on_done(void *user, int r, const struct git_result *res, const struct ov_err *err)
{
	struct answer *a = user;

	assert_false(a->done);
	a->done = true;
	a->r = r;
	if (r < 0) {
		assert_int_equal(err->code, r);
		snprintf(a->msg, sizeof(a->msg), "%s", err->msg);
		return;
	}
	a->outcome = res->outcome;
	copy(a->base, sizeof(a->base), res->base);
	copy(a->head, sizeof(a->head), res->head);
	copy(a->tree, sizeof(a->tree), res->tree);
	copy(a->commit, sizeof(a->commit), res->commit);
	if (res->rescue_ref.n || !a->git)
		copy(a->rescue_ref, sizeof(a->rescue_ref), res->rescue_ref);
	copy(a->fingerprint, sizeof(a->fingerprint), res->fingerprint);
	copy(a->detail, sizeof(a->detail), res->detail);
	copy(a->refused, sizeof(a->refused), res->refused);
	a->commits = res->commits;
	a->files_changed = res->files_changed;
	a->lines_added = res->lines_added;
	a->lines_removed = res->lines_removed;
	a->leftovers = res->leftovers;
	for (size_t i = 0, n = 0; i < res->leftover_files_n; i++)
		n += (size_t)snprintf(a->leftover_files + n, sizeof(a->leftover_files) - n,
				STR_FMT "\n", STR_ARG(res->leftover_files[i]));
	for (size_t i = 0; i < res->files_n; i++)
		a->files_n += (size_t)snprintf(a->files + a->files_n, sizeof(a->files) - a->files_n,
				STR_FMT "\n", STR_ARG(res->files[i]));
	a->listed = res->files_n;
	for (size_t i = 0, n = 0; i < res->touched_n; i++)
		n += (size_t)snprintf(a->touched + n, sizeof(a->touched) - n, STR_FMT "\n",
				STR_ARG(res->touched[i]));
	a->commit_ids_n = res->commit_ids_n;
	if (res->commit_ids_n)
		copy(a->newest, sizeof(a->newest), res->commit_ids[0]);
}

void finish(struct fixture *f, struct answer *a)
{
	while (!a->done)
		assert_true(loop_step(f->loop, 60 * 1000 * 1000));
}

void start_ensure(struct fixture *f, const char *branch, const char *ref, struct answer *ret)
{
	start_ensure_at(f, branch, "", ref, ret);
}

void start_ensure_at(struct fixture *f, const char *branch, const char *start, const char *ref,
		struct answer *ret)
{
	struct git_ensure spec = { .path = str_from(f->tree),
		.branch = str_from(branch),
		.target = STR("main"),
		.start = str_from(start),
		.rescue_ref = str_from(ref) };

	*ret = (struct answer){ 0 };
	snprintf(f->branch, sizeof(f->branch), "%s", branch);
	git_ensure(f->git, &spec, on_done, ret);
}

void start_harvest(struct fixture *f, const char *base, const char *ref, struct answer *ret)
{
	*ret = (struct answer){ 0 };
	git_harvest(f->git,
			&(struct git_harvest){ .path = str_from(f->tree),
					.branch = str_from(
							f->branch[0] ? f->branch : "overseer/w1/a"),
					.target = STR("main"),
					.base = str_from(base),
					.since = str_from(f->since),
					.rescue_ref = str_from(ref),
					.message = STR("Leftovers of w1") },
			on_done, ret);
}

static void on_rebased(void *user, int r, const struct git_result *res, const struct ov_err *err)
{
	struct answer *a = user;
	struct git_advance spec = { .target = STR("main"),
		.path = str_from(a->path),
		.key = str_from(a->key) };

	if (r < 0 || res->outcome != GIT_OK) {
		on_done(user, r, res, err);
		return;
	}
	spec.candidate = res->commit;
	copy(a->rescue_ref, sizeof(a->rescue_ref), res->rescue_ref);
	git_advance(a->git, &spec, on_done, a);
}

void start_accept(struct fixture *f, const char *branch, const char *key, const char *message,
		struct answer *ret)
{
	char ref[512];
	struct git_rebase spec = {
		.path = str_from(f->tree),
		.branch = str_from(branch),
		.target = STR("main"),
		.message = str_from(message),
		.key = str_from(key),
	};

	snprintf(ref, sizeof(ref), "refs/overseer/accepted/%s", key);
	for (char *p = ref; *p; p++)
		if (strchr(":[*]^$. ", *p))
			*p = '_';
	spec.rescue_ref = str_from(ref);
	*ret = (struct answer){ .git = f->git };
	snprintf(ret->path, sizeof(ret->path), "%s", f->tree);
	snprintf(ret->key, sizeof(ret->key), "%s", key);
	git_rebase(f->git, &spec, on_rebased, ret);
}

void start_rebase(struct fixture *f, const char *branch, const char *key, const char *remote,
		struct answer *ret)
{
	char ref[128];
	struct git_rebase spec = {
		.path = str_from(f->tree),
		.branch = str_from(branch),
		.target = STR("main"),
		.remote = str_from(remote),
		.message = STR("Task"),
		.key = str_from(key),
	};

	snprintf(ref, sizeof(ref), "refs/overseer/rescue/%s", key);
	spec.rescue_ref = str_from(ref);
	*ret = (struct answer){ 0 };
	git_rebase(f->git, &spec, on_done, ret);
}

void start_advance(struct fixture *f, const char *candidate, const char *key, const char *remote,
		struct answer *ret)
{
	struct git_advance spec = {
		.path = str_from(f->tree),
		.target = STR("main"),
		.candidate = str_from(candidate),
		.key = str_from(key),
		.remote = str_from(remote),
		.push = true,
	};

	*ret = (struct answer){ 0 };
	git_advance(f->git, &spec, on_done, ret);
}

void start_revert(struct fixture *f, const char *commit, const char *key, struct answer *ret)
{
	struct git_revert spec = {
		.target = STR("main"),
		.commit = str_from(commit),
		.message = STR("Take it back"),
		.key = str_from(key),
	};

	*ret = (struct answer){ 0 };
	git_revert(f->git, &spec, on_done, ret);
}

void start_pick(struct fixture *f, const char *key, struct answer *ret)
{
	struct git_pick spec = {
		.path = str_from(f->tree),
		.target = STR("main"),
		.message = STR("Picked"),
		.key = str_from(key),
		.rescue_ref = STR("refs/overseer/rescue/pick"),
	};

	*ret = (struct answer){ 0 };
	git_pick(f->git, &spec, on_done, ret);
}

void start_remove(struct fixture *f, const char *ref, struct answer *ret)
{
	*ret = (struct answer){ 0 };
	git_remove(f->git, str_from(f->tree), str_from(ref), on_done, ret);
}

void start_restore(struct fixture *f, const char *ref, struct answer *ret)
{
	*ret = (struct answer){ 0 };
	git_restore(f->git, str_from(f->tree), str_from(ref), on_done, ret);
}

static struct answer waited(struct fixture *f, struct answer *a, const char *what)
{
	finish(f, a);
	if (a->r < 0)
		fail_msg("%s: %s", what, a->msg);
	return *a;
}

struct answer ensure(struct fixture *f, const char *branch)
{
	struct answer a;

	start_ensure(f, branch, "refs/overseer/rescue/ensure", &a);
	return waited(f, &a, "ensure");
}

struct answer harvest(struct fixture *f, const char *base)
{
	struct answer a;

	start_harvest(f, base, "refs/overseer/rescue/harvest", &a);
	return waited(f, &a, "harvest");
}

struct answer accept_key(struct fixture *f, const char *branch, const char *key)
{
	struct answer a;

	start_accept(f, branch, key, "Do the task\n\nAnd say why.", &a);
	return waited(f, &a, "accept");
}

struct answer rebase(struct fixture *f, const char *branch, const char *key)
{
	struct answer a;

	start_rebase(f, branch, key, "", &a);
	return waited(f, &a, "rebase");
}

struct answer advance(struct fixture *f, const char *candidate, const char *key)
{
	struct answer a;

	start_advance(f, candidate, key, "", &a);
	return waited(f, &a, "advance");
}

struct answer revert(struct fixture *f, const char *commit, const char *key)
{
	struct answer a;

	start_revert(f, commit, key, &a);
	return waited(f, &a, "revert");
}

struct answer pick(struct fixture *f, const char *key)
{
	struct answer a;

	start_pick(f, key, &a);
	return waited(f, &a, "pick");
}

struct answer predict(struct fixture *f, const char *a, const char *b)
{
	struct answer ret = { 0 };

	git_predict(f->git, str_from(a), str_from(b), on_done, &ret);
	finish(f, &ret);
	return ret;
}

struct answer rescue_since(struct fixture *f, const char *path, const char *base, const char *ref)
{
	struct answer a = { 0 };

	git_rescue(f->git, str_from(path), str_from(base), str_from(ref), STR("A rescue"), on_done,
			&a);
	return waited(f, &a, "rescue");
}

struct answer rescue(struct fixture *f, const char *path, const char *ref)
{
	return rescue_since(f, path, "", ref);
}

struct answer restore(struct fixture *f, const char *ref)
{
	struct answer a;

	start_restore(f, ref, &a);
	return waited(f, &a, "restore");
}

struct answer remove_tree(struct fixture *f)
{
	struct answer a;

	start_remove(f, "refs/overseer/rescue/remove", &a);
	return waited(f, &a, "remove");
}

void assert_same_content(struct fixture *f, const char *ref, const char *folder)
{
	sh(f, "rm -rf ../out; mkdir ../out; git archive '%s' | tar -x -C ../out", ref);
	sh(f, "diff -r --no-dereference -x .git -x '*.o' -x .overseer ../out '%s'", folder);
	sh(f,
			"list() { (cd \"$1\" && find . -name .git -prune -o -name .overseer -prune "
			"-o -name '*.o' -prune -o "
			"! -type d -printf '%%p %%y %%l ' -a \\( -perm /100 -printf 'x\\n' -o "
			"-printf '-\\n' \\) | LC_ALL=C sort); };"
			"list ../out >../a.list; list '%s' >../b.list; cmp ../a.list ../b.list",
			folder);
}

struct answer fingerprint(struct fixture *f)
{
	struct answer a = { 0 };

	git_fingerprint(f->git, str_from(f->tree), on_done, &a);
	finish(f, &a);
	return a;
}
