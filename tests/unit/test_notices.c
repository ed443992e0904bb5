#include "tests/test.h"

#include "base/vec.h"
#include "core/decide/alarm.h"
#include "core/inbox/notices.h"
#include "core/state/snapshot.h"
#include "tests/unit/core_fixture.h"

/* ---- what is asked for ---- */

static void raise_it(struct decide_ctx *cx, void *arg)
{
	alarm_raise(cx, arg);
}

static void raise_alarm(struct fixture *f, enum urgency urgency, const char *fingerprint)
{
	struct alarm x = { .urgency = urgency,
		.fingerprint = str_from(fingerprint),
		.subject = STR("stuck: the same error 4 times\nand more") };

	decide_by(f, raise_it, &x);
}

/* Those two are of interventions, which raise an alarm of their own. */
static void ask_it(struct decide_ctx *cx, void *arg)
{
	const char *kind = arg;
	struct subject none = { 0 };
	bool answered = strcmp(kind, "paused") == 0 || strcmp(kind, "aborted") == 0;

	escalate_about(cx, cx->state->goals.n ? about_goal(cx->state->goals.p[0]) : none,
			&(struct escalation_spec){
					.ask = (enum ask)status_parse(&ask_kinds, str_from(kind)),
					.question = STR("what now?"),
					.detection = answered ? STR("V_1") : STR(""),
					.fingerprint = answered ? STR("of the detection")
								: STR("") });
}

static int64_t ask(struct fixture *f, const char *kind)
{
	decide_by(f, ask_it, (void *)kind);
	return vec_last(&f->state->escalations)->number;
}

/* The newest notice of a channel, or NULL. */
static struct notice *newest(const struct fixture *f, const char *channel)
{
	for (size_t i = f->state->notices.n; i-- > 0;)
		if (str_is(f->state->notices.p[i]->channel, channel))
			return f->state->notices.p[i];
	return NULL;
}

static size_t open_count(const struct fixture *f)
{
	size_t n = 0;

	list_each (it, &f->state->effects)
		n += list_entry(it, struct effect, link)->kind == FX_NOTIFY;
	return n;
}

static void end_attempt(struct fixture *f, struct notice *x, const char *outcome, const char *data)
{
	assert_non_null(x->effect);
	submit(f, "effect.end",
			json(f,
					"{'effect': '" STR_FMT
					"', 'outcome': '%s', 'detail': 'no route', 'data': {%s}}",
					STR_ARG(x->effect->id), outcome, data));
	assert_null(x->effect);
}

static void init(struct fixture *f)
{
	fixture_init(f);
	fixture_channels(f);
}

/* What the state is, written and read again. */
static void check_snapshot(struct fixture *f)
{
	struct state *s = NULL;
	str shot = snapshot_of(f, f->state);

	assert_int_equal(snapshot_read(shot, 1, &s, NULL), 0);
	assert_true(str_eq(snapshot_of(f, s), shot));
	check_invariants(s, &f->policy);
	state_free(s);
}

/* ---- who is told ---- */

TEST(urgencies_by_level)
{
	static const struct {
		enum level level;
		enum severity severity;
		enum urgency urgency;
		bool alone; /* wanted even without escalation.auto */
	} rows[] = {
		{ LEVEL_LOG, SEVERITY_CRITICAL, URGENCY_INFO, false },
		{ LEVEL_WARN, SEVERITY_HIGH, URGENCY_INFO, false },
		{ LEVEL_REDIRECT, SEVERITY_MEDIUM, URGENCY_WARNING, false },
		{ LEVEL_REDIRECT, SEVERITY_HIGH, URGENCY_WARNING, false },
		{ LEVEL_REDIRECT, SEVERITY_CRITICAL, URGENCY_CRITICAL, false },
		{ LEVEL_PAUSE, SEVERITY_LOW, URGENCY_CRITICAL, false },
		{ LEVEL_ABORT, SEVERITY_LOW, URGENCY_EMERGENCY, true },
	};
	struct policy p = { .notify = true };

	assert_false(alarm_wanted(&p, LEVEL_NONE));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(urgency_of(rows[i].level, rows[i].severity), rows[i].urgency);
		p.notify = true;
		assert_true(alarm_wanted(&p, rows[i].level));
		p.notify = false;
		assert_int_equal(alarm_wanted(&p, rows[i].level), rows[i].alone);
	}
}

