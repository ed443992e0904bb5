#include "watch/guard/machine.h"

#define NAME(id, name, help) [id] = (name),
#define HELP(id, name, help) [id] = (help),
static const char *const state_names[] = { WATCH_STATES(NAME) };
static const char *const state_helps[] = { WATCH_STATES(HELP) };
static const char *const event_names[] = { WATCH_EVENTS(NAME) };
static const char *const event_helps[] = { WATCH_EVENTS(HELP) };
static const char *const action_names[] = { WATCH_ACTIONS(NAME) };
static const char *const action_helps[] = { WATCH_ACTIONS(HELP) };
#undef NAME
#undef HELP

/* clang-format off */
#define GO(event, action, next) [event] = { true, action, next }
static const struct watch_step steps[WS_COUNT][WE_COUNT] = {
	[WS_LOOKING] = {
		GO(WE_FOUND,     WA_ADOPT,       WS_RUNNING),
		GO(WE_ABSENT,    WA_START,       WS_STARTING),
		GO(WE_UNDERWAY,  WA_RESUME,      WS_REMEDIATING),
		GO(WE_STOPPED,   WA_NEVER,       WS_LOOKING),
		GO(WE_DIED,      WA_NEVER,       WS_LOOKING),
		GO(WE_FAILED,    WA_NEVER,       WS_LOOKING),
		GO(WE_DEADLINE,  WA_NEVER,       WS_LOOKING),
		GO(WE_START,     WA_NEVER,       WS_LOOKING),
		GO(WE_MEND,      WA_NEVER,       WS_LOOKING),
		GO(WE_GIVE_UP,   WA_GIVE_UP,     WS_OVER),
		GO(WE_MENDED,    WA_NEVER,       WS_LOOKING),
		GO(WE_INTERRUPT, WA_LEAVE,       WS_OVER),
		GO(WE_AGAIN,     WA_QUIT,        WS_OVER),
	},
	[WS_STARTING] = {
		GO(WE_FOUND,     WA_REGISTER,    WS_RUNNING),
		GO(WE_ABSENT,    WA_NOTHING,     WS_STARTING),
		GO(WE_UNDERWAY,  WA_NEVER,       WS_STARTING),
		GO(WE_STOPPED,   WA_WAIT,        WS_WAITING),
		GO(WE_DIED,      WA_JUDGE,       WS_JUDGING),
		GO(WE_FAILED,    WA_NOTHING,     WS_STARTING), /* its end follows */
		GO(WE_DEADLINE,  WA_OVERDUE,     WS_TERMINATING),
		GO(WE_START,     WA_NEVER,       WS_STARTING),
		GO(WE_MEND,      WA_NEVER,       WS_STARTING),
		GO(WE_GIVE_UP,   WA_NEVER,       WS_STARTING),
		GO(WE_MENDED,    WA_NEVER,       WS_STARTING),
		GO(WE_INTERRUPT, WA_TERMINATE,   WS_LEAVING),
		GO(WE_AGAIN,     WA_QUIT,        WS_OVER),
	},
	[WS_RUNNING] = {
		GO(WE_FOUND,     WA_NEVER,       WS_RUNNING), /* another one is a failure */
		GO(WE_ABSENT,    WA_NOTHING,     WS_RUNNING),
		GO(WE_UNDERWAY,  WA_NEVER,       WS_RUNNING),
		GO(WE_STOPPED,   WA_WAIT,        WS_WAITING),
		GO(WE_DIED,      WA_JUDGE,       WS_JUDGING),
		GO(WE_FAILED,    WA_TERMINATE,   WS_TERMINATING),
		GO(WE_DEADLINE,  WA_CHECK,       WS_RUNNING),
		GO(WE_START,     WA_NEVER,       WS_RUNNING),
		GO(WE_MEND,      WA_NEVER,       WS_RUNNING),
		GO(WE_GIVE_UP,   WA_NEVER,       WS_RUNNING),
		GO(WE_MENDED,    WA_NEVER,       WS_RUNNING),
		GO(WE_INTERRUPT, WA_TERMINATE,   WS_LEAVING),
		GO(WE_AGAIN,     WA_QUIT,        WS_OVER),
	},
	[WS_TERMINATING] = {
		GO(WE_FOUND,     WA_NOTHING,     WS_TERMINATING),
		GO(WE_ABSENT,    WA_NOTHING,     WS_TERMINATING),
		GO(WE_UNDERWAY,  WA_NEVER,       WS_TERMINATING),
		GO(WE_STOPPED,   WA_WAIT,        WS_WAITING), /* a person's wish goes first */
		GO(WE_DIED,      WA_JUDGE,       WS_JUDGING),
		GO(WE_FAILED,    WA_NOTHING,     WS_TERMINATING),
		GO(WE_DEADLINE,  WA_KILL,        WS_KILLING),
		GO(WE_START,     WA_NEVER,       WS_TERMINATING),
		GO(WE_MEND,      WA_NEVER,       WS_TERMINATING),
		GO(WE_GIVE_UP,   WA_NEVER,       WS_TERMINATING),
		GO(WE_MENDED,    WA_NEVER,       WS_TERMINATING),
		GO(WE_INTERRUPT, WA_NOTHING,     WS_LEAVING), /* it was asked to end already */
		GO(WE_AGAIN,     WA_QUIT,        WS_OVER),
	},
	[WS_KILLING] = {
		GO(WE_FOUND,     WA_NOTHING,     WS_KILLING),
		GO(WE_ABSENT,    WA_NOTHING,     WS_KILLING),
		GO(WE_UNDERWAY,  WA_NEVER,       WS_KILLING),
		GO(WE_STOPPED,   WA_WAIT,        WS_WAITING),
		GO(WE_DIED,      WA_JUDGE,       WS_JUDGING),
		GO(WE_FAILED,    WA_NOTHING,     WS_KILLING),
		GO(WE_DEADLINE,  WA_STUCK,       WS_OVER),
		GO(WE_START,     WA_NEVER,       WS_KILLING),
		GO(WE_MEND,      WA_NEVER,       WS_KILLING),
		GO(WE_GIVE_UP,   WA_NEVER,       WS_KILLING),
		GO(WE_MENDED,    WA_NEVER,       WS_KILLING),
		GO(WE_INTERRUPT, WA_NOTHING,     WS_FORCING),
		GO(WE_AGAIN,     WA_QUIT,        WS_OVER),
	},
	[WS_JUDGING] = {
		GO(WE_FOUND,     WA_NEVER,       WS_JUDGING),
		GO(WE_ABSENT,    WA_NEVER,       WS_JUDGING),
		GO(WE_UNDERWAY,  WA_NEVER,       WS_JUDGING),
		GO(WE_STOPPED,   WA_NEVER,       WS_JUDGING),
		GO(WE_DIED,      WA_NEVER,       WS_JUDGING),
		GO(WE_FAILED,    WA_NEVER,       WS_JUDGING),
		GO(WE_DEADLINE,  WA_NEVER,       WS_JUDGING),
		GO(WE_START,     WA_LOOK,        WS_LOOKING), /* somebody may have been quicker */
		GO(WE_MEND,      WA_REMEDY,      WS_REMEDIATING),
		GO(WE_GIVE_UP,   WA_GIVE_UP,     WS_OVER),
		GO(WE_MENDED,    WA_NEVER,       WS_JUDGING),
		GO(WE_INTERRUPT, WA_LEAVE,       WS_OVER),
		GO(WE_AGAIN,     WA_QUIT,        WS_OVER),
	},
	[WS_REMEDIATING] = {
		GO(WE_FOUND,     WA_NOTHING,     WS_REMEDIATING), /* it is looked for afterwards */
		GO(WE_ABSENT,    WA_NOTHING,     WS_REMEDIATING),
		GO(WE_UNDERWAY,  WA_NEVER,       WS_REMEDIATING),
		GO(WE_STOPPED,   WA_NEVER,       WS_REMEDIATING),
		GO(WE_DIED,      WA_NEVER,       WS_REMEDIATING),
		GO(WE_FAILED,    WA_NEVER,       WS_REMEDIATING),
		GO(WE_DEADLINE,  WA_END_REMEDY,  WS_ENDING),
		GO(WE_START,     WA_NEVER,       WS_REMEDIATING),
		GO(WE_MEND,      WA_NEVER,       WS_REMEDIATING),
		GO(WE_GIVE_UP,   WA_NEVER,       WS_REMEDIATING),
		GO(WE_MENDED,    WA_CONCLUDE,    WS_LOOKING),
		GO(WE_INTERRUPT, WA_END_REMEDY,  WS_DROPPING),
		GO(WE_AGAIN,     WA_QUIT,        WS_OVER),
	},
	[WS_ENDING] = {
		GO(WE_FOUND,     WA_NOTHING,     WS_ENDING),
		GO(WE_ABSENT,    WA_NOTHING,     WS_ENDING),
		GO(WE_UNDERWAY,  WA_NEVER,       WS_ENDING),
		GO(WE_STOPPED,   WA_NEVER,       WS_ENDING),
		GO(WE_DIED,      WA_NEVER,       WS_ENDING),
		GO(WE_FAILED,    WA_NEVER,       WS_ENDING),
		GO(WE_DEADLINE,  WA_KILL_REMEDY, WS_ENDING),
		GO(WE_START,     WA_NEVER,       WS_ENDING),
		GO(WE_MEND,      WA_NEVER,       WS_ENDING),
		GO(WE_GIVE_UP,   WA_NEVER,       WS_ENDING),
		GO(WE_MENDED,    WA_CONCLUDE,    WS_LOOKING),
		GO(WE_INTERRUPT, WA_NOTHING,     WS_DROPPING),
		GO(WE_AGAIN,     WA_QUIT,        WS_OVER),
	},
	[WS_WAITING] = {
		GO(WE_FOUND,     WA_ADOPT,       WS_RUNNING),
		GO(WE_ABSENT,    WA_NOTHING,     WS_WAITING),
		GO(WE_UNDERWAY,  WA_NEVER,       WS_WAITING),
		GO(WE_STOPPED,   WA_NEVER,       WS_WAITING),
		GO(WE_DIED,      WA_NEVER,       WS_WAITING),
		GO(WE_FAILED,    WA_NEVER,       WS_WAITING),
		GO(WE_DEADLINE,  WA_NEVER,       WS_WAITING),
		GO(WE_START,     WA_NEVER,       WS_WAITING),
		GO(WE_MEND,      WA_NEVER,       WS_WAITING),
		GO(WE_GIVE_UP,   WA_NEVER,       WS_WAITING),
		GO(WE_MENDED,    WA_NEVER,       WS_WAITING),
		GO(WE_INTERRUPT, WA_LEAVE,       WS_OVER),
		GO(WE_AGAIN,     WA_QUIT,        WS_OVER),
	},
	[WS_LEAVING] = {
		GO(WE_FOUND,     WA_NOTHING,     WS_LEAVING),
		GO(WE_ABSENT,    WA_NOTHING,     WS_LEAVING),
		GO(WE_UNDERWAY,  WA_NEVER,       WS_LEAVING),
		GO(WE_STOPPED,   WA_LEAVE,       WS_OVER),
		GO(WE_DIED,      WA_LEAVE,       WS_OVER),
		GO(WE_FAILED,    WA_NOTHING,     WS_LEAVING),
		GO(WE_DEADLINE,  WA_KILL,        WS_FORCING),
		GO(WE_START,     WA_NEVER,       WS_LEAVING),
		GO(WE_MEND,      WA_NEVER,       WS_LEAVING),
		GO(WE_GIVE_UP,   WA_NEVER,       WS_LEAVING),
		GO(WE_MENDED,    WA_NEVER,       WS_LEAVING),
		GO(WE_INTERRUPT, WA_NEVER,       WS_LEAVING),
		GO(WE_AGAIN,     WA_QUIT,        WS_OVER),
	},
	[WS_FORCING] = {
		GO(WE_FOUND,     WA_NOTHING,     WS_FORCING),
		GO(WE_ABSENT,    WA_NOTHING,     WS_FORCING),
		GO(WE_UNDERWAY,  WA_NEVER,       WS_FORCING),
		GO(WE_STOPPED,   WA_LEAVE,       WS_OVER),
		GO(WE_DIED,      WA_LEAVE,       WS_OVER),
		GO(WE_FAILED,    WA_NOTHING,     WS_FORCING),
		GO(WE_DEADLINE,  WA_STUCK,       WS_OVER),
		GO(WE_START,     WA_NEVER,       WS_FORCING),
		GO(WE_MEND,      WA_NEVER,       WS_FORCING),
		GO(WE_GIVE_UP,   WA_NEVER,       WS_FORCING),
		GO(WE_MENDED,    WA_NEVER,       WS_FORCING),
		GO(WE_INTERRUPT, WA_NEVER,       WS_FORCING),
		GO(WE_AGAIN,     WA_QUIT,        WS_OVER),
	},
	[WS_DROPPING] = {
		GO(WE_FOUND,     WA_NOTHING,     WS_DROPPING),
		GO(WE_ABSENT,    WA_NOTHING,     WS_DROPPING),
		GO(WE_UNDERWAY,  WA_NEVER,       WS_DROPPING),
		GO(WE_STOPPED,   WA_NEVER,       WS_DROPPING),
		GO(WE_DIED,      WA_NEVER,       WS_DROPPING),
		GO(WE_FAILED,    WA_NEVER,       WS_DROPPING),
		GO(WE_DEADLINE,  WA_KILL_REMEDY, WS_DROPPING),
		GO(WE_START,     WA_NEVER,       WS_DROPPING),
		GO(WE_MEND,      WA_NEVER,       WS_DROPPING),
		GO(WE_GIVE_UP,   WA_NEVER,       WS_DROPPING),
		GO(WE_MENDED,    WA_LEAVE,       WS_OVER),
		GO(WE_INTERRUPT, WA_NEVER,       WS_DROPPING),
		GO(WE_AGAIN,     WA_QUIT,        WS_OVER),
	},
	[WS_OVER] = {
		GO(WE_FOUND,     WA_NOTHING,     WS_OVER),
		GO(WE_ABSENT,    WA_NOTHING,     WS_OVER),
		GO(WE_UNDERWAY,  WA_NEVER,       WS_OVER),
		GO(WE_STOPPED,   WA_NOTHING,     WS_OVER),
		GO(WE_DIED,      WA_NOTHING,     WS_OVER),
		GO(WE_FAILED,    WA_NOTHING,     WS_OVER),
		GO(WE_DEADLINE,  WA_NOTHING,     WS_OVER),
		GO(WE_START,     WA_NEVER,       WS_OVER),
		GO(WE_MEND,      WA_NEVER,       WS_OVER),
		GO(WE_GIVE_UP,   WA_NEVER,       WS_OVER),
		GO(WE_MENDED,    WA_NOTHING,     WS_OVER),
		GO(WE_INTERRUPT, WA_NOTHING,     WS_OVER),
		GO(WE_AGAIN,     WA_NOTHING,     WS_OVER),
	},
};
#undef GO
/* clang-format on */

