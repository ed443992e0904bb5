/* The inbox, and who else is told: the commands. */
#include "cli/command_table.h"

#define SEVERAL \
	BOOL("all", "all open entries of --kind"), TEXT("kind", "K", "with --all: their kind"), WHY
static const struct flag judge_flags[] = { SEVERAL };
static const struct flag answer_flags[] = {
	LIST("budget", "NAME=AMOUNT", "the most that its goal may use from now on (repeatable)"),
	LIST("estimate", "NAME=AMOUNT", "what its goal is expected to use (repeatable)"),
	SEVERAL,
};
static const struct flag dismiss_flags[] = {
	BOOL("false-positive", "there was nothing for oversight to find: what it stopped goes on"),
	SEVERAL,
};
static const struct flag escalation_test_flags[] = {
	TEXT("level", "WORD", "info (the default), warning, critical or emergency"),
};
static const struct flag inbox_flags[] = {
	GOAL,
	BOOL("all", "also what was put off, and what is over"),
};
static const struct flag notice_flags[] = {
	GOAL,
	BOOL("all", "also those that were sent or withdrawn"),
};
static const struct flag why_flags[] = { WHY };

static const struct command table[] = {
	{ "inbox", "list", "What needs you, the most pressing first", "", 0, 0, FLAGS(inbox_flags),
			cmd_inbox, NULL },
	{ "inbox", "show", "Show an entry and what led to it", "N", 1, 1, NO_FLAGS, cmd_inbox_show,
			NULL },
	{ "inbox", "answer", "Answer entries", "N[,N-N...] TEXT", 1, ARGS_MAX, FLAGS(answer_flags),
			cmd_inbox_answer,
			"TEXT is one of the options or a unique prefix of one; or retry, done or "
			"cancel, which do that to the\nnode; or any other text: then the node "
			"goes on, and its next run is told. A goal that oversight stopped\ngoes "
			"on by resume (paused) or reopen (aborted), or with any text for its "
			"agent. A budget that is spent:\nraise doubles it, unless --budget says "
			"how much. A text that may be meant as a command (one word, stop it,\n"
			"9 cancel) is refused; \"text: stop it\" tells it to the agent. A question "
			"takes any text." },
	{ "inbox", "approve", "Approve entries", "N[,N-N...]", 0, ARGS_MAX, FLAGS(judge_flags),
			cmd_inbox_approve,
			"paused: resume; aborted: reopen; review: accept; budget: raise; "
			"pre_accept: try again; post_accept:\ngo on. Other entries have answers "
			"of their own." },
	{ "inbox", "deny", "Deny entries", "N[,N-N...]", 0, ARGS_MAX, FLAGS(judge_flags),
			cmd_inbox_deny,
			"paused: abort (a node: cancel); aborted, budget, planner: cancel the "
			"goal; review: reject, for the\nreason; pre_accept: back to its agent; "
			"post_accept: take back." },
	{ "inbox", "snooze", "Hide entries for a while", "N[,N-N...] TIME", 1, ARGS_MAX,
			FLAGS(judge_flags), cmd_inbox_snooze,
			"It comes back by itself, or when there is new evidence. A deadline that "
			"it has stays." },
	{ "inbox", "dismiss", "Close entries without an answer", "N[,N-N...]", 0, ARGS_MAX,
			FLAGS(dismiss_flags), cmd_inbox_dismiss,
			"A node that is blocked stays so, and waits for you. What others wait "
			"for cannot be dismissed; a false\nalarm of oversight can: then it is "
			"judged as one, and what was stopped goes on." },
	{ "inbox", NULL, "As inbox list", "", 0, 0, FLAGS(inbox_flags), cmd_inbox,
			"See also: inbox show, answer, approve, deny, snooze, dismiss." },
	{ "escalation", "test", "Send a test notice through a channel", "CHANNEL", 1, 1,
			FLAGS(escalation_test_flags), cmd_escalation_test,
			"Channels are \"desktop\", \"hook\" and those of "
			"[escalation.channels.NAME] in config.toml. On a tracker a second test "
			"becomes a comment on the issue that the first one opened, as long as "
			"that is open. See docs/escalation.md." },
	{ "notice", "list", "What people outside are still to be told, or could not be", "", 0, 0,
			FLAGS(notice_flags), cmd_notice_list, NULL },
	{ "notice", "show", "Show a notice and what came of its attempts", "ID", 1, 1, NO_FLAGS,
			cmd_notice_show, NULL },
	{ "notice", "retry", "Try a notice again, now", "ID", 1, 1, FLAGS(why_flags),
			cmd_notice_retry,
			"One that failed gets as many attempts as a new one. Quiet hours hold." },
};

const struct command_list commands_inbox = { table, ARRAY_LEN(table) };
