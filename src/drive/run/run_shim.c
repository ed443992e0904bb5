#include "drive/run/run.h"

#include <inttypes.h>

#include "base/arena.h"
#include "base/str.h"
#include "shim/proto.h"
#include "sys/file/file.h"

enum { CMDLINE_MAX = 4 << 20 };

static const char *number(struct arena *a, int64_t n)
{
	return arena_printf(a, "%" PRId64, MAX(n, (int64_t)0)).p;
}

const char run_without_keys[] = RUN_WITHOUT_KEYS;

const char *const *run_argv(struct arena *a, const struct run_spec *spec)
{
	const char *interrupt = spec->interrupt_signal ? "--interrupt-signal" : NULL;
	const struct {
		const char *name, *value;
	} options[] = {
		{ "--dir", spec->dir },
		{ "--id", spec->id },
		{ "--cwd", spec->cwd },
		{ "--max-output", number(a, (int64_t)spec->max_output_bytes) },
		{ "--stop-grace", number(a, spec->stop_grace_ms) },
		{ interrupt, number(a, spec->interrupt_signal) },
		{ interrupt ? "--interrupt-grace" : NULL, number(a, spec->interrupt_grace_ms) },
		{ spec->cgroup ? "--cgroup" : NULL, spec->cgroup },
		{ spec->cgroup && spec->memory_max_bytes ? "--memory-max" : NULL,
				number(a, spec->memory_max_bytes) },
		{ spec->cgroup && spec->pids_max ? "--pids-max" : NULL, number(a, spec->pids_max) },
		{ spec->sandboxed ? "--sandboxed" : NULL, NULL },
		{ spec->split_errors ? "--split-errors" : NULL, NULL },
		{ spec->terminal ? "--terminal" : NULL, NULL },
	};
	size_t n = 0, at = 0;
	const char **argv;

	while (spec->argv[n])
		n++;
	argv = arena_array(a, const char *, n + 2 * ARRAY_LEN(options) + 3);
	argv[at++] = spec->shim;
	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		if (options[i].name)
			argv[at++] = options[i].name;
		if (options[i].name && options[i].value)
			argv[at++] = options[i].value;
	}
	argv[at++] = "--";
	memcpy(argv + at, spec->argv, n * sizeof(*argv));
	return argv;
}

bool run_is_sandboxed(const struct run_handle *r)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	int shim = run_shim(r);
	str text, part;

	if (!shim ||
			file_read(&a, arena_printf(&a, "/proc/%d/cmdline", shim).p, CMDLINE_MAX,
					&text, NULL) < 0)
		return false;
	/* Behind "--" is the agent's own command line. */
	while (str_split(&text, '\0', &part) && !str_is(part, "--"))
		if (str_is(part, "--sandboxed"))
			return true;
	return false;
}
