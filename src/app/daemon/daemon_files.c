#include "app/daemon/daemon_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "app/daemon/daemon_impl.h"
#include "app/log/log.h"
#include "base/err.h"
#include "sys/file/file.h"

static void mark(struct file_mark *m, const char *path)
{
	struct stat st;

	m->path = path;
	m->known = stat(path, &st) == 0;
	if (!m->known)
		return;
	m->dev = st.st_dev;
	m->ino = st.st_ino;
}

static bool holds(const struct file_mark *m)
{
	struct stat st;

	return !m->known || (stat(m->path, &st) == 0 && st.st_dev == m->dev && st.st_ino == m->ino);
}

/* A damaged store is only read: what becomes of its file is the person's who decides about it. */
void daemon_files_mark(struct daemon *d)
{
	const char *path;

	if (d->safe.on || safe_store_path(&d->arena, d->self.store_url, &path, NULL) < 0)
		return;
	mark(&d->files.db, path);
	mark(&d->files.wal, arena_cstr(&d->arena, arena_printf(&d->arena, "%s-wal", path)));
}

bool daemon_files_hold(struct daemon *d)
{
	if (d->files.lost)
		return false;
	if (holds(&d->files.db) && holds(&d->files.wal))
		return true;
	daemon_lost(d);
	return false;
}

static void renew_socket(struct daemon *d)
{
	struct ov_err err = { 0 };

	if (!d->rpcd || rpcd_is_reachable(d->rpcd))
		return;
	if (rpcd_listen_again(d->rpcd, &err) < 0)
		log_warn("%s was removed or replaced, and cannot be made anew: %s", d->socket_path,
				err.msg);
	else
		log_warn("%s was removed or replaced: it was made anew", d->socket_path);
}

/* Another text in it is not ours to judge: whoever wrote it may be the one that is meant. */
static void renew_registration(struct daemon *d)
{
	struct ov_err err = { 0 };

	if (d->stop_reason || file_exists(d->files.registration))
		return;
	if (register_write(d, &err) < 0)
		log_warn("the daemon's registration was removed, and cannot be written: %s",
				err.msg);
	else
		log_warn("the daemon's registration was removed: it was written anew");
}

/* Nobody but us writes into it: what somebody put into the same file is found by reading it. */
static bool is_store(const struct daemon *d, const char *name)
{
	const char *path = d->files.db.known ? d->files.db.path : "", *slash = strrchr(path, '/');

	return name && strcmp(name, slash ? slash + 1 : path) == 0;
}

/* Anything in a folder is a reason to look: that costs less than to find out what it was. */
static void folder_changed(void *user, uint32_t mask, const char *name)
{
	struct daemon *d = user;

	if (!daemon_files_hold(d))
		return;
	if ((mask & IN_CLOSE_WRITE) && is_store(d, name))
		child_verify(d);
	renew_socket(d);
	renew_registration(d);
}

static void watch(struct daemon *d, const char *file)
{
	static const uint32_t changes = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
			IN_DELETE_SELF | IN_MOVE_SELF | IN_CLOSE_WRITE | IN_ONLYDIR;
	struct daemon_files *f = &d->files;
	const char *slash = strrchr(file, '/');
	const char *folder = arena_cstr(&d->arena,
			(str){ file, slash ? MAX((size_t)(slash - file), (size_t)1) : 0 });
	struct ov_err err = { 0 };
	int fd, r;

	for (size_t i = 0; i < f->folders_n; i++)
		if (strcmp(f->paths[i], folder) == 0)
			return;
	fd = open(folder[0] ? folder : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = fd < 0 ? ov_fail_errno(&err, errno, "%s", folder)
		   : loop_watch(d->loop, fd, changes, folder_changed, d, &f->folders[f->folders_n],
				     &err);
	fd_closep(&fd);
	if (r < 0)
		log_warn("whether somebody removes files of the daemon's is not noticed at once: "
			 "%s",
				err.msg);
	else
		f->paths[f->folders_n++] = folder;
}

void daemon_files_open(struct daemon *d)
{
	d->files.registration = path_join(&d->arena, d->o->dir, VITAL_DAEMON);
	watch(d, d->files.registration);
	watch(d, d->socket_path);
	if (d->files.db.known)
		watch(d, d->files.db.path);
	/* What happened between the opening and now. */
	folder_changed(d, 0, NULL);
}

void daemon_files_close(struct daemon *d)
{
	for (size_t i = 0; i < ARRAY_LEN(d->files.folders); i++)
		loop_source_free(d->files.folders[i]);
	loop_source_free(d->files.later);
}
