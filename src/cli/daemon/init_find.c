#include "cli/daemon/init_find.h"

#include <string.h>

#include "agent/table/formats.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/call/child.h"
#include "sys/host/userns.h"

enum {
	GIT_MS = 30 * 1000,
	GIT_MAX = 4 * 1024 * 1024,
	PROBE_MS = 3000,
	PROBE_MAX = 64 * 1024,
	VERSION_MAX = 40,
};

/* git's output without the last newline; *ret_status is its exit status. */
static int git(struct arena *a, const char *const *argv, const char *cwd, str *ret, int *ret_status,
		struct ov_err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct capture spec = { .argv = argv,
		.cwd = cwd,
		.max = GIT_MAX,
		.timeout_ms = GIT_MS,
		.quiet = true };
	int r = spawn_capture(&spec, &out, ret_status, err);

	if (r < 0)
		return r;
	if (out.n && out.p[out.n - 1] == '\n')
		out.n--;
	*ret = arena_str(a, buf_str(&out));
	return 0;
}

int repo_detect(struct arena *a, const char *from, struct repo *ret, struct ov_err *err)
{
	static const char *const top[] = { "git", "rev-parse", "--show-toplevel", NULL };
	static const char *const common[] = { "git", "rev-parse", "--path-format=absolute",
		"--git-common-dir", NULL };
	static const char *const branch[] = { "git", "symbolic-ref", "-q", "--short", "HEAD",
		NULL };
	static const char *const head[] = { "git", "rev-parse", "-q", "--verify", "HEAD", NULL };
	static const char *const status[] = { "git", "--no-optional-locks", "status", "--porcelain",
		NULL };
	int code, r;
	str s;

	if (!program_in_path(a, "git")) {
		ov_fail(err, OV_ENOTFOUND,
				"git is not installed, and Overseer keeps agents' work in git");
		return ov_next(err, "apt install git");
	}
	r = git(a, top, from, &s, &code, err);
	if (r < 0)
		return r;
	if (code != 0 || s.n == 0) {
		ov_fail(err, OV_ENOTFOUND,
				"this folder is not in a git repository (or not in its work tree)");
		return ov_next(err, "git init");
	}
	ret->top = s.p;
	r = git(a, common, ret->top, &s, &code, err);
	if (r == 0 && (code != 0 || s.n == 0))
		r = ov_fail(err, OV_EIO, "git rev-parse --git-common-dir failed with status %d",
				code);
	ret->common_dir = s.p;
	if (r == 0)
		r = git(a, branch, ret->top, &ret->branch, &code, err);
	if (r == 0)
		r = git(a, head, ret->top, &s, &code, err);
	ret->has_commit = code == 0;
	if (r == 0)
		r = git(a, status, ret->top, &s, &code, err);
	ret->clean = s.n == 0;
	return r;
}

/* The first word that begins with a digit, as in "codex-cli 0.166.0"; else nothing. */
static str version_in(str text)
{
	str line = STR(""), word;

	str_split(&text, '\n', &line);
	while (str_split(&line, ' ', &word)) {
		word = str_trim(word);
		if (word.n && word.n <= VERSION_MAX && word.p[0] >= '0' && word.p[0] <= '9')
			return word;
	}
	return STR("");
}

static void probe(struct arena *a, struct found_agent *f)
{
	const char *argv[] = { f->path, f->format->probe, NULL };
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct capture spec = { .argv = argv,
		.max = PROBE_MAX,
		.timeout_ms = PROBE_MS,
		.quiet = true };
	struct ov_err err;
	int status, r = spawn_capture(&spec, &out, &status, &err);

	if (r == OV_EUNAVAILABLE)
		return; /* slow is not broken */
	if (r < 0)
		f->problem = arena_printf(a, "%s", err.msg);
	else if (status != 0)
		f->problem = arena_printf(a, "\"%s %s\" failed with status %d", f->format->program,
				f->format->probe, status);
	else
		f->version = arena_str(a, version_in(buf_str(&out)));
}

/* A run is put into a sandbox of ours, in which agents make none. */
static bool fence_works(struct arena *a)
{
	const char *argv[] = { program_in_path(a, "bwrap"), "--unshare-pid", "--ro-bind", "/", "/",
		"--proc", "/proc", "--", "/bin/sh", "-c", "exit 0", NULL };
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct capture spec = { .argv = argv,
		.max = PROBE_MAX,
		.timeout_ms = PROBE_MS,
		.quiet = true };
	int status = -1;

	return argv[0] && spawn_capture(&spec, &out, &status, NULL) == 0 && status == 0;
}

static void look_at_version(struct arena *a, struct found_agent *f)
{
	if (format_is_too_old(f->format, f->version))
		f->warning = arena_printf(a,
				"version " STR_FMT " is older than %s, the oldest that is known to "
				"work: update it, then try it with overseer agent test %s",
				STR_ARG(f->version), f->format->oldest, f->format->name);
}

static void look_at_sandbox(struct arena *a, struct found_agent *f)
{
	int why = f->format->unboxed_mode ? userns_try() : 0;

	if (why && !fence_works(a))
		f->warning = arena_printf(a,
				STR_FMT
				"%sit can run no command here: the sandbox that it makes for them "
				"needs user namespaces, which are forbidden (%s). Allow them, or, "
				"where this machine itself is the fence, set permission_mode = "
				"\"%s\"",
				STR_ARG(f->warning), f->warning.n ? "; " : "", strerror(why),
				f->format->unboxed_mode);
}

size_t agents_detect(struct arena *a, const struct found_agent **ret)
{
	struct found_agent *found = arena_array(a, struct found_agent, agent_formats_n);
	size_t n = 0;

	for (size_t i = 0; i < agent_formats_n; i++) {
		const struct agent_format *f = &agent_formats[i];
		const char *path = f->program ? program_in_path(a, f->program) : NULL;

		if (!path)
			continue;
		found[n] = (struct found_agent){ .format = f, .path = path };
		probe(a, &found[n]);
		look_at_version(a, &found[n]);
		look_at_sandbox(a, &found[n++]);
	}
	*ret = found;
	return n;
}
