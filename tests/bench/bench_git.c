/*
 * What git work costs beside the bare commands: accepted tasks (harvest, rebase, advance) per
 * minute against the fewest git commands that do the same by hand, each call on a worktree by
 * itself, what a worktree takes of the disk, and the radar's look at all pairs of 30 branches
 * against bare merge-tree. Wall time of alternating rounds, the best of each: both sides wait for
 * the same children, so the ratio says what our looking and checking adds.
 *
 * usage: bench_git [FILES REFS]
 *
 * With a size it tells only the calls and the disk, of a repository with so many files and refs,
 * and judges nothing: for decisions/git-folders.md.
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "drive/accept/git_accept.h"
#include "drive/git/git.h"
#include "drive/worktree/worktree.h"
#include "sys/loop/loop.h"
#include "tests/bench/figure.h"

enum { FILES = 400, TASKS = 6, ROUNDS = 5, BRANCHES = 30, CALLS = 15, WORKTREES = 8 };
enum { LARGE = 5000, CALLS_LARGE = 7, WORKTREES_LARGE = 2, FOLDER = 100 };

struct bench {
	char dir[64];
	int files, refs;
	bool sized; /* by whoever runs it: nothing is judged */
	struct loop *loop;
	struct git *git;
};

struct answer {
	bool done;
	enum git_outcome outcome;
	char base[72], commit[72];
};

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "bench_git: %s\n", what);
	exit(2);
}