TEST(routes_by_name_and_type)
{
	static const struct {
		enum urgency urgency;
		const char *told;
	} rows[] = {
		{ URGENCY_INFO, "" },
		{ URGENCY_WARNING, "desktop " },
		{ URGENCY_CRITICAL, "desktop tracker " },
		{ URGENCY_EMERGENCY, "desktop tracker hook " },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fixture f;
		struct buf told = BUF_INIT;

		init(&f);
		raise_alarm(&f, rows[i].urgency, "fp");
		for (size_t k = 0; k < f.state->notices.n; k++) {
			const struct notice *x = f.state->notices.p[k];

			buf_addf(&told, STR_FMT " ", STR_ARG(x->channel));
			assert_true(str_is(x->subject, "stuck: the same error 4 times"));
			assert_int_equal(x->urgency, rows[i].urgency);
			assert_int_equal(x->status, NOTICE_WAITING);
		}
		assert_string_equal(buf_cstr(&told), rows[i].told);
		check_snapshot(&f);
		buf_done(&told);
		fixture_done(&f);
	}
}

TEST(only_emergencies_without_auto)
{
	struct fixture f;

	init(&f);
	f.policy.notify = false;
	raise_alarm(&f, URGENCY_CRITICAL, "fp");
	ask(&f, "login");
	assert_int_equal(f.state->notices.n, 0);
	raise_alarm(&f, URGENCY_EMERGENCY, "fp");
	assert_int_equal(f.state->notices.n, 3);
	fixture_done(&f);
}

TEST(entries_of_the_inbox)
{
	static const struct {
		const char *kind;
		size_t told;
	} rows[] = { { "question", 1 }, { "login", 2 }, { "outage", 2 }, { "auto", 2 },
		{ "paused", 0 }, { "aborted", 0 } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fixture f;
		int64_t number;

		init(&f);
		number = ask(&f, rows[i].kind);
		assert_int_equal(f.state->notices.n, rows[i].told);
		if (rows[i].told) {
			assert_int_equal(newest(&f, "desktop")->escalation, number);
			assert_true(str_is(newest(&f, "desktop")->subject, "what now?"));
		}
		fixture_done(&f);
	}
}

TEST(the_same_alarm_waits_once)
{
	struct fixture f;

	init(&f);
	raise_alarm(&f, URGENCY_WARNING, "fp");
	raise_alarm(&f, URGENCY_WARNING, "fp");
	assert_int_equal(f.state->notices.n, 1);
	raise_alarm(&f, URGENCY_WARNING, "other");
	assert_int_equal(f.state->notices.n, 2);
	/* What is more urgent does not wait for what is less so. */
	raise_alarm(&f, URGENCY_CRITICAL, "fp");
	assert_int_equal(f.state->notices.n, 4);
	settle(&f);
	assert_int_equal(open_count(&f), 4);
	end_attempt(&f, newest(&f, "tracker"), "ok", "'ref': '12'");
	/* The first was sent, so that the next is news. */
	raise_alarm(&f, URGENCY_CRITICAL, "fp");
	assert_int_equal(f.state->notices.n, 5);
	assert_true(str_is(f.state->notices.p[3]->ref, "12"));
	fixture_done(&f);
}

