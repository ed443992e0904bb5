#include "core/life/process_life.h"

enum {
	/* of a processor, of an agent that tells nothing, or of a tool that was told of */
	LIFE_PERMILLE = 10,
	/* of a tool that nobody told of: more than what agents start for themselves */
	BUSY_PERMILLE = 50,
	CPU_MIN_MS = 20, /* less is the kernel's rounding */
	IO_MIN_BYTES = 64 * 1024,
	IDLE_ASSUMED = 30, /* permille, until it is measured: the most that was seen of any agent */
	IDLE_MOST = 100,   /* nobody idles at more */
	IDLE_TIMES = 2,
};

static bool uses(int64_t cpu_ms, int64_t passed_ms, int64_t permille)
{
	return cpu_ms >= MAX(passed_ms * permille / 1000, (int64_t)CPU_MIN_MS);
}

bool process_is_life(const struct process_rule *r, const struct process_use *u)
{
	int64_t idle = r->idle_permille < 0 ? IDLE_ASSUMED : r->idle_permille;
	int64_t cpu = u->own_cpu_ms + u->tool_cpu_ms, io = u->own_io_bytes + u->tool_io_bytes;

	if (!r->speaks)
		return uses(cpu, u->passed_ms, LIFE_PERMILLE) || io >= IO_MIN_BYTES;
	if (r->tool_in_flight)
		return uses(u->tool_cpu_ms, u->passed_ms, LIFE_PERMILLE) || io >= IO_MIN_BYTES ||
				uses(cpu, u->passed_ms, IDLE_TIMES * idle + LIFE_PERMILLE);
	return (r->tells_late && u->tool_lives) || u->tool_io_bytes >= IO_MIN_BYTES ||
			(!u->own_ended && uses(u->tool_cpu_ms, u->passed_ms, BUSY_PERMILLE));
}

int64_t process_idle(int64_t known_permille, const struct process_use *u)
{
	int64_t seen;

	if (u->passed_ms <= 0 || u->own_ended)
		return known_permille;
	seen = MIN(u->own_cpu_ms * 1000 / u->passed_ms, (int64_t)IDLE_MOST);
	return known_permille < 0 ? seen : MIN(known_permille, seen);
}
