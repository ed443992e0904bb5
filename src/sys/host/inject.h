#pragma once
/*
 * Injection points for crash tests: INJECT("after-commit") does nothing in an ordinary build. In a
 * build with -Dinject=true, the environment OVERSEER_INJECT="after-commit" or "after-commit:3"
 * makes the process kill itself (SIGKILL) at the first or third passage, and
 * OVERSEER_INJECT_LIST=FILE appends the name of each point when it is first passed.
 */
#ifdef OV_INJECT
void inject_hit(const char *point);
#define INJECT(point) inject_hit(point)
#else
#define INJECT(point) ((void)0)
#endif
