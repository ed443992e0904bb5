/*
 * A walk through a worktree, by descriptors: an agent that is still at work there can neither lead it
 * elsewhere by a link nor have it wait. Nearest folders first, so that what is left out where there is
 * too much is deep down.
 */
#include "drive/git_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drive/git_aside.h"
#include "drive/git_steps.h"
#include "sys/file.h"

/* The loop waits for it, at each call. Beyond that, git is waited for until it took too long. */
enum { AHEAD_ENTRIES = 20 * 1000, AHEAD_MS = 10 };

struct folders {
	struct arena arena;
	VEC(const char *) todo;
	size_t at;
};

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Part by part: none of them is a link. */
int git_walk_open(struct git_call *c, const char *path)
{
	int fd = openat(c->tree_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), next;
	str rest = str_from(path), part;

	while (fd >= 0 && path[0] && str_split(&rest, '/', &part)) {
		char one[NAME_MAX + 1];

		memcpy(one, part.p, MIN(part.n, (size_t)NAME_MAX));
		one[MIN(part.n, (size_t)NAME_MAX)] = '\0';
		next = openat(fd, one,
				O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC |
						(rest.n ? O_PATH : O_RDONLY));
		close(fd);
		fd = next;
	}
	return fd;
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

static bool walk_folder(struct git_walk *w, struct folders *f, const char *path, size_t *seen)
{
	int fd = git_walk_open(w->c, path);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool more = true;
	struct dirent *e;

	if (!d) {
		fd_closep(&fd);
		return true; /* closed, or gone: git cannot enter it either */
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
		if (type == DT_DIR && strcmp(e->d_name, ".git") != 0)
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

	w->cut = false;
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

static bool look(struct git_call *c, size_t entries, int64_t ms)
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
	(void)look(c, AHEAD_ENTRIES, AHEAD_MS);
}

bool git_unblock(struct git_call *c)
{
	if (c->unblocked || !c->own || !c->folder)
		return false;
	c->unblocked = true;
	return look(c, 0, 0);
}
