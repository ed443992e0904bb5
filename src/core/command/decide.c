#include "core/command/decide.h"

#include "base/str.h"
#include "core/answer/answer.h"
#include "core/command/command_impl.h"
#include "core/daemon/daemon.h"
#include "core/decide/alarm.h"
#include "core/decide/emit.h"
#include "core/flow/auto.h"
#include "core/flow/checkout.h"
#include "core/flow/flow.h"
#include "core/flow/target.h"
#include "core/flow/upkeep.h"
#include "core/goal/goal.h"
#include "core/intervene/aftermath.h"
#include "core/intervene/oversee.h"
#include "core/work/work.h"
#include "core/worker/worker.h"

static const struct command commands[] = {
	{ "goal.create", decide_goal_create },
	{ "goal.update", decide_goal_update },
	{ "goal.pause", decide_goal_pause },
	{ "goal.resume", decide_goal_resume },
	{ "goal.cancel", decide_goal_cancel },
	{ "goal.reopen", decide_goal_reopen },
	{ "goal.archive", decide_goal_archive },
	{ "plan.apply", decide_plan_apply },
	{ "planner.health", decide_planner_health },
	{ "work.update", decide_work_update },
	{ "work.cancel", decide_work_cancel },
	{ "work.reopen", decide_work_reopen },
	{ "work.reassign", decide_work_reassign },
	{ "work.rerun", decide_work_rerun },
	{ "work.nudge", decide_work_nudge },
	{ "work.scope", decide_work_scope },
	{ "run.stop", decide_run_stop },
	{ "queue.retry", decide_queue_retry },
	{ "queue.drop", decide_queue_drop },
	{ "worker.add", decide_worker_add },
	{ "worker.start", decide_worker_start },
	{ "worker.message", decide_worker_message },
	{ "worker.review", decide_worker_review },
	{ "worker.accept", decide_worker_accept },
	{ "worker.reject", decide_worker_reject },
	{ "worker.rebase", decide_worker_rebase },
	{ "worker.pick", decide_worker_pick },
	{ "worker.reset", decide_worker_reset },
	{ "worker.nuke", decide_worker_nuke },
	{ "inbox.answer", decide_inbox_answer },
	{ "inbox.approve", decide_inbox_approve },
	{ "inbox.deny", decide_inbox_deny },
	{ "inbox.snooze", decide_inbox_snooze },
	{ "inbox.dismiss", decide_inbox_dismiss },
	{ "notice.retry", decide_notice_retry },
	{ "effect.end", decide_effect_end },
	{ "run.session", decide_run_session },
	{ "run.frozen", decide_run_frozen },
	{ "run.end", decide_run_end },
	{ "run.report", decide_run_report },
	{ "dispatch.ack", decide_dispatch_ack },
	{ "radar.report", decide_conflict_report },
	{ "checkout.report", decide_checkout_report },
	{ "target.report", decide_target_report },
	{ "patrol.report", decide_upkeep_report },
	{ "daemon.start", decide_daemon_start },
	{ "daemon.stop", decide_daemon_stop },
	{ "daemon.fail", decide_daemon_fail },
	{ "daemon.clock", decide_daemon_clock },
	{ "daemon.contradicted", decide_daemon_contradicted },
	{ "watch.report", decide_watch_report },
	{ "auto.start", decide_auto_start },
	{ "auto.stop", decide_auto_stop },
};

const struct command *command_find(str name)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (str_is(name, commands[i].name))
			return &commands[i];
	return NULL;
}

int decide(struct decide_ctx *cx, str name, const value *params, value **ret_result,
		struct ov_err *err)
{
	const struct command *c = command_find(name);
	size_t before = cx->out->n;
	value *result = NULL;
	int r;

	assert(c);
	r = c->fn(cx, params, &result, err);
	if (r < 0) {
		cx->out->n = before;
		return r;
	}
	auto_recount(cx, before);
	aftermath_settle(cx, before);
	handoffs_write(cx, before);
	events_seal(cx, before);
	*ret_result = result ? result : value_object(cx->arena);
	return 0;
}
