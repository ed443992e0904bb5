#include "app/session/threads.h"

#include <dirent.h>
#include <dlfcn.h>

#include "agent/table/formats.h"
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
static size_t names; /* read in folders, by whomever */

struct dirent *readdir(DIR *d)
{
	static struct dirent *(*real)(DIR * d);
	struct dirent *e;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "readdir64");
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "readdir");
	e = real(d);
	names += e != NULL;
	return e;
}

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

/* Names such as a pattern would take long to compare with. */
static void fill(const char *day, int n)
{
	assert_int_equal(dir_make(at(day), 0700, NULL), 0);
	assert_int_equal(system(arena_printf(&a,
					 "cd '%s' && d=$(printf %%0200d 0 | tr 0 -) && "
					 "seq -f \"rollout-$d%%.0f\" %d | xargs touch",
					 at(day), n)
							 .p),
			0);
}

static const char *nth(int i)
{
	return arena_printf(&a, "01a1e8c0-b6e9-7b50-bc5d-c34b800e3%03x", (unsigned)i).p;
}

/* Of one callback; how many names it read. */
static size_t step(int64_t timeout_us)
{
	size_t before = names;

	loop_step(loop, timeout_us);
	assert_true(names - before <= THREADS_PIECE);
	return names - before;
}

TEST(a_folder_is_read_once_for_all_in_pieces)
{
	const char *days[] = { DAY, "home/sessions/2026/11/16/", "home/sessions/2026/11/18/" };
	struct threads *t = begin(false);
	size_t pieces = 0;

	for (size_t i = 0; i < ARRAY_LEN(days); i++)
		fill(days[i], 1500);
	for (int i = 0; i < THREADS_MAX; i++)
		thread(t, nth(i));
	put("home/sessions/2026/11/18/rollout-x-01a1e8c0-b6e9-7b50-bc5d-c34b800e3000.jsonl",
			STR(USED(NOW, "3")));
	names = 0;
	threads_end(t, on_done, NULL);
	assert_true(names > 0 && names <= THREADS_PIECE);
	while (!over)
		pieces += step(1000000) > 0;
	assert_int_equal(input, 3);
	assert_int_equal(names, 3 * (1500 + 2) + 1);
	assert_true(pieces >= 4);
	end(t);
}

TEST(whoever_it_names_the_looks_of_a_run_are_bounded)
{
	struct threads *t = begin(false);
	struct threads *once;

	fill(DAY, THREADS_LOOK + 1000);
	names = 0;
	for (int i = 0; i < THREADS_MAX; i++) {
		thread(t, nth(i));
		step(1000000);
		while (step(0))
			;
	}
	assert_true(names > THREADS_ENTRIES / 2 && names <= THREADS_ENTRIES);
	/* A single look; a folder that is opened counts, too. */
	once = threads_new(loop, at("run"), format_find(STR("codex")), true, on_fact, NULL);
	thread(once, nth(0));
	names = 0;
	assert_int_equal(used(once), 0);
	assert_int_equal(names, THREADS_LOOK - 1);
	threads_close(once);
	over = false;
	/* At the end there is one more. */
	assert_int_equal(system(arena_printf(&a, "rm -r '%s'", at(DAY)).p), 0);
	assert_int_equal(dir_make(at(DAY), 0700, NULL), 0);
	put(arena_printf(&a, DAY "rollout-x-%s.jsonl", nth(7)).p, STR(USED(NOW, "70")));
	assert_int_equal(used(t), 70);
	end(t);
}

TEST_MAIN
