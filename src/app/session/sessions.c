#include "app/session/sessions.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/launch/home.h"
#include "app/sandbox/sandbox.h"
#include "app/sandbox/sandbox_home.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "data/value/json.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"

#define NOTE "sessions.json"

enum { NOTE_MAX = 64 << 10 };

/* ---- where they are ---- */

/* Of the folders of the format the one that has sessions; NULL: none has. */
static const struct home_folder *folder_of(str format)
{
	size_t n;
	const struct home_folder *list = home_folders(format, &n);

	for (size_t i = 0; i < n; i++)
		if (list[i].sessions)
			return &list[i];
	return NULL;
}

static const char *stripped(struct arena *a, const char *path, const char *dir)
{
	return path_below(path, dir) ? arena_cstr(a, str_from(path + strlen(dir) + 1)) : NULL;
}

struct sessions sessions_find(struct arena *a, const struct sandbox_room *room,
		const char *const *env)
{
	const struct home_folder *f = folder_of(room->agent->format);
	const char *home = sandbox_home_of(a, env), *own = sandbox_own(a, room), *place, *rest;
	struct sessions s = { .since = clock_file() };

	if (!f || !home)
		return s;
	place = sandbox_home_place(a, home, env, f);
	if (!place)
		return s;
	s.root = place;
	s.below = f->sessions;
	rest = stripped(a, place, home);
	if (room->level.is == SANDBOX_BWRAP && room->agent->home == HOME_PRIVATE && rest) {
		s.root = path_join(a, own, "home");
		s.below = path_join(a, rest, f->sessions);
	} else if (room->level.is != SANDBOX_NONE &&
			home_entry(f, str_from(f->sessions)) == HOME_OWN) {
		s.root = sandbox_home_stand_in(a, room->store, own, f);
	}
	return s;
}

/* ---- the note ---- */

struct sessions sessions_kept(struct arena *a, const char *dir)
{
	struct sessions s = { 0 };
	value *v;
	str text;

	if (file_read(a, path_join(a, dir, NOTE), NOTE_MAX, &text, NULL) < 0 ||
			json_parse(a, text, NULL, &v, NULL) < 0 || !value_str_at(v, "root").n)
		return s;
	s.root = arena_cstr(a, value_str_at(v, "root"));
	s.below = arena_cstr(a, value_str_at(v, "below"));
	s.session = arena_str(a, value_str_at(v, "session"));
	s.resumed = value_bool_at(v, "resumed");
	s.since = value_int_at(v, "since");
	return s;
}

int sessions_keep(struct arena *a, const char *dir, struct sessions *s, struct ov_err *err)
{
	struct sessions kept = sessions_kept(a, dir);
	value *v = value_object(a);

	if (kept.root)
		*s = kept;
	if (kept.root || !s->root)
		return 0;
	value_put(a, v, "root", value_cstr(a, s->root));
	value_put(a, v, "below", value_cstr(a, s->below));
	value_put(a, v, "session", value_str(a, s->session));
	value_put(a, v, "resumed", value_bool(a, s->resumed));
	value_put(a, v, "since", value_int(a, s->since));
	return file_write_atomic(path_join(a, dir, NOTE), json_text(a, v), 0600, err);
}

/* ---- their files ---- */

str sessions_name(const struct sessions *s, str path)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	str mark = s->root ? arena_printf(&a, "/%s/", s->below) : STR("");
	str rest = STR("");

	if (!s->root || !str_starts(path, STR("/")))
		return rest;
	/* The last one: a folder around it may have the same name. */
	for (size_t at = str_find(path, mark); at < path.n; at = str_find(path, mark)) {
		rest = str_sub(path, at + mark.n, path.n);
		path = str_sub(path, at + 1, path.n);
	}
	return rest;
}

/* When it was made; where the file system does not say, when it was last written. */
static ov_time made_at(int fd, const struct stat *st)
{
	struct statx x;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &x) == 0 && (x.stx_mask & STATX_BTIME))
		return x.stx_btime.tv_sec * OV_SECOND + x.stx_btime.tv_nsec / 1000000;
	return (ov_time)st->st_mtim.tv_sec * OV_SECOND + st->st_mtim.tv_nsec / 1000000;
}

static const char *refusal(const struct sessions *s, str name, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return "is no regular file";
	if (st.st_uid != geteuid() || st.st_nlink > 1)
		return "belongs to somebody else as well";
	if (s->session.n && !str_contains(name, s->session))
		return "is of another session";
	if (!s->resumed && made_at(fd, &st) < s->since)
		return "is older than the run";
	return NULL;
}

int sessions_open(const struct sessions *s, str name, int *ret_fd, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	_cleanup_(fd_closep) int dir = s->root ? open(s->root, O_PATH | O_DIRECTORY | O_CLOEXEC)
					       : -1;
	_cleanup_(fd_closep) int fd = -1;
	const char *why;

	/* As the kernel reads it. */
	name = str_from(arena_cstr(&a, name));
	if (dir < 0)
		return ov_fail(err, OV_ENOTFOUND, "there is no folder of sessions");
	fd = file_openat_beneath(dir, path_join(&a, s->below, name.p), O_RDONLY);
	if (fd < 0 && errno == ENOENT)
		return ov_fail(err, OV_ENOTFOUND, "there is no such session");
	why = fd < 0 ? "cannot be opened beneath the folder of sessions" : refusal(s, name, fd);
	if (why)
		return ov_fail(err, OV_EUNAUTHORIZED, "it %s",
				why); /* an agent named it: its name is not said */
	*ret_fd = TAKE_FD(fd);
	return 0;
}
