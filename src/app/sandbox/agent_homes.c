#include "app/sandbox/agent_homes.h"

#include <sys/stat.h>

#include "app/log/log.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/list.h"
#include "base/map.h"
#include "base/str.h"
#include "core/state/state.h"
#include "data/id/ulid.h"
#include "sys/file/file.h"
#include "sys/loop/job.h"
#include "sys/loop/loop.h"

#define PREFIX "A_"

enum { HOMES_MAX = 64 * 1024, AT_ONCE = 32, REMOVE_MS = 30 * 60 * 1000, SAID_MAX = 400 };

struct agent_homes {
	struct loop *loop;
	const char *dir;
	const struct state *(*state)(void *user);
	void *user;
	struct loop_source *soon; /* a look is due */
	bool due;
	struct job *job;
};

str agent_homes_name(const struct assignment *as)
{
	return as->home.n ? as->home : as->id;
}

/* Those that live have theirs, and what waits for the next assignment of its node is kept, too. */
static void find_used(const struct state *s, struct map *used)
{
	list_each (it, &s->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		map_put(used, agent_homes_name(as), used);
	}
	list_each (it, &s->runs) {
		const struct run *r = list_entry(it, struct run, link);
		const struct assignment *as = state_assignment(s, r->assignment_id);

		map_put(used, as ? agent_homes_name(as) : r->assignment_id, used);
	}
	for (size_t i = 0; i < s->goals.n; i++)
		for (size_t k = 0; k < s->goals.p[i]->nodes.n; k++) {
			const struct node *n = s->goals.p[i]->nodes.p[k];

			if (n->session.id.n && n->session.home.n)
				map_put(used, n->session.home, used);
		}
}

static bool is_folder(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* What has another name, or is no folder, is not ours. */
static bool is_home(const char *path, str name)
{
	return str_starts(name, STR(PREFIX)) &&
			ulid_valid(str_sub(name, sizeof(PREFIX) - 1, name.n)) && is_folder(path);
}

static size_t find_over(struct arena *a, const struct agent_homes *h,
		const char *ret[static AT_ONCE])
{
	const char *dir = path_join(a, h->dir, "home");
	struct map used;
	size_t n = 0, over = 0;
	str *names;

	if (!is_folder(dir) || dir_list(a, dir, HOMES_MAX, &names, &n, NULL) < 0 || n == 0)
		return 0;
	map_init(&used, 0);
	find_used(h->state(h->user), &used);
	for (size_t i = 0; i < n && over < AT_ONCE; i++) {
		const char *path = path_join(a, dir, arena_cstr(a, names[i]));

		if (!map_get(&used, names[i]) && is_home(path, names[i]))
			ret[over++] = path;
	}
	map_done(&used);
	return over;
}

/* There may be more; but what cannot be removed now is not tried again at once. */
static void removed(void *user, const struct job_result *r)
{
	bool ok = !r->timed_out && r->exit.signal == 0 && r->exit.code == 0;
	struct agent_homes *h = user;

	h->job = NULL;
	if (ok || h->due)
		agent_homes_look(h);
	if (!ok)
		log_warn("homes of agents that are over could not be removed: " STR_FMT,
				STR_ARG(str_sub(str_trim(r->err), 0, SAID_MAX)));
}

/*
 * Nobody is in there any more. Neither command follows links; what an agent has closed to itself,
 * as caches of packages are, is opened first.
 */
static void sandbox_agent_homes_look(void *user)
{
	static const char script[] =
			"find \"$@\" -type d ! -perm -700 -exec chmod u+rwx {} \\; 2>/dev/null\n"
			"exec rm -rf -- \"$@\"";
	const char *argv[4 + AT_ONCE + 1] = { "sh", "-c", script, "sh" };
	struct job_spec spec = { .proc = PROC_SPEC_INIT, .timeout_ms = REMOVE_MS };
	struct agent_homes *h = user;
	struct arena a = ARENA_INIT;
	struct ov_err err = { 0 };

	h->soon = loop_source_free(h->soon);
	h->due = h->job;
	spec.proc.argv = argv;
	if (!h->job && find_over(&a, h, argv + 4) &&
			job_start(h->loop, &spec, removed, h, &h->job, &err) < 0)
		log_warn("homes of agents that are over could not be removed: %s", err.msg);
	arena_done(&a);
}

void agent_homes_look(struct agent_homes *h)
{
	if (!h->soon)
		h->soon = loop_defer(h->loop, sandbox_agent_homes_look, h);
}

struct agent_homes *agent_homes_new(struct loop *l, const char *dir,
		const struct state *(*state)(void *user), void *user)
{
	struct agent_homes *h = mem_zalloc(1, sizeof(*h));

	h->loop = l;
	h->dir = dir;
	h->state = state;
	h->user = user;
	return h;
}

struct agent_homes *agent_homes_free(struct agent_homes *h)
{
	if (!h)
		return NULL;
	loop_source_free(h->soon);
	if (h->job)
		job_abandon(h->job);
	mem_free(h);
	return NULL;
}
