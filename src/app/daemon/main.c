/* overseerd: the daemon's command line. People use `overseer up`, which calls this. */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/daemon/daemon.h"
#include "app/doctor/agent_test.h"
#include "app/ops/ops.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "sys/file/file.h"
#include "version.h"

static const char usage[] =
		"usage: overseerd --dir DIR [--repo DIR] [--shim PATH] [--ready-fd N] [--auto] "
		"[--set KEY=VALUE]...\n"
		"       overseerd --read-only --dir DIR     one JSON-RPC request on "
		"stdin, the answer on stdout\n"
		"       overseerd --once --dir DIR          the same, also for doctor, backup, "
		"export and import\n"
		"       overseerd --agent-test NAME --dir DIR --scratch DIR --worktree DIR "
		"[--note TEXT]\n"
		"       overseerd --docs operations|events|configuration|thresholds\n"
		"       overseerd --version\n";

static int print_docs(str what)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;

	if (str_is(what, "operations"))
		op_docs(&out);
	else if (str_is(what, "events"))
		events_docs(&out);
	else if (str_is(what, "configuration"))
		config_docs(&out);
	else if (str_is(what, "thresholds"))
		oversight_docs(&out);
	else {
		fputs(usage, stderr);
		return 2;
	}
	return fwrite(out.p, 1, out.n, stdout) == out.n && fflush(stdout) == 0 ? 0 : 8;
}

/*
 * A program of ours: in our folder or near it when installed, in a neighbouring one of a
 * build tree.
 */
static const char *const shim_places[] = { "overseer-run", "../libexec/overseer/overseer-run",
	"../shim/overseer-run", NULL };
static const char *const overseer_places[] = { "overseer", "../bin/overseer", "../../bin/overseer",
	"../cli/overseer", NULL };

static const char *find_beside(struct arena *a, const char *const *places)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n <= 0)
		return NULL;
	self[n] = '\0';
	slash = strrchr(self, '/');
	*slash = '\0';
	for (size_t i = 0; places[i]; i++) {
		char *path = path_join(a, self, places[i]);

		if (access(path, X_OK) == 0)
			return path;
	}
	return NULL;
}

static int run_daemon(struct arena *a, struct daemon_options o, const char *dir, const char *repo,
		const char *shim)
{
	o.dir = realpath(dir, arena_alloc(a, PATH_MAX));
	if (!o.dir) {
		fprintf(stderr, "overseerd: %s: %m\n", dir);
		return 3;
	}
	repo = repo ? repo : path_join(a, o.dir, "..");
	o.repo = realpath(repo, arena_alloc(a, PATH_MAX));
	o.shim = shim ? shim : find_beside(a, shim_places);
	o.overseer = find_beside(a, overseer_places);
	if (!o.repo || !o.shim) {
		fprintf(stderr, "overseerd: %s\n",
				o.repo ? "overseer-run was not found beside overseerd; use --shim"
				       : "the repository was not found; use --repo");
		return 3;
	}
	return daemon_run(&o);
}

static int answer_once(struct arena *a, const char *dir, const char *repo, const char *shim,
		bool may_write)
{
	struct readonly_options o = {
		.dir = dir,
		.repo = repo ? repo : path_join(a, dir, ".."),
		.shim = shim ? shim : find_beside(a, shim_places),
		.may_write = may_write,
	};
	char *real = realpath(dir, arena_alloc(a, PATH_MAX));

	if (real)
		o.dir = real;
	real = realpath(o.repo, arena_alloc(a, PATH_MAX));
	if (real)
		o.repo = real;
	return readonly_run(&o);
}

static int test_agent(struct arena *a, struct agent_test_options *o, const char *dir,
		const char *shim)
{
	o->dir = dir;
	o->shim = shim ? shim : find_beside(a, shim_places);
	o->overseer = find_beside(a, overseer_places);
	if (!o->shim) {
		fprintf(stderr,
				"overseerd: overseer-run was not found beside overseerd; use "
				"--shim\n");
		return 3;
	}
	return agent_test_run(o);
}

static bool take_fd(const char *text, int *ret)
{
	int64_t fd;

	if (!str_to_i64(str_from(text), &fd) || fd < 3 || fd > 1024)
		return false;
	*ret = (int)fd;
	return true;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "dir", required_argument, NULL, 'd' },
		{ "repo", required_argument, NULL, 'r' },
		{ "shim", required_argument, NULL, 's' },
		{ "ready-fd", required_argument, NULL, 'f' },
		{ "auto", no_argument, NULL, 'a' },
		{ "set", required_argument, NULL, 'e' },
		{ "read-only", no_argument, NULL, 'o' },
		{ "once", no_argument, NULL, 'O' },
		{ "agent-test", required_argument, NULL, 't' },
		{ "scratch", required_argument, NULL, 'S' },
		{ "worktree", required_argument, NULL, 'w' },
		{ "note", required_argument, NULL, 'n' },
		{ "docs", required_argument, NULL, 'D' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const char *dir = NULL, *repo = NULL, *shim = NULL;
	struct agent_test_options test = { 0 };
	const char **sets = arena_array(&a, const char *, (size_t)argc + 1);
	struct daemon_options o = { .sets = sets, .ready_fd = -1 };
	bool read_only = false, once = false;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		switch (c) {
		case 'd': dir = optarg; break;
		case 'r': repo = optarg; break;
		case 's': shim = optarg; break;
		case 'f':
			if (take_fd(optarg, &o.ready_fd))
				break;
			fputs(usage, stderr);
			return 2;
		case 'a': o.automatic = true; break;
		case 'e': sets[o.sets_n++] = optarg; break;
		case 'o': read_only = true; break;
		case 'O': once = true; break;
		case 't': test.agent = optarg; break;
		case 'S': test.scratch = optarg; break;
		case 'w': test.worktree = optarg; break;
		case 'n': test.note = optarg; break;
		case 'D': return print_docs(str_from(optarg));
		case 'V': puts("overseerd " OV_VERSION); return 0;
		case 'h': fputs(usage, stdout); return 0;
		default: fputs(usage, stderr); return 2;
		}
	}
	if (!dir || optind != argc || (test.agent && (!test.scratch || !test.worktree))) {
		fputs(usage, stderr);
		return 2;
	}
	if (test.agent)
		return test_agent(&a, &test, dir, shim);
	return read_only || once ? answer_once(&a, dir, repo, shim, once)
				 : run_daemon(&a, o, dir, repo, shim);
}
