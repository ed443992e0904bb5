#include <sys/stat.h>
#include <unistd.h>

#include "app/daemon/daemon_impl.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "data/id/sha256.h"
#include "data/value/json.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"
#include "sys/host/rand.h"
#include "sys/proc/proc.h"
#include "version.h"

void identity_init(struct daemon *d)
{
	uint8_t random[8];
	char *hex = arena_alloc(&d->arena, 2 * sizeof(random) + 1);

	rand_bytes(random, sizeof(random));
	hex_format(random, sizeof(random), hex);
	d->self.instance = hex;
	d->self.pid = getpid();
	d->self.started_at = clock_wall();
}

/* pid + start time + boot id name a process for good; the rest is for people. */
static value *identity_view(struct arena *a, struct daemon *d)
{
	value *v = value_object(a);
	char boot[37], host[256] = "";

	proc_boot_id(boot);
	(void)gethostname(host, sizeof(host) - 1);
	value_put(a, v, "pid", value_int(a, d->self.pid));
	value_put(a, v, "start_time", value_int(a, (int64_t)proc_start_time(d->self.pid)));
	value_put(a, v, "boot_id", value_str(a, arena_str(a, str_from(boot))));
	value_put(a, v, "instance_id", value_cstr(a, d->self.instance));
	value_put(a, v, "host", value_str(a, arena_str(a, str_from(host))));
	value_put(a, v, "started_at", value_time(a, d->self.started_at));
	value_put(a, v, "version", value_cstr(a, OV_VERSION));
	return v;
}

str identity_holder(struct daemon *d)
{
	return json_text(&d->arena, identity_view(&d->arena, d));
}

static const char *register_path(struct daemon *d)
{
	return path_join(&d->arena, d->o->dir, "daemon.json");
}

/* Who started us may keep what we say elsewhere: a service manager in its journal. */
static value *log_file_view(struct arena *a, struct daemon *d)
{
	const char *path = path_join(a, d->o->dir, "logs/daemon.log");
	struct stat there, ours;

	if (stat(path, &there) < 0 || fstat(STDERR_FILENO, &ours) < 0 ||
			there.st_dev != ours.st_dev || there.st_ino != ours.st_ino)
		return value_null(a);
	return value_cstr(a, path);
}

int register_write(struct daemon *d, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	value *v = identity_view(&a, d);

	value_put(&a, v, "socket", value_cstr(&a, d->socket_path));
	value_put(&a, v, "http_port",
			d->self.http_port ? value_int(&a, d->self.http_port) : value_null(&a));
	value_put(&a, v, "log_file", log_file_view(&a, d));
	json_write_pretty(&text, v);
	buf_addc(&text, '\n');
	return file_write_atomic(register_path(d), buf_str(&text), 0600, err);
}

/* Only our own: the folder may be another one by now, with a daemon of its own. */
void register_remove(struct daemon *d)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct identity id;
	value *v;
	str text;

	if (file_read(&a, register_path(d), VITAL_FILE_MAX, &text, NULL) == 0 &&
			json_parse(&a, text, NULL, &v, NULL) == 0 && identity_read(v, &id) &&
			strcmp(id.instance, d->self.instance) == 0)
		(void)file_remove(register_path(d), NULL);
}
