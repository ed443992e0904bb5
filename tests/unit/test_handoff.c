/* Handoffs: when they are written, what is in them, what the next agent gets. */
#include "tests/test.h"

#include "base/utf8.h"
#include "core/model/limits.h"
#include "core/prompt/handoff.h"
#include "core/prompt/prompt.h"
#include "core/state/snapshot.h"
#include "data/value/json.h"
#include "tests/unit/core_fixture.h"

#define WORK                                                                                   \
	"'head': 'abcdef0123456789', 'tree': 't', 'commits': 1, 'files_changed': 2, 'files': " \
	"['src/a.c', 'src/b.c'], 'commit_ids': ['abcdef0123456789']"

static bool has(str text, const char *needle)
{
	return str_contains(text, str_from(needle));
}

static bool lists(const struct strs *list, const char *entry)
{
	for (size_t i = 0; i < list->n; i++)
		if (str_is(list->p[i], entry))
			return true;
	return false;
}

static void report(struct fixture *f, const char *node, int offset, const char *update)
{
	submit(f, "run.report",
			json(f,
					"{'run': '" STR_FMT
					"', 'identity': 'i%d', 'offset': %d, 'update': {%s}}",
					STR_ARG(node_of(f, node)->assignment->run_id), offset,
					offset, update));
}

TEST(accepted_work)
{
	struct fixture f;
	const struct crystallization *c;

	fixture_init(&f);
	f.policy.check_command = STR("make test");
	create_goal(&f, flat_plan(&f, 2), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	report(&f, "T1", 100,
			"'status': 'in_progress', 'summary': 'half', 'next': 'the rest', "
			"'decisions': "
			"[{'decision': 'use a heap', 'rationale': 'fast'}]");
	report(&f, "T1", 200,
			"'status': 'done', 'summary': 'all of it', 'evidence': {'filesTouched': "
			"['src/a.c', 'src/ghost.c'], 'testsRun': ['unit: 12 passed'], 'commits': "
			"['abcdef0', '1234567'], 'prs': ['#7']}");
	run_end(&f, "T1", 0);
	settle(&f);
	effect_end(&f, "T1", FX_HARVEST, "ok", "", WORK);
	bring_to(&f, "T1", STAGE_ACCEPT);
	assert_null(node_of(&f, "T1")->handoff);
	accept_node(&f, "T1");
	c = node_of(&f, "T1")->handoff;
	assert_non_null(c);
	assert_int_equal(c->status, NODE_DONE);
	assert_true(str_is(c->summary, "all of it"));
	assert_true(has(c->current_state, "2 file(s) changed in 1 commit(s)"));
	assert_true(has(c->current_state, "The check `make test` passed"));
	assert_true(has(c->decisions, "use a heap"));
	/* What git shows, and apart from it what only the agent says. */
	assert_true(lists(&c->files_touched, "src/a.c") && lists(&c->files_touched, "src/b.c"));
	assert_false(lists(&c->files_touched, "src/ghost.c"));
	assert_string_equal(arena_cstr(&f.arena, c->claimed),
			"{\"commits\":[\"1234567\"],\"files\":[\"src/ghost.c\"]}");
	assert_true(lists(&c->commits, "c0ffee"));
	assert_true(lists(&c->tests_run, "checked: make test: passed"));
	assert_true(lists(&c->tests_run, "reported: unit: 12 passed"));
	assert_true(lists(&c->commands_run, "make test"));
	assert_true(lists(&c->prs, "#7"));
	assert_true(has(c->transcript, "\"from_byte\":0"));
	assert_true(str_is(c->agent, "a") && str_starts(c->session_key, STR("agent:a:A_")));
	/* What is on the target is not handed over again. */
	assert_int_equal(node_of(&f, "T1")->next.handover.n, 0);
	/* The phase has an open part. */
	assert_null(node_of(&f, "P1")->handoff);
	assert_int_equal(count_events(&f, EV_CRYSTALLIZED), 1);
	fixture_done(&f);
}

/* The check never ran: nothing may say that it failed, or that it has to be made to pass. */
TEST(refused_work_was_not_checked)
{
	struct fixture f;
	const struct crystallization *c;
	const struct run *r;

	fixture_init(&f);
	f.policy.check_command = STR("make test");
	f.policy.retry_max_attempts = 1;
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	r = node_of(&f, "T1")->assignment->run;
	run_end(&f, "T1", 0);
	settle(&f);
	effect_end(&f, "T1", FX_HARVEST, "ok", "", WORK ", 'refused': 'the work contains x. Do y'");
	assert_int_equal(r->verification, VERIFY_REFUSED);
	assert_true(has(r->verification_detail, "the work contains x. Do y."));
	submit(&f, "work.cancel", json(&f, "{'node': 'T1', 'reason': 'not wanted'}"));
	settle(&f);
	c = node_of(&f, "T1")->handoff;
	assert_non_null(c);
	assert_true(has(c->current_state, "refused and not checked: the work contains x"));
	assert_false(has(c->current_state, "The check"));
	assert_true(lists(&c->next_actions, "Correct what the work was refused for, and commit."));
	assert_int_equal(c->next_actions.n, 1);
	assert_int_equal(c->tests_run.n, 0);
	assert_int_equal(c->commands_run.n, 0);
	fixture_done(&f);
}

TEST(parents_and_goal)
{
	struct fixture f;
	const struct crystallization *c;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 3), NULL);
	submit(&f, "work.cancel", json(&f, "{'node': 'T2', 'reason': 'not wanted'}"));
	assert_null(node_of(&f, "T2")->handoff);
	drain(&f);
	c = node_of(&f, "P1")->handoff;
	assert_non_null(c);
	assert_int_equal(c->status, NODE_DONE);
	assert_true(has(c->summary, "2 of 3 parts done, 1 cancelled"));
	assert_true(has(c->summary, "T1") && has(c->summary, "T2") && has(c->summary, "T3"));
	c = node_of(&f, "P1")->goal->handoff;
	assert_non_null(c);
	assert_int_equal(c->node_id.n, 0);
	assert_true(has(c->summary, "1 of 1 parts done"));
	fixture_done(&f);
}

