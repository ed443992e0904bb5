#pragma once
/*
 * The watchdog as a table: in each state, what each event makes it do and where that leads. Every
 * pair is written out, "nothing" too, so that none is forgotten; docs/watch.md draws the table.
 * Pure: the actions are names here, and main.c knows how to carry them out.
 *
 * An action that finds something out says so by an event of its own (WE_FOUND, WE_START, ...),
 * which is handled at once; judge.h holds the rule of what follows a failure.
 */
#include "base/buf.h"
#include "base/ov.h"

#define WATCH_STATES(X)                                                                        \
	X(WS_LOOKING, "looking", "it looks for a daemon that runs already")                    \
	X(WS_STARTING, "starting", "the daemon was started, and is to register")               \
	X(WS_RUNNING, "running", "the daemon is up and is watched")                            \
	X(WS_TERMINATING, "terminating", "the daemon failed and was asked to end")             \
	X(WS_KILLING, "killing", "the daemon was killed, and its end is awaited")              \
	X(WS_JUDGING, "judging", "the daemon is gone: started again, mended, or given up?")    \
	X(WS_REMEDIATING, "remediating", "somebody is asked to mend it")                       \
	X(WS_ENDING, "ending", "the remediation took too long and is being ended")             \
	X(WS_WAITING, "waiting", "the daemon was stopped by request; the next one is awaited") \
	X(WS_LEAVING, "leaving", "it was asked to end, and so was the daemon")                 \
	X(WS_FORCING, "forcing", "it was asked to end, and killed the daemon")                 \
	X(WS_DROPPING, "dropping", "it was asked to end, and so was the remediation")          \
	X(WS_OVER, "over", "it ends")

#define WATCH_EVENTS(X)                                                                            \
	X(WE_FOUND, "found", "a live daemon is registered")                                        \
	X(WE_ABSENT, "absent", "none is")                                                          \
	X(WE_UNDERWAY, "underway", "a remediation of an earlier watchdog still runs")              \
	X(WE_STOPPED, "stopped", "the daemon has ended, by request")                               \
	X(WE_DIED, "died", "the daemon, or the command that was to start it, has ended otherwise") \
	X(WE_FAILED, "failed", "a check says that it has failed, or is stalled")                   \
	X(WE_DEADLINE, "deadline", "the time that this state has is over")                         \
	X(WE_START, "start", "verdict: start it again")                                            \
	X(WE_MEND, "mend", "verdict: have it mended first")                                        \
	X(WE_GIVE_UP, "give up", "verdict: a person is needed")                                    \
	X(WE_MENDED, "mended", "the remediation has ended")                                        \
	X(WE_INTERRUPT, "interrupt", "it was asked to end")                                        \
	X(WE_AGAIN, "again", "it was asked to end once more: at once")

#define WATCH_ACTIONS(X)                                                                       \
	X(WA_NEVER, "-", "cannot be; nothing")                                                 \
	X(WA_NOTHING, "nothing", "nothing")                                                    \
	X(WA_LOOK, "look",                                                                     \
			"looks for a remediation or a daemon that runs: underway, found, "     \
			"absent")                                                              \
	X(WA_ADOPT, "adopt", "watches the daemon that it found")                               \
	X(WA_START, "start", "starts the daemon by the shell, and sets its time to register")  \
	X(WA_REGISTER, "register", "watches the daemon that it started")                       \
	X(WA_CHECK, "check", "reads the heartbeat, and says failed when it must")              \
	X(WA_OVERDUE, "overdue", "calls it a failure, and terminates")                         \
	X(WA_TERMINATE, "terminate", "SIGTERM, and SIGCONT; sets the grace")                   \
	X(WA_KILL, "kill", "SIGKILL; sets a short time")                                       \
	X(WA_STUCK, "stuck", "gives up: the daemon cannot be ended")                           \
	X(WA_JUDGE, "judge",                                                                   \
			"kills what the start command left, and judges: start, mend, "         \
			"give up")                                                             \
	X(WA_WAIT, "wait", "kills what the start command left, and looks for the next daemon") \
	X(WA_REMEDY, "remedy", "begins a remediation, and sets its time")                      \
	X(WA_RESUME, "resume", "takes a remediation over, with the time that is left")         \
	X(WA_END_REMEDY, "end remedy", "SIGTERM to the remediation; sets a short time")        \
	X(WA_KILL_REMEDY, "kill remedy", "SIGKILL to all of the remediation: mended")          \
	X(WA_CONCLUDE, "conclude", "sees whether a person is asked for: give up; or looks")    \
	X(WA_GIVE_UP, "give up", "says why, and what to do")                                   \
	X(WA_LEAVE, "leave", "says that it ends")                                              \
	X(WA_QUIT, "quit", "leaves everything as it is")

#define MACHINE_ENUM(id, name, help) id,
enum watch_state { WATCH_STATES(MACHINE_ENUM) WS_COUNT };
enum watch_event { WATCH_EVENTS(MACHINE_ENUM) WE_COUNT };
enum watch_action { WATCH_ACTIONS(MACHINE_ENUM) WA_COUNT };
#undef MACHINE_ENUM

struct watch_step {
	bool written; /* so that a test can tell a pair that was forgotten */
	enum watch_action action;
	enum watch_state next;
};

const struct watch_step *machine_step(enum watch_state s, enum watch_event e);
const char *watch_state_name(enum watch_state s);
/* The whole table for docs/watch.md. */
void machine_markdown(struct buf *out);
void machine_dot(struct buf *out); /* without what is nothing */
