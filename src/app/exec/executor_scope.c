/*
 * Tools that were taken away from a run while it goes on: its process was started with more, but
 * its hooks ask before each tool. So what they read is written anew, and the next call is judged
 * by it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/read/hook.h"
#include "agent/table/hook_scope.h"
#include "app/engine/engine.h"
#include "app/exec/executor_impl.h"
#include "app/exec/freeze.h"
#include "app/sandbox/agent_homes.h"
#include "app/watch/conflict_scan.h"
#include "app/watch/folder_audit.h"
#include "base/buf.h"
#include "base/str.h"
#include "core/event/event.h"
#include "core/policy/scope.h"
#include "core/state/state.h"
#include "sys/file/file.h"

/*
 * In place, since the file may be mounted into a sandbox, and by one write with blanks up to its
 * former length, so that nobody reads half of it. The agent can put anything there: only a file of
 * ours counts.
 */
static void overwrite(const char *path, str text, size_t least)
{
	_cleanup_(fd_closep) int fd = file_open(path, O_WRONLY | O_NOFOLLOW, 0);
	struct buf b = BUF_INIT;
	struct stat st;

	buf_adds(&b, text);
	while (b.n < least)
		buf_addc(&b, ' ');
	/* What cannot be written comes with the next run. */
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_nlink == 1 && pwrite(fd, b.p, b.n, 0) < 0)
		errno = 0;
	buf_done(&b);
}

static void refresh(struct executor *x, const struct live_run *lr, const struct run *r)
{
	const struct assignment *as = state_assignment(engine_state(x->engine), r->assignment_id);
	const struct policy_agent *agent = policy_agent(&x->o.config->policy, r->agent);
	struct arena a = ARENA_INIT;
	const struct agent_format *f;
	struct tool_scope scope, before;
	const char *path = path_join(&a, lr->dir, HOOK_SCOPE);
	str now, then;

	/*
	 * One that has no such file has no hooks. What was taken away once stays away for
	 * this process.
	 */
	if (as && agent && agent->format && file_read(&a, path, HOOK_FILE_MAX, &then, NULL) == 0 &&
			scope_for_run(&a, agent, as, &scope, NULL) == 0) {
		if (hook_scope_read(&a, then, &f, &before, NULL) == 0)
			(void)scope_meet(&a, agent->format, &scope, &before, &scope, NULL);
		now = hook_scope_text(&a, agent->format, &scope);
		if (!str_eq(now, str_trim(then)))
			overwrite(path, now, then.n);
	}
	arena_done(&a);
}

void executor_scopes(struct executor *x, str goal, str node)
{
	const struct state *s = engine_state(x->engine);
	void *lr;
	str id;

	for (size_t i = 0; map_next(&x->runs, &i, &id, &lr);) {
		const struct run *r = state_run(s, id);

		if (r && (!node.n || (str_eq(r->goal_id, goal) && str_eq(r->node_id, node))))
			refresh(x, lr, r);
	}
}

void executor_published(struct executor *x, const struct event *const *events, size_t n)
{
	conflict_scan_published(x->conflict_scan, events, n);
	folder_audit_published(x->folder_audit, events, n);
	for (size_t i = 0; i < n; i++) {
		const struct assignment *as;

		executor_auto_published(x, events[i]);
		executor_plan_published(x, events[i]);
		freeze_published(x, events[i]);
		if (events[i]->kind == EV_NODE_SCOPED)
			executor_scopes(x, events[i]->goal, events[i]->node);
		if (events[i]->kind != EV_ASSIGNMENT_MOVED &&
				events[i]->kind != EV_ASSIGNMENT_CREATED)
			continue;
		/* It is over, or took up what was left of another one, or did not. */
		as = state_assignment(engine_state(x->engine), events[i]->assignment);
		if (!as || !as->live || events[i]->kind == EV_ASSIGNMENT_CREATED)
			agent_homes_look(x->agent_homes);
	}
}
