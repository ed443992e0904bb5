/*
 * What an agent's git has of the user's own settings, wherever these are: a sandbox may hide the
 * home, and a program may not know who it is for. Who commits, and whose hooks are asked.
 */
#include "drive/gitrules/git_settings.h"
#include "base/buf.h"
#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"

#define SETTINGS "agent-settings" /* a note: text of a configuration */

static const struct setting {
	const char *variable, *otherwise;
} settings[] = {
	{ "user.name", "Overseer" },
	{ "user.email", "overseer@localhost" },
	{ "core.hookspath", NULL },
};

/*
 * The last one counts; those of our own command line come behind all others, and are for
 * that command.
 */
static str value_of(str list, str variable)
{
	str scope, entry, name, value = { 0 };

	while (str_split(&list, '\0', &scope) && str_split(&list, '\0', &entry))
		if (!str_is(scope, "command") && str_split(&entry, '\n', &name) &&
				str_eq(name, variable))
			value = entry;
	return value;
}

int git_settings_record(struct git_call *c, str list, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		str name = str_from(settings[i].variable), value = value_of(list, name);

		if (!value.n && settings[i].otherwise)
			value = str_from(settings[i].otherwise);
		if (value.n)
			git_config_add(&b, name, value);
	}
	return git_own_note(c, SETTINGS, buf_str(&b), err);
}

void git_settings_add(struct git_call *c, struct buf *b)
{
	buf_adds(b, git_own_text(c, SETTINGS));
}
