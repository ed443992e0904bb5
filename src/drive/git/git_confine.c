/*
 * Our git reads what agents wrote, and so do the filters and merge drivers that it runs. Both are
 * started by the program that also starts runs (shim/confine.c, shim/programs.c):
 *
 * 	git	writes only the worktree, its room, and the repository's objects, where the kernel
 * 		has Landlock.
 * 	filters	run in a sandbox where one can be made: what an agent may have written has there
 * 		what the agent has. By Landlock, too, they write only our own storage of git-lfs and
 * 		a temporary folder, and see nothing of the store but the worktree. Merge drivers
 * 		write the worktree, too, where git puts their files. What they leave behind is ended
 * 		with the command.
 *
 * How programs are confined is in a script of ours in the room. The recorded configuration names
 * only that, so that it stays true when this program is updated, or moves.
 */
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "drive/git/git_call.h"
#include "drive/git/git_confine.h"
#include "drive/git/git_lfs.h"
#include "drive/git/git_steps.h"
#include "shim/proto.h"
#include "sys/file/file.h"
#include "sys/host/rand.h"
#include "sys/loop/job.h"

#define SCRIPT "confined"
#define SANDBOX "sandbox"   /* a note: the words that make one for the programs, each with a NUL */
#define PROGRAMS "programs" /* a note: "none", "ruled" by attributes, or "any" */

extern char **environ;

enum { TRY_TIMEOUT_MS = 10 * 1000 };

int git_confine_works(const char *program, struct ov_err *err)
{
	const char *const argv[] = { program, RUN_CONFINE, "--", "true", NULL };
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct git_child ch;
	struct git_out o;
	int r = git_child_start(argv, (const char *const *)environ, "/", &ch, err);

	if (r < 0)
		return r;
	r = git_child_wait(&ch, TRY_TIMEOUT_MS, err);
	if (r == 0)
		r = git_child_collect(&ch, &a, &o, err);
	else
		git_child_done(&ch);
	if (r == 0 && o.code != 0)
		r = ov_fail(err, OV_EUNAVAILABLE, STR_FMT, STR_ARG(str_trim(o.err)));
	return r;
}

void git_confine(struct git *g, const struct git_bounds *bounds)
{
	g->bounds = *bounds;
	if (bounds->program)
		g->bounds.program = arena_cstr(&g->arena, str_from(bounds->program));
}

/* A note that is written only where it says something else. */
static int put_note(struct git_call *c, const char *name, str text, bool *ret_new,
		struct ov_err *err)
{
	str now;

	*ret_new = file_read(&c->arena, path_join(&c->arena, c->own, name), GIT_FILE_MAX, &now,
				   NULL) < 0 ||
			!str_eq(now, text);
	return *ret_new ? git_own_note(c, name, text, err) : 0;
}

/* ---- the sandbox of the programs ---- */

static void add_words(struct buf *b, const char *const *words)
{
	for (size_t i = 0; words[i]; i++) {
		buf_adds(b, str_from(words[i]));
		buf_addc(b, '\0');
	}
}

/* It says why there is none when a program is to run; none does then, and the command fails. */
static void add_failure(struct buf *b, const struct ov_err *err)
{
	const char *const words[] = { "sh", "-c", "printf '%s\\n' \"$1\" >&2; exit 1", "sh",
		err->msg, NULL };

	add_words(b, words);
}

static int ask_for_sandbox(struct git_call *c, const char *const **ret, struct ov_err *err)
{
	const struct git_bounds *how = &c->g->bounds;
	const char *const argv[] = { how->program, RUN_HOST, NULL },
			  *const writable[] = { path_join(&c->arena, c->own, "tmp"),
				  git_lfs_objects(c), NULL };
	const struct git_programs_ask ask = { .worktree = c->path,
		.own = path_join(&c->arena, c->own, "box"),
		.readable = c->own,
		.writable = writable,
		.argv = argv };

	*ret = NULL;
	return how->sandbox ? how->sandbox(how->user, &c->arena, &ask, ret, err) : 0;
}

/* The words that make it, for the program that keeps git; empty: there is none. */
static const char *sandbox_file(struct git_call *c)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	const char *const *words;
	struct ov_err err = { 0 };
	bool new;

	if (c->sandbox)
		return c->sandbox;
	if (ask_for_sandbox(c, &words, &err) < 0)
		add_failure(&b, &err);
	else if (words)
		add_words(&b, words);
	c->sandbox = b.n ? path_join(&c->arena, c->own, SANDBOX) : "";
	if (b.n && put_note(c, SANDBOX, buf_str(&b), &new, &err) < 0)
		unlink(c->sandbox); /* then what needs it fails */
	return c->sandbox;
}

/*
 * Which of them may run is in the rules that count more than any other. One that the configuration
 * names for all files needs no rule.
 */
bool git_runs_programs(struct git_call *c)
{
	str note, rules;

	if (c->runs != RUNS_UNKNOWN)
		return c->runs == RUNS_SOME;
	note = git_own_line(c, PROGRAMS);
	rules = str_is(note, "ruled") ? git_own_text(c, "info/attributes") : STR("");
	c->runs = RUNS_SOME;
	if (str_is(note, "none") ||
			(str_is(note, "ruled") && !str_contains(rules, STR("filter=")) &&
					!str_contains(rules, STR("merge="))))
		c->runs = RUNS_NONE;
	return c->runs == RUNS_SOME;
}

bool git_programs_failed(const struct git_call *c, const struct git_out *o)
{
	return c->kept && o->code == RUN_STATUS_PROGRAMS;
}

