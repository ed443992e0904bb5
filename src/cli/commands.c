/* Every command, as data: the tables of commands_*.c, in the order in which help shows them. */
#include "cli/command_table.h"

static const struct command_list *const lists[] = {
	&commands_daemon,
	&commands_goal,
	&commands_work,
	&commands_worker,
	&commands_inbox,
	&commands_upkeep,
};

const struct command *command_at(size_t i)
{
	for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
		if (i < lists[k]->n)
			return &lists[k]->p[i];
		i -= lists[k]->n;
	}
	return NULL;
}
