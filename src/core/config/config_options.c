/*
 * The options: what may stand in config.toml, and everything that people are told about it. Each
 * subject has its table in a file of its own; documents and the file that `init` writes keep
 * this order.
 */
#include "core/config/config_table.h"

static const struct options *const tables[] = {
	&config_options_supervisor,
	&config_options_escalation,
	&config_options_goal,
	&config_options_work,
	&config_options_accept,
	&config_options_daemon,
};

/* What a file of an earlier version may still say. */
static const struct obsolete_option obsolete[] = {
	{ "accept.dirty_tries", "work waits until your files are out of its way" },
	{ "accept.dirty_wait_max", "the time between two attempts is accept.dirty_wait" },
};

const struct obsolete_option *config_obsolete(size_t *ret_n)
{
	*ret_n = ARRAY_LEN(obsolete);
	return obsolete;
}

size_t config_options_n(void)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		n += tables[i]->n;
	return n;
}

const struct option *config_option_at(size_t i)
{
	for (size_t k = 0; k < ARRAY_LEN(tables); k++) {
		if (i < tables[k]->n)
			return &tables[k]->p[i];
		i -= tables[k]->n;
	}
	return NULL;
}