const struct watch_step *machine_step(enum watch_state s, enum watch_event e)
{
	return &steps[s][e];
}

const char *watch_state_name(enum watch_state s)
{
	return state_names[s];
}

/* ---- drawn ---- */

static void list_names(struct buf *out, const char *title, const char *const *names,
		const char *const *helps, size_t n)
{
	buf_addf(out, "\n| %s | |\n|---|---|\n", title);
	for (size_t i = 0; i < n; i++)
		buf_addf(out, "| %s | %s |\n", names[i], helps[i]);
}

void machine_markdown(struct buf *out)
{
	buf_adds(out, STR("| state |"));
	for (size_t e = 0; e < WE_COUNT; e++)
		buf_addf(out, " %s |", event_names[e]);
	buf_adds(out, STR("\n|---|"));
	for (size_t e = 0; e < WE_COUNT; e++)
		buf_adds(out, STR("---|"));
	for (size_t s = 0; s < WS_COUNT; s++) {
		buf_addf(out, "\n| **%s** |", state_names[s]);
		for (size_t e = 0; e < WE_COUNT; e++) {
			const struct watch_step *x = &steps[s][e];

			if (x->next == s)
				buf_addf(out, " %s |", action_names[x->action]);
			else
				buf_addf(out, " %s → *%s* |", action_names[x->action],
						state_names[x->next]);
		}
	}
	buf_addc(out, '\n');
	list_names(out, "state", state_names, state_helps, WS_COUNT);
	list_names(out, "event", event_names, event_helps, WE_COUNT);
	list_names(out, "action", action_names, action_helps, WA_COUNT);
}

void machine_dot(struct buf *out)
{
	buf_adds(out, STR("digraph watch {\n\trankdir=LR;\n"));
	for (size_t s = 0; s < WS_COUNT; s++)
		for (size_t e = 0; e < WE_COUNT; e++) {
			const struct watch_step *x = &steps[s][e];

			if (x->next == s && x->action <= WA_NOTHING)
				continue;
			buf_addf(out, "\t%s -> %s [label=\"%s / %s\"];\n", state_names[s],
					state_names[x->next], event_names[e],
					action_names[x->action]);
		}
	buf_adds(out, STR("}\n"));
}
