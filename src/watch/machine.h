#pragma once
/*
 * The watchdog as a table: in each state, what each event makes it do and where that leads. Every pair
 * is written out, "nothing" too, so that none is forgotten; docs/watch.md draws the table. Pure: the
 * actions are names here, and main.c knows how to carry them out.
 *
 * An action that has to decide says so by an event of its own (WE_START, WE_MEND, WE_GIVE_UP), which
 * is handled at once; judge.h holds the rule.
 */
#include "base/ov.h"

#define WATCH_STATES(X)                                                                        \
	X(WS_LOOKING, "looking", "it looks for a daemon that runs already")                    \
	X(WS_STARTING, "starting", "the daemon was started, and is to register")               \
	X(WS_RUNNING, "running", "the daemon is up and is watched")                            \
	X(WS_TERMINATING, "terminating", "the daemon was asked to end")                        \
	X(WS_KILLING, "killing", "the daemon was killed, and its end is awaited")              \
	X(WS_JUDGING, "judging", "the daemon is gone: started again, mended, or given up?")    \
	X(WS_REMEDIATING, "remediating", "somebody is asked to mend it")                       \
	X(WS_ENDING, "ending", "the remediation is being ended")                               \
	X(WS_STOPPED, "stopped", "the daemon was stopped by request; the next one is awaited") \
	X(WS_LEAVING, "leaving", "it was asked to end, and so was the daemon")                 \
	X(WS_OVER, "over", "it ends")
#define WATCH_EVENTS(X)                                                                            \
	X(WE_FOUND, "found", "a live daemon is registered, other than the one that was known")     \
	X(WE_ABSENT, "absent", "none is")                                                          \
	X(WE_STOPPED, "stopped", "the daemon has ended, by request")                               \
	X(WE_DIED, "died", "the daemon, or the command that was to start it, has ended otherwise") \
	X(WE_FAILED, "failed", "a check says that it has failed, or is stalled")                   \
	X(WE_DEADLINE, "deadline", "the time that this state has is over")                         \
	X(WE_START, "start", "verdict: start it again")                                            \
	X(WE_MEND, "mend", "verdict: have it mended first")                                        \
	X(WE_GIVE_UP, "give_up", "verdict: a person is needed")                                    \
	X(WE_MENDED, "mended", "the remediation has ended")                                        \
	X(WE_INTERRUPT, "interrupt", "it was asked to end")                                        \
	X(WE_AGAIN, "again", "it was asked to end once more: at once")