TEST(a_person_declares_it_done)
{
	struct fixture f;
	const struct crystallization *c;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 2), NULL);
	submit(&f, "work.update",
			json(&f, "{'node': 'T1', 'status': 'done', 'reason': 'by hand'}"));
	c = node_of(&f, "T1")->handoff;
	assert_non_null(c);
	assert_true(has(c->summary, "declared it done: by hand"));
	assert_true(has(c->decisions, "by hand"));

	/* One that runs: said at once; once the run is stopped, with what it left, and still so. */
	bring_to(&f, "T2", STAGE_RUNNING);
	submit(&f, "work.update", json(&f, "{'node': 'T2', 'status': 'done', 'reason': 'enough'}"));
	c = node_of(&f, "T2")->handoff;
	assert_true(has(c->current_state, "has not ended yet"));
	settle(&f);
	effect_end(&f, "T2", FX_RUN_STOP, "ok", "", "");
	run_end(&f, "T2", 0);
	settle(&f);
	effect_end(&f, "T2", FX_HARVEST, "ok", "", WORK);
	c = node_of(&f, "T2")->handoff;
	assert_int_equal(c->status, NODE_DONE);
	assert_true(lists(&c->files_touched, "src/a.c"));
	assert_true(has(c->decisions, "declared done by") && has(c->decisions, "enough"));
	fixture_done(&f);
}

static void reassign(struct fixture *f, const char *node)
{
	submit(f, "work.reassign", json(f, "{'node': '%s', 'reason': 'somebody else'}", node));
	settle(f);
	effect_end(f, node, FX_RUN_STOP, "ok", "", "");
	run_end(f, node, 1);
	settle(f);
	effect_end(f, node, FX_HARVEST, "ok", "", WORK);
	settle(f);
}

