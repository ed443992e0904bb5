#include "app/agents/driver_hook.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/read/hook.h"
#include "app/log/log.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "data/message/ndjson.h"
#include "sys/file/file.h"
#include "sys/host/inject.h"
#include "sys/loop/follow.h"

#define TAKEN HOOK_NEXT "."

enum {
	HOOK_FILES_MAX = 4096,
	TURN_MAX = 1 << 20, /* of events in one turn of the loop, while the run goes on */
	/*
	 * Of all events of a run. `overseer hook` writes less; what an agent writes itself has
	 * no bound.
	 */
	READ_MAX = HOOK_EVENTS_MAX + (1 << 20),
};

struct driver_hooks {
	struct arena strings;
	const char *dir;
	const struct agent_format *format;
	driver_hook_fn *fn;
	void *user;
	struct follow *events; /* NULL: no more of it is read */
	uint64_t seen;         /* bytes of it */
	struct ndjson lines;
};

static void on_events(void *user, str bytes, uint64_t at _unused_)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct driver_hooks *h = user;
	struct fact f;
	str line, taken;

	h->seen += bytes.n;
	if (h->seen > READ_MAX) {
		log_warn("%s/" HOOK_EVENTS " has more than %d bytes: the rest of it is not read",
				h->dir, READ_MAX);
		follow_close(h->events);
		h->events = NULL;
		return;
	}
	ndjson_feed(&h->lines, bytes.p, bytes.n);
	while (ndjson_next(&h->lines, &line, NULL) > 0) {
		bool said;

		taken = STR("");
		said = hook_fact(&a, line, h->format, &f, &taken);
		h->fn(h->user, said ? &f : NULL, taken, line);
		arena_reset(&a);
	}
}

/*
 * The agent can put anything in its place. A run whose hooks are not heard is still a run: it is
 * supervised by all else.
 */
static int follow_events(struct driver_hooks *h, struct loop *l, const char *events,
		struct ov_err *err)
{
	_cleanup_(fd_closep) int fd = file_open(events, O_RDONLY | O_CREAT | O_NOFOLLOW, 0600);

	if (fd < 0 && errno != ELOOP && errno != EISDIR && errno != ENXIO)
		return ov_fail_errno(err, errno, "%s", events);
	if (fd >= 0)
		return follow_open(l, events, 0, on_events, h, &h->events, err);
	log_warn("%s is no file: nothing is heard of this run's hooks", events);
	return 0;
}

int driver_hooks_open(struct loop *l, const char *dir, const struct agent_format *format,
		driver_hook_fn *fn, void *user, struct driver_hooks **ret, struct ov_err *err)
{
	struct driver_hooks *h = mem_zalloc(1, sizeof(*h));
	const char *events;
	int r;

	h->strings = ARENA_SMALL;
	events = path_join(&h->strings, dir, HOOK_EVENTS);
	r = dir_make(path_join(&h->strings, dir, HOOK_DIR), 0700, err);
	h->dir = arena_cstr(&h->strings, str_from(dir));
	h->format = format;
	h->fn = fn;
	h->user = user;
	ndjson_init(&h->lines, HOOK_LINE_MAX);
	if (r == 0)
		r = follow_events(h, l, events, err);
	if (r < 0) {
		driver_hooks_close(h);
		return r;
	}
	*ret = h;
	return 0;
}

void driver_hooks_drain(struct driver_hooks *h)
{
	if (h && h->events)
		(void)follow_drain(h->events, TURN_MAX, NULL);
}

/* A hook that was killed in between took it without telling so. */
static void tell_taken(struct driver_hooks *h)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	str prefix = str_sub(STR(TAKEN), sizeof(HOOK_DIR), sizeof(TAKEN));
	str *names;
	size_t n;

	if (dir_list(&a, path_join(&a, h->dir, HOOK_DIR), HOOK_FILES_MAX, &names, &n, NULL) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		if (str_starts(names[i], prefix))
			h->fn(h->user, NULL, str_sub(names[i], prefix.n, names[i].n), STR(""));
}

void driver_hooks_end(struct driver_hooks *h)
{
	if (!h)
		return;
	if (h->events)
		(void)follow_drain(h->events, SIZE_MAX, NULL);
	tell_taken(h);
}

void driver_hooks_close(struct driver_hooks *h)
{
	if (!h)
		return;
	follow_close(h->events);
	ndjson_done(&h->lines);
	arena_done(&h->strings);
	mem_free(h);
}

int driver_hooks_lay(const char *dir, str dispatch_id, str text, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const char *next = path_join(&a, dir, HOOK_NEXT);
	str json, old, waits, ignored;
	int r = hook_next_text(&a, dispatch_id, text, &json, err);

	if (r < 0 ||
			file_exists(arena_printf(&a, "%s/" TAKEN STR_FMT, dir, STR_ARG(dispatch_id))
							.p))
		return r;
	r = file_create_atomic(next, json, 0600, err);
	INJECT("next-laid");
	if (r != OV_ECONFLICT)
		return r;
	if (file_read(&a, next, HOOK_FILE_MAX, &old, NULL) == 0 &&
			hook_next_read(&a, old, &waits, &ignored, NULL) == 0 &&
			str_eq(waits, dispatch_id))
		return 0;
	return ov_fail(err, OV_ESTATE,
			"the agent has not taken what it was told before yet; it does when it is "
			"done with what it does now");
}
