/*
 * A walk through a worktree, by descriptors: an agent that is still at work there can neither lead
 * it elsewhere by a link nor have it wait. Nearest folders first, so that what is left out where
 * there is too much is deep down.
 */
#include "drive/git/git_walk.h"
#include "drive/git/git_steps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drive/git/git_aside.h"
#include "sys/file/file.h"

/* The loop waits for it, at each call. Beyond that, git is waited for until it took too long. */
enum { AHEAD_ENTRIES = 20 * 1000, AHEAD_MS = 10 };
/* Also where git did not get through: once for each call. */
enum { ALL_ENTRIES = 1000 * 1000, ALL_MS = 2000 };
/* Each folder is opened part by part. */
enum { DEPTH_MAX = 64 };
/*
 * A name that is about as long as a name can be (git cuts its message); of it, the part of at least
 * this many bytes stays; how many are put aside by one call.
 */
enum { DEEP_BYTES = 3500, DEEP_KEPT = 512, DEEP_MAX = 16 };

struct folders {
	struct arena arena;
	VEC(const char *) todo;
	size_t at;
	bool deeper; /* there is more than is entered */
};

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Part by part: none of them is a link. */
static int open_part(struct git_call *c, const char *path, int last)
{
	int fd = openat(c->tree_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), next;
	str rest = str_from(path), part;

	while (fd >= 0 && path[0] && str_split(&rest, '/', &part)) {
		char one[NAME_MAX + 1];

		memcpy(one, part.p, MIN(part.n, (size_t)NAME_MAX));
		one[MIN(part.n, (size_t)NAME_MAX)] = '\0';
		next = openat(fd, one,
				O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | (rest.n ? O_PATH : last));
		close(fd);
		fd = next;
	}
	return fd;
}

/*
 * What its owner closed to itself, and so to us, is opened: git passes over such a folder without
 * failing. By descriptor, so that it is this very one; a file with other names may be
 * somebody else's.
 */
static void open_up(struct git_walk *w, int fd)
{
	struct stat st;
	mode_t want;
	char path[32];

	if (w->c->peeks || fstat(fd, &st) < 0 || st.st_uid != geteuid())
		return;
	want = S_ISDIR(st.st_mode)                                ? S_IRWXU
			: S_ISREG(st.st_mode) && st.st_nlink == 1 ? S_IRUSR
								  : 0;
	if ((st.st_mode & want) == want)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	w->opened |= chmod(path, (st.st_mode | want) & 07777) == 0;
}

static int open_below(struct git_walk *w, int dir, const char *name)
{
	int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0)
		open_up(w, fd);
	return fd;
}

/* As far as git tells by it that a repository is there, which is nobody's to remove. */
static void open_repository(struct git_walk *w, int dir)
{
	static const char *const names[] = { "HEAD", "objects", "refs" };
	_cleanup_(fd_closep) int git = open_below(w, dir, ".git");

	for (size_t i = 0; git >= 0 && i < ARRAY_LEN(names); i++) {
		int fd = open_below(w, git, names[i]);

		fd_closep(&fd);
	}
}

static int open_folder(struct git_walk *w, const char *path)
{
	_cleanup_(fd_closep) int fd = open_part(w->c, path, O_PATH);
	int r;

	if (fd >= 0)
		open_up(w, fd);
	r = fd < 0 ? -1 : openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w->closed |= r < 0 && errno == EACCES;
	return r;
}

static int type_of(int dir, const struct dirent *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type;
	return fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? IFTODT(st.st_mode)
								      : DT_UNKNOWN;
}

const char *git_walk_name(struct arena *a, const char *folder, const char *name)
{
	return folder[0] ? path_join(a, folder, name) : arena_cstr(a, str_from(name));
}

static int depth_of(const char *path)
{
	int n = path[0] != '\0';

	for (; *path; path++)
		n += *path == '/';
	return n;
}

static bool walk_folder(struct git_walk *w, struct folders *f, const char *path, size_t *seen)
{
	int fd = open_folder(w, path);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool more = true, last = depth_of(path) >= DEPTH_MAX;
	struct dirent *e;

	if (!d) {
		fd_closep(&fd);
		return true; /* somebody else's, or gone: git cannot enter it either */
	}
	while (more && (e = readdir(d))) {
		int type;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (w->entries && (*seen)++ >= w->entries) {
			w->cut = true;
			break;
		}
		type = type_of(fd, e);
		more = w->each(w, fd, path, e->d_name, type);
		if (type == DT_DIR && strcmp(e->d_name, ".git") == 0)
			open_repository(w, fd);
		else if (type == DT_DIR && last)
			f->deeper = true;
		else if (type == DT_DIR)
			vec_push(&f->todo, git_walk_name(&f->arena, path, e->d_name));
	}
	closedir(d);
	return more && !w->cut;
}

