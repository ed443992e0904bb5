#include "sys/loop/bus.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/loop/loop.h"

/*
 * sd-bus is not attached to the loop's sd-event: its source would be dispatched behind the back of
 * our batches. Its descriptor is watched like any other; it may be another one after a look (the
 * next address is tried), so what is watched is a copy of ours.
 */
struct bus_call {
	struct loop *loop;
	struct arena arena;
	struct bus_notification n; /* copied */
	sd_bus *bus;
	int fd, watched; /* sd-bus's, and our copy of it; -1: none */
	struct loop_source *io, *deadline, *later;
	bool asked, answered;
	uint32_t shown;
	struct ov_err err;
	char ref[64];
	bus_done_fn *done;
	void *user;
};

static void call_free(struct bus_call *c)
{
	loop_source_free(c->io);
	loop_source_free(c->deadline);
	loop_source_free(c->later);
	if (c->watched >= 0)
		close(c->watched);
	sd_bus_close_unref(c->bus);
	arena_done(&c->arena);
	mem_free(c);
}

void bus_cancel(struct bus_call *c)
{
	call_free(c);
}

static void bus_tell(void *user)
{
	struct bus_call *c = user;

	c->done(c->user, str_from(c->ref), &c->err);
	call_free(c);
}

/* From the loop, so that nobody is freed in the middle of a look. */
static void bus_finish(struct bus_call *c)
{
	c->io = loop_source_free(c->io);
	if (!c->later)
		c->later = loop_defer(c->loop, bus_tell, c);
}

static void too_late(void *user)
{
	struct bus_call *c = user;

	ov_fail(&c->err, OV_EUNAVAILABLE,
			"the desktop's notification service did not answer within %lld ms",
			(long long)c->n.timeout_ms);
	bus_finish(c);
}

/* Says which bus it is: numbers of another session's notifications are somebody else's now. */
static int session_of(struct bus_call *c, char ret[static SD_ID128_STRING_MAX])
{
	sd_id128_t id;
	int r = sd_bus_get_bus_id(c->bus, &id);

	if (r >= 0)
		sd_id128_to_string(id, ret);
	return r;
}

static int bus_on_answer(sd_bus_message *m, void *user, sd_bus_error *unused _unused_)
{
	struct bus_call *c = user;
	const sd_bus_error *e = sd_bus_message_get_error(m);
	char session[SD_ID128_STRING_MAX];
	int r;

	c->answered = true;
	if (e) {
		ov_fail(&c->err, OV_EUNAVAILABLE,
				"no service shows notifications on the desktop (%s: %s)", e->name,
				e->message ? e->message : "no reason given");
		return 0;
	}
	r = sd_bus_message_read(m, "u", &c->shown);
	if (r >= 0)
		r = session_of(c, session);
	if (r < 0)
		ov_fail(&c->err, OV_EIO,
				"the desktop's notification service gave an answer that cannot be "
				"read: %s",
				strerror(-r));
	else
		snprintf(c->ref, sizeof(c->ref), "%s:%u", session, c->shown);
	return 0;
}

static uint32_t replaced(struct bus_call *c)
{
	char session[SD_ID128_STRING_MAX];
	str rest = c->n.replaces, first;
	uint64_t id;

	if (session_of(c, session) < 0 || !str_split(&rest, ':', &first) ||
			!str_is(first, session) || !str_to_u64(rest, &id) || id > UINT32_MAX)
		return 0;
	return (uint32_t)id;
}

static int bus_ask(struct bus_call *c)
{
	sd_bus_message *m = NULL;
	int r = sd_bus_message_new_method_call(c->bus, &m, "org.freedesktop.Notifications",
			"/org/freedesktop/Notifications", "org.freedesktop.Notifications",
			"Notify");

	if (r >= 0)
		r = sd_bus_message_append(m, "susssasa{sv}i", c->n.app, replaced(c), "", c->n.title,
				c->n.body, 0, 1, "urgency", "y", (int)c->n.urgency, -1);
	if (r >= 0)
		r = sd_bus_call_async(c->bus, NULL, m, bus_on_answer, c, UINT64_MAX);
	sd_bus_message_unref(m);
	c->asked = true;
	return r;
}

static int watch(struct bus_call *c);

/* All that can be done now. */
static void bus_look(struct bus_call *c)
{
	int r;

	do {
		r = sd_bus_process(c->bus, NULL);
		if (r == 0 && !c->asked && sd_bus_is_ready(c->bus) > 0)
			r = bus_ask(c) < 0 ? -EIO : 1;
	} while (r > 0 && !c->answered);
	if (r >= 0 && !c->answered)
		r = watch(c);
	if (r < 0 && !c->answered)
		ov_fail(&c->err, OV_EUNAVAILABLE, "the session bus cannot be used: %s",
				strerror(-r));
	if (r < 0 || c->answered)
		bus_finish(c);
}

static void on_io(void *user, int fd, unsigned events)
{
	(void)fd, (void)events;
	bus_look(user);
}

static int watch(struct bus_call *c)
{
	int fd = sd_bus_get_fd(c->bus), events = sd_bus_get_events(c->bus);

	if (fd < 0 || events < 0)
		return fd < 0 ? fd : events;
	if (fd != c->fd || !c->io) {
		c->io = loop_source_free(c->io);
		if (c->watched >= 0)
			close(c->watched);
		c->fd = fd;
		c->watched = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (c->watched < 0)
			return -errno;
		c->io = loop_io(c->loop, c->watched, 0, on_io, c);
	}
	loop_io_set(c->io,
			(events & POLLIN ? LOOP_READ : 0U) | (events & POLLOUT ? LOOP_WRITE : 0U));
	return 0;
}

static const char *copied(struct bus_call *c, const char *s)
{
	return arena_cstr(&c->arena, str_from(s));
}

struct bus_call *bus_notify(struct loop *l, const struct bus_notification *n, bus_done_fn *done,
		void *user)
{
	struct bus_call *c = mem_zalloc(1, sizeof(*c));
	int r;

	c->loop = l;
	c->fd = c->watched = -1;
	c->done = done;
	c->user = user;
	c->n = *n;
	c->n.app = copied(c, n->app);
	c->n.title = copied(c, n->title);
	c->n.body = copied(c, n->body);
	c->n.replaces = arena_str(&c->arena, n->replaces);
	r = sd_bus_open_user(&c->bus);
	if (r < 0) {
		/*
		 * Where there is none there will be none; one that does not answer may come back.
		 */
		if (r == -ENOMEDIUM || r == -ENOENT)
			ov_fail(&c->err, OV_ESTATE,
					"there is no desktop session: the daemon's environment "
					"names no session bus");
		else
			ov_fail(&c->err, OV_EUNAVAILABLE, "the session bus cannot be reached: %s",
					strerror(-r));
		bus_finish(c);
		return c;
	}
	c->deadline = loop_timer(l, too_late, c);
	loop_timer_in(c->deadline, n->timeout_ms);
	bus_look(c);
	return c;
}

bool bus_has_session(void)
{
	const char *address = getenv("DBUS_SESSION_BUS_ADDRESS"),
		   *runtime = getenv("XDG_RUNTIME_DIR");
	char path[PATH_MAX];

	if (address && *address)
		return true;
	return runtime && snprintf(path, sizeof(path), "%s/bus", runtime) < (int)sizeof(path) &&
			access(path, F_OK) == 0;
}