TEST(secrets_are_not_told)
{
	struct fixture f;
	struct alarm x = { .urgency = URGENCY_WARNING,
		.fingerprint = STR("fp"),
		.subject = STR("login failed: ghp_0123456789abcdefghijklmnopqrstuvwxyz"
			       "\nsecond line") };

	init(&f);
	decide_by(&f, raise_it, &x);
	assert_non_null(newest(&f, "desktop"));
	assert_false(str_contains(newest(&f, "desktop")->subject, STR("0123456789abcdef")));
	assert_false(str_contains(newest(&f, "desktop")->subject, STR("second")));
	fixture_done(&f);
}

/* ---- attempts ---- */

TEST(backoff_doubles_to_a_bound)
{
	static const ov_time waits[] = { 1, 2, 4, 8, 16, 32, 60, 60, 60 };
	struct policy p = { .notice_retry = OV_MINUTE, .notice_retry_max = OV_HOUR };

	for (size_t i = 0; i < ARRAY_LEN(waits); i++)
		assert_int_equal(notice_backoff(&p, (int64_t)i + 1), waits[i] * OV_MINUTE);
	assert_int_equal(notice_backoff(&p, INT64_MAX), OV_HOUR);
	p.notice_retry = 2 * OV_HOUR;
	assert_int_equal(notice_backoff(&p, 1), OV_HOUR);
}

TEST(tried_until_it_is_given_up)
{
	static const ov_time waits[] = { OV_MINUTE, 2 * OV_MINUTE, 4 * OV_MINUTE };
	struct fixture f;
	struct notice *x;

	init(&f);
	raise_alarm(&f, URGENCY_WARNING, "fp");
	x = newest(&f, "desktop");
	for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
		settle(&f);
		end_attempt(&f, x, "error", "");
		assert_int_equal(x->status, NOTICE_WAITING);
		assert_int_equal(x->attempts, i + 1);
		assert_true(str_is(x->error, "no route"));
		settle(&f);
		assert_null(x->effect);
		assert_int_equal(f.wake_at, f.now + waits[i]);
		check_snapshot(&f);
		f.now = f.wake_at;
	}
	settle(&f);
	check_snapshot(&f);
	end_attempt(&f, x, "error", "");
	assert_int_equal(x->status, NOTICE_FAILED);
	assert_int_equal(x->settled_at, f.now);
	settle(&f);
	assert_int_equal(f.wake_at, OV_TIME_MAX);
	assert_int_equal(count_events(&f, EV_NOTICE_TRIED), 4);
	/* A person may have mended what was wrong. */
	f.now += OV_DAY;
	submit(&f, "notice.retry", json(&f, "{'notice': '" STR_FMT "'}", STR_ARG(x->id)));
	settle(&f);
	end_attempt(&f, x, "ok", "'ref': 'r'");
	assert_int_equal(x->status, NOTICE_SENT);
	assert_int_equal(x->attempts, 1);
	assert_int_equal(x->error.n, 0);
	refused(&f, "notice.retry", json(&f, "{'notice': '" STR_FMT "'}", STR_ARG(x->id)),
			OV_ESTATE);
	refused(&f, "notice.retry", json(&f, "{'notice': 'N_x'}"), OV_ENOTFOUND);
	fixture_done(&f);
}

TEST(what_cannot_be_helped_is_not_tried_again)
{
	struct fixture f;
	struct notice *x;

	init(&f);
	raise_alarm(&f, URGENCY_EMERGENCY, "fp");
	settle(&f);
	x = newest(&f, "tracker");
	end_attempt(&f, x, "error", "'permanent': true");
	assert_int_equal(x->status, NOTICE_FAILED);
	assert_int_equal(x->attempts, 1);
	/* The others go all the same. */
	end_attempt(&f, newest(&f, "desktop"), "ok", "");
	end_attempt(&f, newest(&f, "hook"), "error", "'retry_after_ms': 600000");
	assert_int_equal(newest(&f, "desktop")->status, NOTICE_SENT);
	assert_int_equal(newest(&f, "hook")->not_before, f.now + 10 * OV_MINUTE);
	fixture_done(&f);
}