void git_walk(struct git_walk *w, const char *from)
{
	struct folders f = { .arena = ARENA_INIT };
	int64_t until = w->time_ms ? now_ms() + w->time_ms : 0;
	size_t seen = 0;

	w->cut = w->closed = w->opened = false;
	if (w->c->tree_fd < 0)
		return;
	vec_push(&f.todo, from);
	while (f.at < f.todo.n && walk_folder(w, &f, f.todo.p[f.at], &seen)) {
		f.at++;
		if (until && f.at < f.todo.n && now_ms() > until) {
			w->cut = true;
			break;
		}
	}
	w->cut |= f.deeper;
	vec_done(&f.todo);
	arena_done(&f.arena);
}

/* What git would wait for. */

static bool unblock(struct git_walk *w, int dir, const char *folder, const char *name, int type)
{
	static const char *const names[] = { ".gitignore", ".gitattributes", ".gitmodules" };
	bool *found = w->user;

	if (type == DT_REG || type == DT_DIR || type == DT_LNK || type == DT_UNKNOWN)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(name, names[i]) == 0)
			*found |= git_aside_one(w->c, dir, folder, name,
						  "what is no file but is named as one that git "
						  "reads was",
						  NULL) == 0;
	return true;
}

static bool walk_look(struct git_call *c, size_t entries, int64_t ms)
{
	bool found = false;
	struct git_walk w = { .c = c,
		.entries = entries,
		.time_ms = ms,
		.each = unblock,
		.user = &found };

	git_walk(&w, "");
	return found;
}

void git_unblock_ahead(struct git_call *c)
{
	if (c->looked || !c->own || !c->folder || c->making)
		return;
	c->looked = true;
	(void)walk_look(c, AHEAD_ENTRIES, AHEAD_MS);
}

bool git_unblock(struct git_call *c)
{
	if (c->unblocked || !c->own || !c->folder)
		return false;
	c->unblocked = true;
	return walk_look(c, ALL_ENTRIES, ALL_MS);
}

/* What git cannot open. */

static bool pass(struct git_walk *w _unused_, int dir _unused_, const char *folder _unused_,
		const char *name _unused_, int type _unused_)
{
	return true;
}

bool git_open_closed(struct git_call *c)
{
	struct git_walk w = { .c = c, .entries = ALL_ENTRIES, .time_ms = ALL_MS, .each = pass };

	git_walk(&w, "");
	return w.opened;
}

/*
 * Nothing can be opened by such a name: its lower part is moved, so that git gets through the rest.
 */
static bool deep_aside(struct git_call *c, str name)
{
	_cleanup_(fd_closep) int dir = -1;
	size_t from = DEEP_KEPT, end;
	const char *folder, *part;

	while (from < name.n && name.p[from - 1] != '/')
		from++;
	end = from + str_find_byte(str_sub(name, from, name.n), '/');
	if (end >= name.n)
		return false;
	folder = arena_cstr(&c->arena, str_sub(name, 0, from - 1));
	part = arena_cstr(&c->arena, str_sub(name, from, end - from));
	dir = open_part(c, folder, O_PATH);
	return dir >= 0 &&
			git_aside_one(c, dir, folder, part,
					arena_printf(&c->arena,
							"\"" STR_FMT "...\", which is too deep "
							"for git, was",
							STR_ARG(git_shown(c, str_sub(name, 0, 60))))
							.p,
					NULL) == 0;
}

static bool put_deep_aside(struct git_call *c, str words, str before)
{
	bool moved = false;
	str line;

	while (str_split(&words, '\n', &line)) {
		size_t at = str_find(line, before);
		str name = str_sub(line, at + before.n, line.n);

		if (name.n >= DEEP_BYTES && c->deep < DEEP_MAX) {
			c->deep++;
			moved |= deep_aside(c, name);
		}
	}
	return moved;
}

bool git_passed_over(struct git_call *c, const struct git_out *o)
{
	str before = STR("could not open directory '"), name;
	size_t at = str_find(o->err, before);

	if (at == o->err.n || c->peeks || c->closed || !c->own || !c->folder)
		return false;
	if (put_deep_aside(c, o->err, before))
		return true;
	if (!c->opened) {
		c->opened = true;
		if (git_open_closed(c))
			return true;
	}
	c->closed = true;
	name = str_sub(o->err, at + before.n, o->err.n);
	name = str_sub(name, 0, str_find(name, STR("/'")));
	git_say(c,
			arena_printf(&c->arena,
					"\"" STR_FMT
					"\" in %s cannot be opened, so nothing in it is "
					"part of the work",
					STR_ARG(git_shown(c, str_sub(name, 0, 200))), c->path));
	return false;
}