int git_note_programs(struct git_call *c, bool some, bool any, struct ov_err *err)
{
	c->runs = RUNS_UNKNOWN;
	return git_own_note(c, PROGRAMS,
			!some                 ? STR("none\n")
					: any ? STR("any\n")
					      : STR("ruled\n"),
			err);
}

/* ---- git ---- */

void git_confined(struct git_call *c, bool programs, const char *folder, ...)
{
	const struct git_bounds *b = &c->g->bounds;
	va_list ap;

	c->kept = b->program && programs;
	if (!b->program || (!b->landlock && !programs))
		return;
	git_args(c, b->program, RUN_CONFINE, NULL);
	if (programs)
		git_args(c, "--programs", sandbox_file(c), NULL);
	/* Who only looks takes a file for changed whose filter fails. */
	if (programs && c->flags & GIT_READS)
		git_args(c, "--lenient", NULL);
	if (!b->landlock)
		git_args(c, "--free", NULL);
	va_start(ap, folder);
	while (b->landlock && folder) {
		git_args(c, "--write", folder, NULL);
		folder = va_arg(ap, const char *);
	}
	va_end(ap);
	git_args(c, "--", NULL);
}

/* ---- the programs that git runs ---- */

static void add_option(struct buf *b, const char *name, const char *value)
{
	buf_addf(b, " %s ", name);
	buf_add_word(b, str_from(value));
}

/* The room is STORE/git/NAME; NULL where it is not, as in a folder that is no store's. */
static const char *store_of(struct git_call *c)
{
	char *above = arena_cstr(&c->arena, str_from(c->room)), *real;

	above = dirname(above);
	if (!str_ends(str_from(above), STR("/git")))
		return NULL;
	real = realpath(dirname(above), NULL);
	above = real ? arena_cstr(&c->arena, str_from(real)) : NULL;
	free(real);
	return above;
}

static const char *tmp_of(struct git_call *c)
{
	return path_join(&c->arena, c->own, "tmp");
}

/*
 * What git starts in place of a program: it runs in the sandbox, if there is one, and
 * confined there, too.
 */
static void add_script(struct git_call *c, struct buf *b)
{
	const struct git_bounds *how = &c->g->bounds;
	const char *store = how->landlock ? store_of(c) : NULL;

	buf_adds(b, STR("#!/bin/sh\n"));
	if (how->program && !how->landlock)
		buf_adds(b, STR("if [ -n \"$" RUN_ASK_ENV "\" ]; then\n"));
	if (how->program) {
		buf_addf(b, "export TMPDIR=");
		buf_add_word(b, str_from(tmp_of(c)));
		buf_adds(b, STR("\nexec "));
		buf_add_word(b, str_from(how->program));
		buf_adds(b, STR(" " RUN_CONFINE " --ask"));
	}
	if (how->landlock) {
		add_option(b, "--write", tmp_of(c));
		add_option(b, "--write", git_lfs_objects(c));
		add_option(b, "--read", ".");
		add_option(b, "--read", c->own);
		if (store)
			add_option(b, "--hide", store);
		buf_adds(b, STR(" \"$@\"\n"));
		return;
	}
	if (how->program)
		buf_adds(b, STR(" --free \"$@\"\nfi\n"));
	buf_adds(b, STR("while [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n"));
}

int git_confine_script(struct git_call *c, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	const char *path = path_join(&c->arena, c->own, SCRIPT);
	bool new;
	int r;

	add_script(c, &b);
	r = put_note(c, SCRIPT, buf_str(&b), &new, err);
	if (r == 0 && new)
		r = dir_make(tmp_of(c), 0700, err);
	if (r == 0 && new &&chmod(path, 0700) < 0)
		r = ov_fail_errno(err, errno, "chmod %s", path);
	return r;
}

/*
 * git puts names in place of %f and the like, quoted for the shell that it gives the text to. That
 * has to be the shell of the confined program, so the text goes there as it is: in a document of
 * the outer shell, whose end nobody can guess who makes up names of files.
 */
str git_confine_program(struct git_call *c, str name, str command)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	char end[40];

	if (!command.n)
		return command;
	snprintf(end, sizeof(end), "%016llx%016llx", (unsigned long long)rand_u64(),
			(unsigned long long)rand_u64());
	buf_add_word(&b, str_from(path_join(&c->arena, c->own, SCRIPT)));
	if (str_starts(name, STR("merge.")))
		buf_adds(&b, STR(" --write ."));
	buf_addf(&b, " -- sh -c \"$(cat <<'%s'\n" STR_FMT "\n%s\n)\"", end, STR_ARG(command), end);
	return arena_str(&c->arena, buf_str(&b));
}

bool git_is_program(str name)
{
	static const char *const ends[] = { ".clean", ".smudge", ".process" };

	if (str_starts(name, STR("merge.")))
		return str_ends(name, STR(".driver"));
	for (size_t i = 0; str_starts(name, STR("filter.")) && i < ARRAY_LEN(ends); i++)
		if (str_ends(name, str_from(ends[i])))
			return true;
	return false;
}

size_t git_at_work(const struct git *g, int *pids, size_t max)
{
	size_t n = 0;

	list_each (it, &g->calls) {
		const struct git_call *c = list_entry(it, const struct git_call, node);
		int pid = c->job ? job_pid(c->job) : c->child.proc.pid;

		if (n < max && pid > 0)
			pids[n++] = pid;
	}
	return n;
}