TEST(an_outcome_that_is_told_twice)
{
	struct fixture f;
	struct notice *x;
	str effect;

	init(&f);
	raise_alarm(&f, URGENCY_WARNING, "fp");
	settle(&f);
	x = newest(&f, "desktop");
	effect = arena_str(&f.arena, x->effect->id);
	end_attempt(&f, x, "ok", "");
	submit(&f, "effect.end",
			json(&f, "{'effect': '" STR_FMT "', 'outcome': 'error'}", STR_ARG(effect)));
	assert_int_equal(x->status, NOTICE_SENT);
	assert_int_equal(count_events(&f, EV_NOTICE_TRIED), 1);
	fixture_done(&f);
}

/* ---- when not ---- */

TEST(quiet_hours_hold_all_but_emergencies)
{
	struct fixture f;
	ov_time midnight;

	init(&f);
	midnight = f.now - f.now % OV_DAY;
	f.now = midnight + 2 * OV_HOUR;
	f.policy.quiet_from = 22 * 60;
	f.policy.quiet_to = 7 * 60;
	raise_alarm(&f, URGENCY_CRITICAL, "fp");
	settle(&f);
	assert_int_equal(open_count(&f), 0);
	assert_int_equal(newest(&f, "desktop")->not_before, midnight + 7 * OV_HOUR);
	assert_int_equal(f.wake_at, midnight + 7 * OV_HOUR);
	raise_alarm(&f, URGENCY_EMERGENCY, "worse");
	settle(&f);
	assert_int_equal(open_count(&f), 3);
	while (open_count(&f))
		end_attempt(&f,
				state_notice(f.state,
						list_entry(f.state->effects.next, struct effect,
								link)
								->purpose),
				"ok", "");
	f.now = midnight + 7 * OV_HOUR;
	settle(&f);
	assert_int_equal(open_count(&f), 2);
	fixture_done(&f);
}

TEST(a_few_at_a_time_the_most_urgent_first)
{
	struct fixture f;

	init(&f);
	for (int i = 0; i < 6; i++)
		raise_alarm(&f, URGENCY_WARNING,
				arena_cstr(&f.arena, arena_printf(&f.arena, "fp%d", i)));
	raise_alarm(&f, URGENCY_CRITICAL, "late");
	settle(&f);
	assert_int_equal(open_count(&f), NOTICES_OPEN + 1);
	assert_non_null(newest(&f, "desktop")->effect);
	assert_non_null(newest(&f, "tracker")->effect);
	check_snapshot(&f);
	end_attempt(&f, newest(&f, "desktop"), "ok", "");
	settle(&f);
	assert_int_equal(open_count(&f), NOTICES_OPEN + 1);
	fixture_done(&f);
}

/* Sends whatever may go now. */
static void send_all(struct fixture *f)
{
	for (settle(f); open_count(f); settle(f))
		end_attempt(f,
				state_notice(f->state,
						list_entry(f->state->effects.next, struct effect,
								link)
								->purpose),
				"ok", "");
}

static size_t count_status(const struct fixture *f, enum notice_status status)
{
	size_t n = 0;

	for (size_t i = 0; i < f->state->notices.n; i++)
		n += f->state->notices.p[i]->status == status;
	return n;
}

TEST(not_too_many_an_hour)
{
	struct fixture f;
	ov_time first;

	init(&f);
	first = f.now;
	for (int i = 0; i < 25; i++)
		raise_alarm(&f, URGENCY_WARNING,
				arena_cstr(&f.arena, arena_printf(&f.arena, "fp%d", i)));
	send_all(&f);
	assert_int_equal(count_status(&f, NOTICE_SENT), 20);
	assert_int_equal(f.wake_at, first + OV_HOUR);
	raise_alarm(&f, URGENCY_EMERGENCY, "worse");
	send_all(&f);
	assert_int_equal(count_status(&f, NOTICE_SENT), 23);
	f.now = first + OV_HOUR;
	send_all(&f);
	assert_int_equal(count_status(&f, NOTICE_SENT), 28);
	assert_int_equal(f.wake_at, OV_TIME_MAX);
	fixture_done(&f);
}

