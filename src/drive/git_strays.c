/*
 * Strays: commits that an agent made in its worktree and then left behind, by amending, rebasing,
 * resetting or walking away. Only the worktree's log of HEAD knows them, which git forgets in time
 * and which goes with the worktree; so they are rescued with the rest.
 */
#include "base/map.h"
#include "drive/git_call.h"
#include "drive/git_steps.h"
#include "sys/file.h"

enum { STRAYS_ASKED = 400, STRAYS_KEPT = 64 };

/* Where HEAD was before a line of its log that did more than add one commit to it; else empty. */
static str left_behind(str line)
{
	str from = str_sub(line, 0, str_find_byte(line, ' '));
	size_t tab = str_find_byte(line, '\t');
	str message = tab < line.n ? str_sub(line, tab + 1, line.n) : STR("");

	if (!git_oid_valid(from) || str_starts(message, STR("commit: ")))
		return STR("");
	for (size_t i = 0; i < from.n; i++)
		if (from.p[i] != '0')
			return from;
	return STR("");
}

static int ask_build(struct git_call *c, struct ov_err *err _unused_)
{
	str log, line;
	struct map seen;
	size_t n = 0;

	if (file_read(&c->arena, path_join(&c->arena, c->admin, "logs/HEAD"), GIT_FILE_MAX, &log,
			    NULL) < 0)
		return GIT_SKIP;
	git_run(c, AT_ADMIN, GIT_READS, "rev-list", "--topo-order", "--ignore-missing", NULL);
	map_init(&seen, 0);
	/* The newest are at its end. */
	while (log.n && n < STRAYS_ASKED) {
		size_t end = log.n - (log.p[log.n - 1] == '\n'), at = end;

		while (at && log.p[at - 1] != '\n')
			at--;
		line = left_behind(str_sub(log, at, end - at));
		log.n = at;
		if (!line.n || map_get(&seen, line))
			continue;
		map_put(&seen, line, c);
		git_args(c, arena_cstr(&c->arena, line), NULL);
		n++;
	}
	map_done(&seen);
	if (!n)
		return GIT_SKIP;
	git_args(c, "--not", NULL);
	if (c->head.n)
		git_args(c, c->head.p, NULL);
	git_args(c, "--branches", "--remotes", "--tags", "--glob=refs/overseer", "--", NULL);
	return GIT_NEXT;
}

static bool was_asked(const struct git_call *c, str oid)
{
	for (size_t i = 0; i < c->argv.n; i++)
		if (c->argv.p[i] && str_is(oid, c->argv.p[i]))
			return true;
	return false;
}

/* Of all that nothing keeps, the places where HEAD was: children come before their parents. */
static int ask_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	str rest = o->out, line;
	size_t n = 0;

	if (o->code != 0)
		return git_fail(c, o, err);
	while (n < STRAYS_KEPT && str_split(&rest, '\n', &line))
		if (was_asked(c, line)) {
			git_rescue_extra(c, line);
			n++;
		}
	return GIT_NEXT;
}

const struct git_step git_strays_steps[] = {
	STEP_RUN("look for commits that were left behind", ask_build, ask_judge),
	STEP_END,
};