static void sh(const char *script)
{
	if (system(script) != 0)
		die(script);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Of this process and of all its children that have ended. */
static double cpu(void)
{
	double sum = 0;

	for (int who = 0; who < 2; who++) {
		struct rusage u;

		getrusage(who ? RUSAGE_CHILDREN : RUSAGE_SELF, &u);
		sum += (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
				(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
	}
	return sum;
}

static void on_done(void *user, int r, const struct git_result *res, const struct ov_err *err)
{
	struct answer *a = user;

	if (r < 0)
		die(err->msg);
	a->done = true;
	a->outcome = res->outcome;
	snprintf(a->base, sizeof(a->base), STR_FMT, STR_ARG(res->base));
	snprintf(a->commit, sizeof(a->commit), STR_FMT, STR_ARG(res->commit));
}

static void finish(struct bench *b, struct answer *a, enum git_outcome want)
{
	while (!a->done)
		loop_step(b->loop, 60 * 1000 * 1000);
	if (a->outcome != want)
		die("an outcome that was not expected");
}

/*
 * As a stream for fast-import: the files, a hundred in each folder, and a commit and a name for
 * each ref: one branch in five, one tag in five, the rest of a remote.
 */
static void make_repository(const struct bench *b)
{
	FILE *out = popen("git -C repo fast-import --quiet", "w");

	if (!out)
		die("no fast-import");
	fputs("commit refs/heads/main\ncommitter B <b@b> 1700000000 +0000\ndata 5\nfirst\n", out);
	for (int i = 1; i <= b->files; i++) {
		char text[4096];
		int n = 0;

		for (int k = 0; k <= 50; k++)
			n += snprintf(text + n, sizeof(text) - (size_t)n, "%d\n", i + k);
		fprintf(out, "M 644 inline d/%d/%d\ndata %d\n%s\n", i / FOLDER, i, n, text);
	}
	for (int i = 1; i <= b->refs; i++) {
		const char *kind = i % 5 == 0 ? "heads/b" : i % 5 == 1 ? "tags/t" : "remotes/o/r";

		fprintf(out,
				"commit refs/%s%d\ncommitter B <b@b> %d +0000\ndata 4\nnext\n"
				"from refs/heads/main\nM 644 inline n\ndata <<E\n%d\nE\n",
				kind, i, 1700000000 + i, i);
	}
	if (pclose(out) != 0)
		die("fast-import failed");
}

static void set_up(struct bench *b)
{
	const char *shim = getenv("OV_SHIM"), *tmp = getenv("TMPDIR");
	struct ov_err err;

	snprintf(b->dir, sizeof(b->dir), "%s/ov-bench-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(b->dir) || chdir(b->dir) < 0)
		die("no folder");
	setenv("HOME", b->dir, 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	sh("git init -q -b main repo && cd repo && git config user.name B && git config "
	   "user.email b@b && git config gc.auto 0");
	make_repository(b);
	sh("cd repo && git reset -q --hard && git pack-refs --all && "
	   "git worktree add -q ../bare -b bare");
	if (chdir("repo") < 0 || loop_new(&b->loop, &err) < 0 ||
			git_open(b->loop, ".", &b->git, &err) < 0)
		die("no repository");
	if (shim && git_confine_works(shim, &err) == 0)
		git_confine(b->git, &(struct git_bounds){ .program = shim, .landlock = true });
}

/* The work of one task: a commit on the branch where the worktree stands. */
static void work(const char *tree, int n)
{
	char script[256];

	snprintf(script, sizeof(script),
			"cd '%s' && echo %d >>d/%d/%d && git commit -qam 'task %d' --no-verify",
			tree, n, (n % FILES + 1) / FOLDER, n % FILES + 1, n);
	sh(script);
}

/*
 * As an accept does: what is uncommitted, merge, commit, keep, follow, move, with the
 * checkout looked at.
 */
static double accept_bare(void)
{
	double from = now();

	sh("set -e; test -z \"$(git -C ../bare status --porcelain)\"; test -z \"$(git status "
	   "--porcelain -uno)\"; t=$(git merge-tree --write-tree main bare); c=$(git commit-tree "
	   "-p main -m task $t); git update-ref refs/keep/x bare; git -C ../bare checkout -q -B "
	   "bare $c; git merge -q --ff-only $c");
	return now() - from;
}

static double accept_ours(struct bench *b, const char *branch, const char *base, int n)
{
	struct answer a = { 0 };
	double from = now();
	char key[32], ref[64];
	struct git_rebase spec = { .path = STR(".overseer/worktrees/w"),
		.branch = str_from(branch),
		.target = STR("main"),
		.message = STR("task") };

	snprintf(key, sizeof(key), "D_%d", n);
	snprintf(ref, sizeof(ref), "refs/overseer/rescue/w/%d", n);
	spec.key = str_from(key);
	spec.rescue_ref = str_from(ref);
	git_harvest(b->git,
			&(struct git_harvest){ .path = spec.path,
					.branch = spec.branch,
					.target = spec.target,
					.base = str_from(base),
					.rescue_ref = spec.rescue_ref,
					.message = STR("left") },
			on_done, &a);
	finish(b, &a, GIT_OK);
	a = (struct answer){ 0 };
	git_rebase(b->git, &spec, on_done, &a);
	finish(b, &a, GIT_OK);
	strcpy(ref, a.commit);
	a = (struct answer){ 0 };
	git_advance(b->git,
			&(struct git_advance){ .path = spec.path,
					.target = spec.target,
					.candidate = str_from(ref),
					.key = spec.key },
			on_done, &a);
	finish(b, &a, GIT_OK);
	return now() - from;
}

static int accepts(struct bench *b)
{
	double ours = 1e9, bare = 1e9;
	struct answer a = { 0 };
	int missed, n = 0;

	git_ensure(b->git,
			&(struct git_ensure){ .path = STR(".overseer/worktrees/w"),
					.branch = STR("overseer/w/a"),
					.target = STR("main"),
					.rescue_ref = STR("refs/overseer/rescue/e") },
			on_done, &a);
	finish(b, &a, GIT_OK);
	for (int round = 0; round < ROUNDS; round++) {
		double sum = 0, floor = 0;

		for (int i = 0; i < TASKS; i++) {
			work(".overseer/worktrees/w", ++n);
			sum += accept_ours(b, "overseer/w/a", a.base, n);
			work("../bare", ++n);
			floor += accept_bare();
		}
		ours = sum < ours ? sum : ours;
		bare = floor < bare ? floor : bare;
	}
	missed = figure("accepts_per_minute", 60 * TASKS / ours, "1/min", FIGURE_AT_LEAST, 0);
	missed += figure("accepts_per_minute_bare_git", 60 * TASKS / bare, "1/min", FIGURE_AT_LEAST,
			0);
	missed += figure("accept_wall_vs_bare_git", ours / bare, "ratio", FIGURE_AT_MOST, 3.5);
	return missed;
}

/* Each call by itself: ours, and the bare commands that do the same to a worktree of git's own. */

enum call {
	HARVEST_CLEAN, /* the agent committed its work */
	HARVEST_DIRTY, /* it left all of it uncommitted */
	REBASE,
	ADVANCE,
	ENSURE_NEW,
	ENSURE_AGAIN, /* for the next task, after an accept */
	ENSURE_DIRTY, /* for the next task, over what a failed one left */
	STATUS,       /* not ours: what an agent types */
	CALL_N,
};

enum { MORE_MS = 40 };

/*
 * Beside which commands, and how many times as long it took when git still ran, unconfined, in the
 * folders of the agent. A call may take MORE_MS more than that.
 */
static const struct call_row {
	const char *name, *bare;
	double former;
} call_rows[CALL_N] = {
	[HARVEST_CLEAN] = { "harvest_committed", "git add -A && git commit -q -m x --allow-empty",
			1.15 },
	[HARVEST_DIRTY] = { "harvest_uncommitted", "git add -A && git commit -q -m x", 3.4 },
	[REBASE] = { "rebase",
			"t=$(git merge-tree --write-tree main bare) && c=$(git commit-tree -p main "
			"-m x $t) && git update-ref refs/keep/x bare && git checkout -q -B bare $c",
			2.4 },
	[ADVANCE] = { "advance", "cd ../repo && git merge -q --ff-only bare", 1.65 },
	[ENSURE_NEW] = { "ensure_new", "git worktree add -q -b bare-new ../new main", 1.1 },
	[ENSURE_AGAIN] = { "ensure_again", "git checkout -q -B bare main && git clean -q -f -d",
			2.2 },
	[ENSURE_DIRTY] = { "ensure_over_leftovers",
			"git stash push -q -u && "
			"git checkout -q -B bare main && git clean -q -f -d",
			1.17 },
	[STATUS] = { "agent_status", "git status --porcelain >../out", 0 },
};

struct times {
	double t[2 * CALLS], cpu[2 * CALLS];
	int n;
};

struct moment {
	double wall, cpu;
};

static struct moment moment(void)
{
	return (struct moment){ now(), cpu() };
}

struct calls {
	struct bench *b;
	struct times ours[CALL_N], bare[CALL_N];
	char worktree[64], branch[64], base[72], candidate[72];
	int n;
};

static void took(struct times *times, struct moment from)
{
	if (times->n == 2 * CALLS)
		die("too many calls");
	times->cpu[times->n] = cpu() - from.cpu;
	times->t[times->n++] = now() - from.wall;
}

static int by_time(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return (d > 0) - (d < 0);
}

/* The median: the best of a few is a matter of luck where each waits for thirty children. */
static double usual(double *t, int n)
{
	qsort(t, (size_t)n, sizeof(double), by_time);
	return t[n / 2];
}

/*
 * Of what usual() has sorted: for a difference, that files had to wait for the disk is no matter.
 */
static double good(const struct times *t)
{
	return t->t[t->n / 4];
}

static void status_call(struct calls *c)
{
	char script[128];
	struct moment from;

	snprintf(script, sizeof(script), "cd '%s' && %s", c->worktree,
			"git status --porcelain >/dev/null");
	from = moment();
	sh(script);
	took(&c->ours[STATUS], from);
}

static void bare_call(struct calls *c, enum call which)
{
	struct moment from;

	if (chdir("../bare") < 0)
		die("no bare worktree");
	from = moment();
	sh(call_rows[which].bare);
	took(&c->bare[which], from);
	if (chdir("../repo") < 0)
		die("no repository");
}

static void ensure_call(struct calls *c, enum call which, const char *worktree)
{
	struct answer a = { 0 };
	struct moment from = moment();
	char ref[64];

	snprintf(c->worktree, sizeof(c->worktree), ".overseer/worktrees/%s", worktree);
	snprintf(c->branch, sizeof(c->branch), "overseer/%s/c%d", worktree, ++c->n);
	snprintf(ref, sizeof(ref), "refs/overseer/rescue/c/%d", c->n);
	git_ensure(c->b->git,
			&(struct git_ensure){ .path = str_from(c->worktree),
					.branch = str_from(c->branch),
					.target = STR("main"),
					.rescue_ref = str_from(ref) },
			on_done, &a);
	finish(c->b, &a, GIT_OK);
	took(&c->ours[which], from);
	strcpy(c->base, a.base);
}

static void harvest_call(struct calls *c, enum call which)
{
	struct answer a = { 0 };
	struct moment from = moment();
	char ref[64];

	snprintf(ref, sizeof(ref), "refs/overseer/rescue/c/%d", ++c->n);
	git_harvest(c->b->git,
			&(struct git_harvest){ .path = str_from(c->worktree),
					.branch = str_from(c->branch),
					.target = STR("main"),
					.base = str_from(c->base),
					.rescue_ref = str_from(ref),
					.message = STR("left") },
			on_done, &a);
	finish(c->b, &a, GIT_OK);
	took(&c->ours[which], from);
}

static void rebase_call(struct calls *c)
{
	struct answer a = { 0 };
	struct moment from = moment();
	char ref[64], key[32];
	struct git_rebase spec = { .path = str_from(c->worktree),
		.branch = str_from(c->branch),
		.target = STR("main"),
		.message = STR("task") };

	snprintf(ref, sizeof(ref), "refs/overseer/rescue/c/%d", ++c->n);
	snprintf(key, sizeof(key), "C_%d", c->n);
	spec.key = str_from(key);
	spec.rescue_ref = str_from(ref);
	git_rebase(c->b->git, &spec, on_done, &a);
	finish(c->b, &a, GIT_OK);
	took(&c->ours[REBASE], from);
	strcpy(c->candidate, a.commit);
}

static void advance_call(struct calls *c)
{
	struct answer a = { 0 };
	struct moment from = moment();
	char key[32];

	snprintf(key, sizeof(key), "C_%d", c->n);
	git_advance(c->b->git,
			&(struct git_advance){ .path = str_from(c->worktree),
					.target = STR("main"),
					.candidate = str_from(c->candidate),
					.key = str_from(key) },
			on_done, &a);
	finish(c->b, &a, GIT_OK);
	took(&c->ours[ADVANCE], from);
}

/* What an agent leaves: four files changed and one new one. */
static void leave(const struct bench *b, const char *tree, int n, bool commit)
{
	char script[256];

	snprintf(script, sizeof(script),
			"cd '%s' && for i in 1 2 3 4; do k=$((%d %% %d + i * 20)); echo %d "
			">>d/$((k / %d))/$k; done && echo %d >new-%d%s",
			tree, n, b->files - 80, n, FOLDER, n, n,
			commit ? " && git add -A && git commit -q -m own" : "");
	sh(script);
}

/*
 * The life of a worktree: made, worked in and accepted twice, used again over what a failure left.
 */
static void calls_round(struct calls *c, int round)
{
	char name[16];

	snprintf(name, sizeof(name), "c%d", round);
	ensure_call(c, ENSURE_NEW, name);
	bare_call(c, ENSURE_NEW);
	sh("git worktree remove -f ../new && git branch -q -D bare-new");
	for (int dirty = 0; dirty < 2; dirty++) {
		leave(c->b, c->worktree, c->n * 2, !dirty);
		if (dirty)
			status_call(c);
		harvest_call(c, dirty ? HARVEST_DIRTY : HARVEST_CLEAN);
		rebase_call(c);
		advance_call(c);
		ensure_call(c, ENSURE_AGAIN, name);
		bare_call(c, ENSURE_AGAIN);
		leave(c->b, "../bare", c->n * 2 + 1, false);
		if (dirty)
			bare_call(c, STATUS);
		bare_call(c, dirty ? HARVEST_DIRTY : HARVEST_CLEAN);
		bare_call(c, REBASE);
		bare_call(c, ADVANCE);
	}
	leave(c->b, c->worktree, c->n * 2, false);
	ensure_call(c, ENSURE_DIRTY, name);
	leave(c->b, "../bare", c->n * 2 + 1, false);
	bare_call(c, ENSURE_DIRTY);
}

static int calls(struct bench *b)
{
	struct calls c = { .b = b };
	int missed = 0;

	for (int round = 0; round < (b->files < LARGE ? CALLS : CALLS_LARGE); round++)
		calls_round(&c, round);
	for (int i = 0; i < CALL_N; i++) {
		const struct call_row *row = &call_rows[i];
		double ours = usual(c.ours[i].t, c.ours[i].n),
		       bare = usual(c.bare[i].t, c.bare[i].n);
		char name[64];

		snprintf(name, sizeof(name), "%s_ms", row->name);
		figure(name, ours * 1e3, "ms", FIGURE_AT_MOST, 0);
		snprintf(name, sizeof(name), "%s_bare_git_ms", row->name);
		figure(name, bare * 1e3, "ms", FIGURE_AT_MOST, 0);
		if (b->sized) {
			snprintf(name, sizeof(name), "%s_cpu_ms", row->name);
			figure(name, usual(c.ours[i].cpu, c.ours[i].n) * 1e3, "ms", FIGURE_AT_MOST,
					0);
			snprintf(name, sizeof(name), "%s_bare_git_cpu_ms", row->name);
			figure(name, usual(c.bare[i].cpu, c.bare[i].n) * 1e3, "ms", FIGURE_AT_MOST,
					0);
		}
		snprintf(name, sizeof(name), "%s_wall_vs_bare_git", row->name);
		figure(name, ours / bare, "ratio", FIGURE_AT_MOST, 0);
		if (!b->sized && row->former) {
			snprintf(name, sizeof(name), "%s_more_than_before_ms", row->name);
			missed += figure(name,
					(good(&c.ours[i]) - row->former * good(&c.bare[i])) * 1e3,
					"ms", FIGURE_AT_MOST, MORE_MS);
		}
	}
	return missed;
}

/* What a worktree takes of the disk: its files, and what git and we keep of it elsewhere. */

static int64_t counted;

static int count(const char *path _unused_, const struct stat *st, int flag _unused_,
		struct FTW *at _unused_)
{
	counted += st->st_blocks * 512;
	return 0;
}

static double used(void)
{
	counted = 0;
	if (nftw(".", count, 64, FTW_PHYS) < 0)
		die("the repository cannot be walked");
	return (double)counted;
}

static int disk(struct bench *b)
{
	struct calls c = { .b = b };
	double at = used(), ours, bare;
	int trees = b->files < LARGE ? WORKTREES : WORKTREES_LARGE;

	for (int i = 0; i < trees; i++) {
		char name[16];

		snprintf(name, sizeof(name), "disk%d", i);
		ensure_call(&c, ENSURE_NEW, name);
	}
	ours = used() - at;
	at = used();
	for (int i = 0; i < trees; i++)
		sh("i=$(ls -d disk-* 2>/dev/null | wc -l) && git worktree add -q -b disk-$i "
		   "disk-$i main");
	bare = used() - at;
	sh("for i in disk-*; do git worktree remove -f $i; git branch -q -D $i; done");
	figure("worktree_disk_kb", ours / trees / 1024, "KB", FIGURE_AT_MOST, 0);
	figure("worktree_disk_over_bare_kb", (ours - bare) / trees / 1024, "KB", FIGURE_AT_MOST, 0);
	return figure("worktree_disk_vs_bare_git", ours / bare, "ratio", FIGURE_AT_MOST,
			b->sized ? 0 : 1.25);
}

static double radar_ours(struct bench *b)
{
	double from = now();

	for (int i = 0; i < BRANCHES; i++)
		for (int k = 0; k < i; k++) {
			struct answer a = { 0 };
			char one[16], two[16];

			snprintf(one, sizeof(one), "r%d", i);
			snprintf(two, sizeof(two), "r%d", k);
			git_predict(b->git, str_from(one), str_from(two), on_done, &a);
			finish(b, &a, i % 10 == k % 10 ? GIT_CONFLICT : GIT_OK);
		}
	return now() - from;
}

static double radar_bare(void)
{
	double from = now();

	sh("i=0; while [ $i -lt 30 ]; do k=0; while [ $k -lt $i ]; do git merge-tree --write-tree "
	   "-z --name-only --no-messages r$i r$k >../out || [ $? = 1 ] || exit 1; k=$((k + 1)); "
	   "done; i=$((i + 1)); done");
	return now() - from;
}

static int radar(struct bench *b)
{
	double ours = 1e9, bare = 1e9, t;
	int pairs = BRANCHES * (BRANCHES - 1) / 2;

	/* One in ten pairs of them conflicts. */
	sh("for i in $(seq 0 29); do git checkout -q -b r$i main && echo $i >d/0/$((i % 10 + 1)) "
	   "&& "
	   "git commit -qam $i; done; git checkout -q main");
	for (int round = 0; round < 2; round++) {
		t = radar_ours(b);
		ours = t < ours ? t : ours;
		t = radar_bare();
		bare = t < bare ? t : bare;
	}
	return figure("radar_30_branches_all_pairs_s", ours, "s", FIGURE_AT_MOST, 0) +
			figure("radar_us_per_pair", ours / pairs * 1e6, "us", FIGURE_AT_MOST, 0) +
			figure("radar_wall_vs_bare_merge_tree", ours / bare, "ratio",
					FIGURE_AT_MOST, 1.5);
}

int main(int argc, char **argv)
{
	struct bench b = { .files = FILES };
	char script[128];
	int missed = 0;

	if (argc == 3) {
		b.files = atoi(argv[1]);
		b.refs = atoi(argv[2]);
		b.sized = true;
		if (b.files <= 80 || b.refs < 0)
			die("usage: bench_git [FILES REFS], more than 80 files");
	}
	set_up(&b);
	if (!b.sized)
		missed = accepts(&b);
	missed += calls(&b) + disk(&b);
	if (!b.sized)
		missed += radar(&b);
	git_close(b.git);
	loop_free(b.loop);
	if (chdir("/") == 0) {
		snprintf(script, sizeof(script), "rm -rf '%s'", b.dir);
		sh(script);
	}
	return missed ? 1 : 0;
}