/* A dead channel and a storm of questions: what is not opened is said to have failed. */
TEST(what_waits_is_bounded)
{
	struct fixture f;

	init(&f);
	for (int i = 0; i < NOTICES_WAITING + 10; i++)
		raise_alarm(&f, URGENCY_WARNING,
				arena_cstr(&f.arena, arena_printf(&f.arena, "fp%d", i)));
	assert_int_equal(count_status(&f, NOTICE_WAITING), NOTICES_WAITING);
	assert_int_equal(count_status(&f, NOTICE_FAILED), 10);
	assert_non_null(strstr(arena_cstr(&f.arena, newest(&f, "desktop")->error), "wait"));
	/* It leaves room for what is more urgent. */
	raise_alarm(&f, URGENCY_CRITICAL, "late");
	assert_int_equal(newest(&f, "desktop")->status, NOTICE_WAITING);
	check_snapshot(&f);
	fixture_done(&f);
}

TEST(settled_ones_are_kept_for_a_while)
{
	struct fixture f;

	init(&f);
	f.policy.notices_per_hour = 1000;
	for (int i = 0; i < LIMIT_KEPT + 50; i++) {
		raise_alarm(&f, URGENCY_WARNING, "fp");
		send_all(&f);
	}
	/* Of the last hour, by which the next are counted. */
	assert_int_equal(f.state->notices.n, LIMIT_KEPT + 50);
	f.now += OV_HOUR;
	raise_alarm(&f, URGENCY_WARNING, "fp");
	send_all(&f);
	assert_int_equal(f.state->notices.n, LIMIT_KEPT + 1);
	check_snapshot(&f);
	fixture_done(&f);
}

/* ---- no longer ---- */

TEST(what_is_settled_is_withdrawn)
{
	struct fixture f;
	struct notice *desktop, *tracker;
	int64_t number;

	init(&f);
	number = ask(&f, "login");
	settle(&f);
	desktop = newest(&f, "desktop");
	tracker = newest(&f, "tracker");
	end_attempt(&f, desktop, "error", "");
	submit(&f, "inbox.answer",
			json(&f, "{'number': %lld, 'answer': 'done'}", (long long)number));
	settle(&f);
	assert_int_equal(desktop->status, NOTICE_WITHDRAWN);
	assert_true(str_is(desktop->error, "no route"));
	refused(&f, "notice.retry", json(&f, "{'notice': '" STR_FMT "'}", STR_ARG(desktop->id)),
			OV_ESTATE);
	/* What was on its way arrives, or not; then nobody needs it any more. */
	assert_int_equal(tracker->status, NOTICE_WAITING);
	end_attempt(&f, tracker, "error", "");
	settle(&f);
	assert_int_equal(tracker->status, NOTICE_WITHDRAWN);
	assert_int_equal(f.wake_at, OV_TIME_MAX);
	assert_int_equal(count_events(&f, EV_NOTICE_WITHDRAWN), 2);
	check_snapshot(&f);
	fixture_done(&f);
}

/* Who put it off has heard of it; and hears of it again when it comes back. */
TEST(what_is_put_off_is_withdrawn)
{
	struct fixture f;
	struct event e = { .kind = EV_ESCALATION_SNOOZED };
	struct notice *x;
	ov_time until;

	init(&f);
	until = f.now + OV_HOUR;
	e.data = json(&f, "{'escalation': %lld, 'until_ms': %lld, 'reason': 'r'}",
			(long long)ask(&f, "outage"), (long long)until);
	x = newest(&f, "desktop");
	assert_int_equal(append(&f, &e, NULL), 0);
	settle(&f);
	assert_int_equal(x->status, NOTICE_WITHDRAWN);
	f.now += OV_HOUR;
	settle(&f);
	assert_ptr_not_equal(newest(&f, "desktop"), x);
	assert_int_equal(newest(&f, "desktop")->status, NOTICE_WAITING);
	assert_non_null(newest(&f, "desktop")->effect);
	fixture_done(&f);
}