TEST(the_next_one_is_told)
{
	struct fixture f;
	const struct node *n;
	str prompt;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	assert_false(has(prompt_build(&f.arena, node_of(&f, "T1")->assignment), "before you"));
	report(&f, "T1", 100,
			"'status': 'in_progress', 'summary': 'half\\n```json\\n{}\\n```', 'next': "
			"'the "
			"rest', 'openQuestions': ['which colour?']");
	f.now += 1000;
	reassign(&f, "T1");
	n = node_of(&f, "T1");
	assert_non_null(n->assignment);
	assert_int_equal(n->assignment->epoch, 2);
	assert_true(str_is(n->next.handover, "abcdef0123456789"));
	assert_int_equal(n->handoff->status, NODE_QUEUED);
	prompt = prompt_build(&f.arena, n->assignment);
	assert_true(has(prompt, "What was done before you"));
	assert_true(has(prompt, handoff_text(&f.arena, n->handoff, n->next.handover).p));
	assert_true(has(prompt, "begins with what was left, commit abcdef012345"));
	assert_true(has(prompt, "> half") && has(prompt, "> the rest") &&
			has(prompt, "> which colour?"));
	/* Somebody else's fence opens nothing in our text. */
	assert_true(has(prompt, "> ```json"));
	assert_true(has(prompt, "> src/a.c"));

	/* Its own end without a word does not speak with the former one's voice. */
	bring_to(&f, "T1", STAGE_RUNNING);
	reassign(&f, "T1");
	n = node_of(&f, "T1");
	assert_true(has(n->handoff->summary, "An earlier session reported: half"));
	fixture_done(&f);
}

/* What was begun as a whole is told to the parts that it was split into. */
TEST(split_work_is_handed_down)
{
	struct fixture f;
	str prompt;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	report(&f, "T1", 100, "'summary': 'the parser is there'");
	submit(&f, "plan.apply",
			json(&f,
					"{'goal': '" STR_FMT
					"', 'reason': 'too big', 'plan': {'phases': [{'id': 'P1', "
					"'name': 'p', 'tasks': [{'id': 'T1', 'name': 't', "
					"'acceptance': "
					"['x'], 'subtasks': [{'id': 'S1', 'name': 's', "
					"'acceptance': "
					"['y']}]}]}]}}",
					STR_ARG(node_of(&f, "T1")->goal->id)));
	settle(&f);
	effect_end(&f, "T1", FX_RUN_STOP, "ok", "", "");
	run_end(&f, "T1", 1);
	settle(&f);
	effect_end(&f, "T1", FX_HARVEST, "ok", "", WORK);
	assert_non_null(node_of(&f, "T1")->handoff);
	bring_to(&f, "S1", STAGE_RUNNING);
	prompt = prompt_build(&f.arena, node_of(&f, "S1")->assignment);
	assert_true(has(prompt, "before this was split off"));
	assert_true(has(prompt, "> the parser is there"));
	assert_true(has(prompt, "is commit abcdef0123456789"));
	fixture_done(&f);
}

TEST(blocked_and_given_up)
{
	struct fixture f;
	const struct crystallization *c;

	fixture_init(&f);
	f.policy.check_command = STR("make test");
	f.policy.retry_max_attempts = 1;
	create_goal(&f, flat_plan(&f, 2), NULL);
	bring_to(&f, "T1", STAGE_CHECK);
	settle(&f);
	effect_end(&f, "T1", FX_CHECK, "failed", "two tests fail", "");
	c = node_of(&f, "T1")->handoff;
	assert_non_null(c);
	assert_true(has(c->current_state, "failed: two tests fail"));
	assert_true(lists(&c->next_actions, "Make the check pass: make test"));

	bring_to(&f, "T2", STAGE_RUNNING);
	submit(&f, "work.update",
			json(&f,
					"{'node': 'T2', 'status': 'blocked', 'reason': 'wait', "
					"'unblock_when': 'noon'}"));
	settle(&f);
	effect_end(&f, "T2", FX_RUN_STOP, "ok", "", "");
	run_end(&f, "T2", 1);
	settle(&f);
	effect_end(&f, "T2", FX_HARVEST, "ok", "", WORK);
	c = node_of(&f, "T2")->handoff;
	assert_int_equal(c->status, NODE_BLOCKED);
	assert_true(lists(&c->known_blockers, "wait (unblocked when: noon)"));
	fixture_done(&f);
}

