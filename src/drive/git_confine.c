/*
 * Our git reads what agents wrote, and so do the filters and merge drivers that it runs. Where the kernel
 * can do it, both are confined by the program that also starts runs (shim/confine.c):
 *
 *	git	writes only the worktree, its room, and the repository's objects.
 *	filters	write only our own storage of git-lfs and a temporary folder, and see nothing of the
 *		store but the worktree. Merge drivers write the worktree, too, where git puts their files.
 *
 * How programs are confined is in a script of ours in the room. The recorded configuration names only that,
 * so that it stays true when this program is updated, or moves.
 */
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "drive/git_call.h"
#include "drive/git_confine.h"
#include "drive/git_lfs.h"
#include "drive/git_steps.h"
#include "shim/proto.h"
#include "sys/file.h"
#include "sys/job.h"
#include "sys/rand.h"

#define SCRIPT "confined"

extern char **environ;

enum { TRY_TIMEOUT_MS = 10 * 1000 };

int git_confine_works(const char *program, struct ov_err *err)
{
	const char *const argv[] = { program, RUN_CONFINE, "--", "true", NULL };
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
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

void git_confine(struct git *g, const char *program)
{
	g->confiner = program ? arena_cstr(&g->arena, str_from(program)) : NULL;
}

void git_confined(struct git_call *c, ...)
{
	const char *folder;
	va_list ap;

	if (!c->g->confiner)
		return;
	git_args(c, c->g->confiner, RUN_CONFINE, NULL);
	va_start(ap, c);
	while ((folder = va_arg(ap, const char *)))
		git_args(c, "--write", folder, NULL);
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

int git_confine_script(struct git_call *c, struct ov_err *err)
{
	_cleanup_(buf_done)
	struct buf b = BUF_INIT;
	const char *path = path_join(&c->arena, c->own, SCRIPT),
		   *tmp = path_join(&c->arena, c->own, "tmp"),
		   *store = c->g->confiner ? store_of(c) : NULL;
	str now;
	int r;

	buf_adds(&b, STR("#!/bin/sh\n"));
	if (c->g->confiner) {
		buf_addf(&b, "export TMPDIR=");
		buf_add_word(&b, str_from(tmp));
		buf_adds(&b, STR("\nexec "));
		buf_add_word(&b, str_from(c->g->confiner));
		buf_adds(&b, STR(" " RUN_CONFINE));
		add_option(&b, "--write", tmp);
		add_option(&b, "--write", git_lfs_objects(c));
		add_option(&b, "--read", ".");
		add_option(&b, "--read", c->own);
		if (store)
			add_option(&b, "--hide", store);
		buf_adds(&b, STR(" \"$@\"\n"));
	} else {
		buf_adds(&b, STR("while [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n"));
	}
	if (file_read(&c->arena, path, GIT_FILE_MAX, &now, NULL) == 0 && str_eq(now, buf_str(&b)))
		return 0;
	r = dir_make(tmp, 0700, err);
	if (r == 0)
		r = git_own_note(c, SCRIPT, buf_str(&b), err);
	if (r == 0 && chmod(path, 0700) < 0)
		r = ov_fail_errno(err, errno, "chmod %s", path);
	return r;
}

/*
 * git puts names in place of %f and the like, quoted for the shell that it gives the text to. That has to be
 * the shell of the confined program, so the text goes there as it is: in a document of the outer shell,
 * whose end nobody can guess who makes up names of files.
 */
str git_confine_program(struct git_call *c, str name, str command)
{
	_cleanup_(buf_done)
	struct buf b = BUF_INIT;
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
