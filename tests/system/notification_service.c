/*
 * A notification service for tests, on the session bus that it finds itself in: it says as JSON, a
 * line each, where the bus is and what it was asked to show, and ends with its standard input.
 * usage: notification_service [silent|refuse]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "data/value/json.h"

struct service {
	const char *mode;
	uint32_t last;
};

static void say(struct buf *line)
{
	buf_addc(line, '\n');
	fwrite(line->p, 1, line->n, stdout);
	fflush(stdout);
	buf_done(line);
}

static void add(struct buf *line, const char *key, const char *text)
{
	buf_addf(line, ", \"%s\": ", key);
	json_write_string(line, str_from(text));
}

static int read_urgency(sd_bus_message *m, int *ret)
{
	const char *key;
	uint8_t urgency;
	int r = sd_bus_message_enter_container(m, 'a', "{sv}");

	while (r >= 0 && (r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
		r = sd_bus_message_read(m, "s", &key);
		if (r >= 0 && strcmp(key, "urgency") == 0) {
			r = sd_bus_message_read(m, "v", "y", &urgency);
			*ret = urgency;
		} else if (r >= 0) {
			r = sd_bus_message_skip(m, "v");
		}
		if (r >= 0)
			r = sd_bus_message_exit_container(m);
	}
	return r < 0 ? r : sd_bus_message_exit_container(m);
}

static int on_notify(sd_bus_message *m, void *user, sd_bus_error *error)
{
	struct service *s = user;
	const char *app, *icon, *title, *body;
	struct buf line = BUF_INIT;
	uint32_t replaces;
	int32_t expires;
	int urgency = -1,
	    r = sd_bus_message_read(m, "susss", &app, &replaces, &icon, &title, &body);

	if (r >= 0)
		r = sd_bus_message_skip(m, "as");
	if (r >= 0)
		r = read_urgency(m, &urgency);
	if (r >= 0)
		r = sd_bus_message_read(m, "i", &expires);
	if (r < 0)
		return r;
	s->last = replaces ? replaces : s->last + 1;
	buf_addf(&line, "{\"replaces\": %u, \"urgency\": %d, \"id\": %u", replaces, urgency,
			s->last);
	add(&line, "app", app);
	add(&line, "title", title);
	add(&line, "body", body);
	buf_addc(&line, '}');
	say(&line);
	if (strcmp(s->mode, "silent") == 0)
		return 1;
	if (strcmp(s->mode, "refuse") == 0)
		return sd_bus_error_set(error, "org.freedesktop.DBus.Error.LimitsExceeded",
				"too many");
	return sd_bus_reply_method_return(m, "u", s->last);
}

static const sd_bus_vtable vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD("Notify", "susssasa{sv}i", "u", on_notify, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_VTABLE_END,
};

static int on_input(sd_event_source *source, int fd, uint32_t events, void *user)
{
	char c;

	(void)events, (void)user;
	if (read(fd, &c, 1) <= 0)
		return sd_event_exit(sd_event_source_get_event(source), 0);
	return 0;
}

int main(int argc, char **argv)
{
	struct service s = { .mode = argc > 1 ? argv[1] : "" };
	struct buf line = BUF_INIT;
	sd_event *event = NULL;
	sd_bus *bus = NULL;
	int r = sd_event_default(&event);

	if (r >= 0)
		r = sd_event_add_io(event, NULL, STDIN_FILENO, EPOLLIN, on_input, NULL);
	if (r >= 0)
		r = sd_bus_open_user(&bus);
	if (r >= 0)
		r = sd_bus_add_object_vtable(bus, NULL, "/org/freedesktop/Notifications",
				"org.freedesktop.Notifications", vtable, &s);
	if (r >= 0)
		r = sd_bus_request_name(bus, "org.freedesktop.Notifications", 0);
	if (r >= 0)
		r = sd_bus_attach_event(bus, event, 0);
	if (r < 0) {
		fprintf(stderr, "notification_service: %s\n", strerror(-r));
		return 1;
	}
	buf_addf(&line, "{\"pid\": %d", getpid());
	add(&line, "bus", getenv("DBUS_SESSION_BUS_ADDRESS"));
	buf_addc(&line, '}');
	say(&line);
	r = sd_event_loop(event);
	sd_bus_flush_close_unref(bus);
	sd_event_unref(event);
	return r < 0;
}
