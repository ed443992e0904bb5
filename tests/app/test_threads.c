#include "app/threads.h"

#include "base/duration.h"
#include "tests/app/session_files.h"

/* Ids that say when they were made, as Codex's do: at 2026-11-17T09:05Z. */
#define ID "01a1e8c0-b6e9-7b50-bc5d-c34b800e31b"
#define DAY "home/sessions/2026/11/17/"
#define USED(at, n)                                                                  \
	"{\"timestamp\":\"" at "\",\"payload\":{\"type\":\"token_count\",\"info\":{" \
	"\"total_token_usage\":{\"input_tokens\":" n "}}}}\n"
#define BEFORE "2001-01-01T00:00:00Z"
#define NOW "2999-01-01T00:00:00Z"

static int64_t input;

static void on_fact(void *user, const struct fact *f)
{
	(void)user;
	assert_true(f->child && f->thread.n && !f->usage_total);
	input += f->usage.input;
}

static struct threads *begin(bool resumed)
{
	input = 0;
	sessions_begin("sessions", DAY, STR(""), resumed);
	return threads_new(loop, at("run"), format_find(STR("codex")), true, on_fact, NULL);
}

static void thread(struct threads *t, const char *id)
{
	threads_fact(t, &(struct fact){ .kind = FACT_THREAD, .thread = str_from(id) });
}

static int64_t used(struct threads *t)
{
	threads_end(t, on_done, NULL);
	run_to_end();
	return input;
}

static void end(struct threads *t)
{
	threads_close(t);
	sessions_end();
}

TEST(what_sub_agents_use_is_told_once)
{
	struct threads *t = begin(false);

	thread(t, ID "1");
	thread(t, ID "1");
	thread(t, ID "2");
	thread(t, "../../../../private");
	thread(t, "*");
	/* Totals, which are never taken back; it may name another one. */
	put(DAY "rollout-x-" ID "1.jsonl",
			STR(USED(NOW, "100") USED(NOW, "300") USED(NOW, "200") USED(NOW,
					"350") "{\"payload\":{\"item\":{\"receiver_thread_ids\":["
					       "\"" ID "3\"]}}}\n"));
	put(DAY "rollout-x-" ID "2.jsonl", STR(USED(NOW, "1000")));
	put(DAY "rollout-x-" ID "3.jsonl", STR(USED(NOW, "10000")));
	put(DAY "rollout-x-" ID "4.jsonl", STR(USED(NOW, "7"))); /* nobody's */
	assert_int_equal(used(t), 11350);
	end(t);
}

TEST(what_was_used_before_the_run_is_not_its)
{
	struct threads *t = begin(true);

	put(DAY "rollout-x-" ID "1.jsonl", STR(USED(BEFORE, "100") USED(NOW, "150")));
	thread(t, ID "1");
	assert_int_equal(used(t), 50);
	end(t);
}

TEST(files_that_are_none_of_a_sub_agent)
{
	struct threads *t = begin(false);

	put("private", STR(USED(NOW, "5")));
	assert_int_equal(symlink(at("private"), at(DAY "rollout-x-" ID "1.jsonl")), 0);
	assert_int_equal(link(at("private"), at(DAY "rollout-x-" ID "2.jsonl")), 0);
	assert_int_equal(dir_make(at(DAY "rollout-x-" ID "3.jsonl"), 0700, NULL), 0);
	thread(t, ID "1");
	thread(t, ID "2");
	thread(t, ID "3");
	assert_int_equal(used(t), 0);
	end(t);
}

TEST(they_are_bounded)
{
	struct threads *t = begin(false);
	char id[37];

	for (int i = 0; i < 2 * THREADS_MAX; i++) {
		snprintf(id, sizeof(id), "01a1e8c0-b6e9-7b50-bc5d-c34b800e3%03x", (unsigned)i);
		put(arena_printf(&a, DAY "rollout-x-%s.jsonl", id).p, STR(USED(NOW, "1")));
		thread(t, id);
	}
	assert_int_equal(used(t), THREADS_MAX);
	end(t);
}

TEST_MAIN
