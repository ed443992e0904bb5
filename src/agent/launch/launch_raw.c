/* Any command: the words as configured, with the prompt or its file put into their places. */
#include "agent/launch/launch_impl.h"
#include "base/str.h"

/* Replaces a {name} of one argument; an argument is never split, whatever the prompt contains. */
static str substitute(struct arena *a, str arg, str prompt, const char *prompt_file)
{
	const struct {
		str name, value;
	} names[] = { { STR("{prompt}"), prompt },
		{ STR("{prompt_file}"), str_from(prompt_file) } };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		size_t at = str_find(arg, names[i].name);

		/*
		 * Looks only before the inserted text, so that a prompt that holds "{prompt}"
		 * stays text.
		 */
		if (at < arg.n)
			return arena_printf(a, STR_FMT STR_FMT STR_FMT, (int)at, arg.p,
					STR_ARG(names[i].value),
					STR_ARG(str_sub(arg, at + names[i].name.n, arg.n)));
	}
	return arg;
}

int launch_raw(struct arena *a, const struct launch_ask *ask, struct launch *ret,
		struct ov_err *err)
{
	struct launch_ask bare = *ask;
	struct launcher l;

	bare.command = arena_array(a, str, ask->command_n + 1);
	for (size_t i = 0; i < ask->command_n; i++)
		((str *)bare.command)[i] = substitute(a, ask->command[i], ask->prompt,
				ask->prompt_file);
	launcher_init(&l, a, &bare);
	if (ask->keep_input)
		l.input = (str){ 0 };
	else if (ask->prompt_by == PROMPT_STDIN) /* in a terminal, too: one can only look on then */
		l.input = ask->prompt;
	return launcher_done(&l, ret, err);
}
