/* What a remediation is told of the daemon's world: the ends of its logs, and what commands say. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "sys/file/file.h"
#include "watch/remedy/quick.h"
#include "watch/remedy/remedy_impl.h"

enum { COMMAND_MS = 10 * 1000, READ_MAX = 2 * PROMPT_PART_BYTES };

static const char *const logs[] = { "logs/daemon.log", "logs/task_pool.log", "logs/post_accept.log",
	"logs/auto.log" };

static void read_end(struct remedy *r, const char *name, struct prompt_part *ret)
{
	_cleanup_(fd_closep) int fd = file_open(path_join(&r->arena, r->ask->dir, name), O_RDONLY,
			0);
	char *text = arena_alloc(&r->arena, READ_MAX);
	struct stat st;
	ssize_t n = -1;

	*ret = (struct prompt_part){
		.title = arena_printf(&r->arena, "The last lines of %s", name).p,
		.end = true,
		.none = "there are none"
	};
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		n = pread(fd, text, READ_MAX, MAX(st.st_size - READ_MAX, (off_t)0));
	if (n >= 0)
		ret->text = (str){ text, (size_t)n };
	else if (errno != ENOENT)
		ret->none = arena_printf(&r->arena, "cannot be read (%s)", strerror(errno)).p;
}

static void run(struct remedy *r, const char *const *argv, const char *title,
		struct prompt_part *ret)
{
	struct quick_end end = { 0 };
	struct ov_err err = { 0 };
	int got = quick_run(&r->arena,
			&(struct quick){ .argv = argv,
					.cwd = r->ask->repo,
					.max = READ_MAX,
					.timeout_ms = COMMAND_MS,
					.stop_fd = r->stop_fd },
			&end, &err);

	*ret = (struct prompt_part){ .title = title, .none = "nothing" };
	if (got < 0)
		ret->text = arena_str(&r->arena, str_from(err.msg));
	else if (end.status != 0)
		ret->text = arena_printf(&r->arena, "(it ended with status %d)\n" STR_FMT STR_FMT,
				end.status, STR_ARG(end.err), STR_ARG(end.out));
	else
		ret->text = end.out;
}

size_t remedy_look(struct remedy *r, const struct prompt_part **ret)
{
	const char *const commands[][7] = {
		{ r->ask->overseer, "status", "--dir", r->ask->dir, NULL },
		{ r->ask->overseer, "worker", "list", "--dir", r->ask->dir, NULL },
		{ "git", "-c", "core.fsmonitor=false", "status", "--short", "--branch", NULL },
	};
	static const char *const titles[] = { "overseer status",
		"The workers (overseer worker list)", "git status --short --branch" };
	struct prompt_part *parts = arena_array(&r->arena, struct prompt_part,
			ARRAY_LEN(logs) + ARRAY_LEN(commands));
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(logs); i++)
		read_end(r, logs[i], &parts[n++]);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (commands[i][0])
			run(r, commands[i], titles[i], &parts[n++]);
	*ret = parts;
	return n;
}