TEST(a_channel_that_is_gone)
{
	struct fixture f;
	struct notice *x;

	init(&f);
	raise_alarm(&f, URGENCY_WARNING, "fp");
	x = newest(&f, "desktop");
	f.policy.channels_n = 0;
	settle(&f);
	assert_int_equal(x->status, NOTICE_FAILED);
	assert_int_equal(x->attempts, 0);
	assert_true(str_contains(x->error, STR("not configured")));
	fixture_done(&f);
}

TEST(reminders_tell_again)
{
	struct fixture f;
	const struct notice *first, *second;
	int64_t number;

	init(&f);
	number = ask(&f, "outage");
	send_all(&f);
	first = newest(&f, "tracker");
	assert_int_equal(first->status, NOTICE_SENT);
	f.now += f.policy.remind_after;
	settle(&f);
	assert_int_equal(state_escalation(f.state, number)->reminders, 1);
	second = newest(&f, "tracker");
	assert_ptr_not_equal(first, second);
	assert_true(str_eq(first->fingerprint, second->fingerprint));
	assert_int_equal(second->escalation, number);
	assert_int_equal(second->urgency, URGENCY_CRITICAL);
	fixture_done(&f);
}

/* One of an intervention is known by its detection. */
TEST(reminders_of_interventions)
{
	struct fixture f;
	struct alarm x = { .urgency = URGENCY_CRITICAL,
		.fingerprint = STR("of the detection"),
		.detection = STR("V_1"),
		.subject = STR("stuck") };

	init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	submit(&f, "goal.pause",
			json(&f, "{'goal': '" STR_FMT "'}", STR_ARG(f.state->goals.p[0]->id)));
	x.escalation = ask(&f, "paused");
	assert_int_equal(f.state->notices.n, 0);
	decide_by(&f, raise_it, &x);
	send_all(&f);
	f.now += f.policy.remind_after;
	settle(&f);
	assert_int_equal(f.state->notices.n, 4);
	assert_true(str_is(newest(&f, "tracker")->fingerprint, "of the detection"));
	assert_true(str_is(newest(&f, "tracker")->detection_id, "V_1"));
	fixture_done(&f);
}

/* ---- all of it ---- */

TEST(random_histories_fold_alike)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct rng rng = { seed };
		struct fixture f;
		struct state *s = state_new(1);

		init(&f);
		create_goal(&f, flat_plan(&f, 3), NULL);
		for (int i = 0; i < 300; i++) {
			const char *fps[] = { "a", "b", "c", "d", "e" };

			random_step(&f, &rng);
			if (rng_below(&rng, 8) == 0)
				raise_alarm(&f, (enum urgency)rng_below(&rng, URGENCY_COUNT),
						fps[rng_below(&rng, 5)]);
			check_invariants(f.state, &f.policy);
		}
		for (size_t i = 0; i < f.log.n; i++)
			assert_int_equal(apply(s, f.log.p[i], NULL), 0);
		assert_true(str_eq(snapshot_of(&f, s), snapshot_of(&f, f.state)));
		check_snapshot(&f);
		for (size_t i = 0; i < f.state->notices.n; i++) {
			const struct notice *x = f.state->notices.p[i];

			assert_true(x->attempts <= f.policy.notice_attempts);
			assert_int_equal(x->settled_at == 0, x->status == NOTICE_WAITING);
			assert_true(x->status != NOTICE_SENT || x->error.n == 0);
		}
		state_free(s);
		fixture_done(&f);
	}
}

TEST_MAIN