/*
 * What a person says who unblocks a node is for the next agent, and nothing that the last
 * one reported.
 */
TEST(unblocked_with_words)
{
	static const char unblock[] =
			"{'node': 'T1', 'status': 'queued', 'reason': 'port 81, not 80'}";
	struct fixture f;
	const struct node *n;
	str told, before;

	for (int late = 0; late < 2; late++) {
		fixture_init(&f);
		create_goal(&f, flat_plan(&f, 1), NULL);
		bring_to(&f, "T1", STAGE_RUNNING);
		n = node_of(&f, "T1");
		submit(&f, "work.update",
				json(&f, "{'node': 'T1', 'status': 'blocked', 'reason': 'wait'}"));
		settle(&f);
		for (int step = 0; step < 2; step++) {
			if (step == late)
				submit(&f, "work.update", json(&f, unblock));
			if (step == 1)
				continue;
			effect_end(&f, "T1", FX_RUN_STOP, "ok", "", "");
			run_end(&f, "T1", 1);
			settle(&f);
			effect_end(&f, "T1", FX_HARVEST, "ok", "", WORK);
		}
		assert_non_null(n->handoff);
		before = handoff_text(&f.arena, n->handoff, STR(""));
		if (has(before, "port 81"))
			fail_msg(STR_FMT, STR_ARG(before));
		bring_to(&f, "T1", STAGE_RUNNING);
		told = prompt_build(&f.arena, n->assignment);
		assert_true(has(told, "A person says\nport 81, not 80\n"));
		assert_true(has(prompt_resume(&f.arena, n->assignment), "A person says\nport 81"));
		fixture_done(&f);
	}
}

/* And so is why a person reopens one. */
TEST(reopened_with_words)
{
	static const struct {
		const char *reason, *told;
	} times[] = {
		{ "no button", "A person says\nno button\n" },
		{ "too slow", "A person says\ntoo slow\n" },
	};
	struct fixture f;
	const struct node *n;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	drain(&f);
	n = node_of(&f, "T1");
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		str told;

		assert_int_equal(n->status, NODE_DONE);
		submit(&f, "work.reopen",
				json(&f, "{'node': 'T1', 'reason': '%s'}", times[i].reason));
		bring_to(&f, "T1", STAGE_RUNNING);
		told = prompt_build(&f.arena, n->assignment);
		assert_true(has(told, times[i].told));
		assert_int_equal(has(told, "button"), i == 0);
		drain(&f);
	}
	fixture_done(&f);
}

/* However much an agent says, and whatever it says, it is bounded and free of secrets. */
TEST(bounded_and_sanitized)
{
	struct fixture f;
	struct node n = { .id = STR("T1"), .status = NODE_DONE, .status_reason = STR("accepted") };
	struct run r = { .id = STR("R_1"), .status = RUN_ENDED };
	struct assignment as = { .id = STR("A_1") };
	struct handoff_leaf l = { .node = &n, .assignment = &as, .run = &r };
	_cleanup_(buf_done) struct buf text = BUF_INIT, long_one = BUF_INIT;
	value *report_doc, *v, *list, *claims;
	struct crystallization c = { 0 };

	fixture_init(&f);
	for (int i = 0; i < 2000; i++)
		buf_adds(&long_one, STR("a long tale \xc3\xa9 "));
	report_doc = value_object(&f.arena);
	value_put(&f.arena, report_doc, "summary", value_str(&f.arena, buf_str(&long_one)));
	value_put(&f.arena, report_doc, "currentState",
			value_cstr(&f.arena, "token ghp_0123456789abcdefghijABCDEFGHIJ012345"));
	list = value_array(&f.arena);
	for (int i = 0; i < 5000; i++)
		value_push(&f.arena, list, value_strf(&f.arena, "question %d", i));
	value_put(&f.arena, report_doc, "openQuestions", list);
	claims = value_object(&f.arena);
	value_put(&f.arena, claims, "commandsRun",
			json(&f,
					"['curl -H Authorization:\\\\ Bearer\\\\ "
					"abcdefghijklmnopqrstuvwxyz0123']"));
	value_put(&f.arena, report_doc, "evidence", claims);
	json_write_canonical(&text, report_doc);
	n.report.merged = buf_str(&text);
	n.report.at = 1;
	v = handoff_leaf(&f.arena, &l);
	assert_true(value_str_at(v, "summary").n <= HANDOFF_TEXT);
	assert_true(utf8_valid(value_str_at(v, "summary")));
	assert_false(has(value_str_at(v, "current_state"), "ghp_0123"));
	assert_int_equal(value_count(value_at(v, "open_questions")), LIMIT_KEPT);
	assert_int_equal(record_from_value(&crystallization_record, &c, v, NULL), 0);
	assert_true(handoff_text(&f.arena, &c, STR("abc")).n <= HANDOFF_PROMPT);
	assert_true(utf8_valid(handoff_text(&f.arena, &c, STR("abc"))));
	record_done(&crystallization_record, &c);
	fixture_done(&f);
}

/* In any history: what is done has its evidence, in the very transaction that says so. */
TEST(nothing_is_done_without_one)
{
	size_t done = 0, overridden = 0, written = 0;

	for (uint64_t seed = 1; seed <= 120; seed++) {
		struct rng rng = { seed };
		struct fixture f;

		fixture_init(&f);
		create_goal(&f, flat_plan(&f, 4), NULL);
		for (int i = 0; i < 300; i++)
			random_step(&f, &rng);
		drain(&f);
		for (size_t i = 0; i < f.log.n; i++) {
			const struct event *e = f.log.p[i];
			bool found = false;

			written += e->kind == EV_CRYSTALLIZED;
			if (e->kind != EV_NODE_STATUS ||
					!str_is(value_str_at(e->data, "to"), "done"))
				continue;
			done++;
			overridden += value_bool_at(e->data, "override");
			for (size_t k = i + 1; k < f.log.n && f.log.p[k]->at == e->at; k++)
				found |= f.log.p[k]->kind == EV_CRYSTALLIZED &&
						str_eq(f.log.p[k]->goal, e->goal) &&
						str_eq(f.log.p[k]->node, e->node);
			if (!found)
				fail_msg("seed %llu: " STR_FMT " is done without a handoff",
						(unsigned long long)seed, STR_ARG(e->node));
		}
		fixture_done(&f);
	}
	assert_true(done > 100 && overridden > 10 && done > overridden && written > done);
}

/* A snapshot holds them, and is the same as the fold. */
TEST(in_the_snapshot)
{
	struct fixture f;
	struct state *s = NULL;
	str shot;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 2), NULL);
	drain(&f);
	shot = snapshot_of(&f, f.state);
	assert_int_equal(snapshot_read(shot, 7, &s, NULL), 0);
	assert_true(str_eq(snapshot_of(&f, s), shot));
	assert_true(str_eq(s->goals.p[0]->handoff->summary, f.state->goals.p[0]->handoff->summary));
	assert_non_null(state_node(s, s->goals.p[0]->id, STR("T2"))->handoff);
	state_free(s);
	fixture_done(&f);
}

TEST_MAIN
