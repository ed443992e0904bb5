#include "app/plan/planning.h"

#include <stdio.h>
#include <sys/stat.h>

#include "app/plan/repo_context.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "data/id/sha256.h"
#include "data/value/json.h"
#include "sys/file/file.h"
#include "sys/loop/loop.h"
#include "tests/test.h"

TEST_MAIN

/* ---- the summary of a repository ---- */

TEST(a_summary_tells_branch_files_and_readme)
{
	struct arena a = ARENA_INIT;
	static const char output[] =
			"main\nabc1234\n# Title\nWords.\n\0Makefile\0src/a.c\0src/b.c\0"
			"src/deep/c.h\0.gitignore\0docs/x.tar.gz";
	str s = repo_context_summary(&a, (str){ output, sizeof(output) }, false);

	assert_string_equal(s.p,
			"Branch main at abc1234. 6 files.\n"
			"At the top: .gitignore, Makefile, docs/ (1), src/ (3)\n"
			"Kinds of files: .c (2), .gz (1), .h (1)\n"
			"The README begins:\n# Title\nWords.");
	arena_done(&a);
}

TEST(a_summary_is_bounded_and_clean_whatever_comes)
{
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;
	str s;

	assert_true(repo_context_summary(&a, STR(""), false).n < 100);
	buf_addf(&b, "branch\x1b[31m\nhead\n");
	for (int i = 0; i < 5000; i++)
		buf_addf(&b, "README \xff\xfe words ");
	buf_addc(&b, '\0');
	for (int i = 0; i < 20000; i++) {
		buf_addf(&b, "dir%d/file.ext%d", i, i);
		buf_addc(&b, '\0');
	}
	s = repo_context_summary(&a, buf_str(&b), true);
	assert_true(s.n <= REPO_CONTEXT_BYTES);
	assert_true(str_contains(s, STR("More than 20000 files.")));
	assert_true(str_contains(s, STR("and 19960 more")));
	assert_true(str_find_byte(s, '\x1b') == s.n);
	buf_done(&b);
	arena_done(&a);
}

/* ---- planning with a command ---- */

struct world {
	struct arena arena;
	struct loop *loop;
	struct planning *planning;
	struct config *config;
	char root[64];
	struct goal goal;
	value *result;
	int times;
};

static void run(struct world *w, const char *command)
{
	if (system(arena_printf(&w->arena, "cd %s && (%s) >/dev/null 2>&1", w->root, command).p))
		fail_msg("%s", command);
}

static void world_open(struct world *w, const char *config)
{
	struct planning_options o = { .dir = w->root, .repo = w->root };
	struct ov_err err = { 0 };

	*w = (struct world){ 0 };
	snprintf(w->root, sizeof(w->root), "%s", "/tmp/overseer-planning-XXXXXX");
	assert_non_null(mkdtemp(w->root));
	run(w,
			"git init -q -b main . && echo hello > README && git add README && git -c "
			"user.name=T "
			"-c user.email=t@localhost commit -qm start");
	assert_int_equal(loop_new(&w->loop, &err), 0);
	if (config_parse(str_from(config), &w->config, &err) < 0)
		fail_msg("%s", err.msg);
	o.loop = w->loop;
	w->planning = planning_new(&o);
	w->goal.title = STR("The goal");
	w->goal.problem_statement = STR("Solve {goalTitle}.");
}

static void world_close(struct world *w)
{
	planning_free(w->planning);
	config_free(w->config);
	loop_free(w->loop);
	run(w, "rm -rf \"$PWD\"");
	arena_done(&w->arena);
}

static void on_done(void *user, const struct outcome *o)
{
	struct world *w = user;

	w->times++;
	w->result = outcome_value(&w->arena, STR("X_1"), FX_PLAN, o);
}

static struct planning_job *begin(struct world *w)
{
	struct planning_request rq = { .purpose = PLANNER_CREATE,
		.config = w->config,
		.goal = &w->goal };

	w->times = 0;
	return planning_start(w->planning, &rq, on_done, w);
}

/* {"outcome", "detail", "data"} */
static const value *plan(struct world *w)
{
	begin(w);
	assert_int_equal(w->times, 0);
	while (!w->times)
		assert_true(loop_step(w->loop, -1));
	return w->result;
}

#define COMMAND(text) "[planner]\nprovider = \"command\"\ncommand = '''\n" text "\n'''\n"
#define GOOD                                                                                 \
	"{\"phases\":[{\"id\":\"P1\",\"name\":\"All\",\"tasks\":[{\"id\":\"T1.1\",\"name\":" \
	"\"It\",\"acceptance\":[\"it works\"]}]}]}"

TEST(without_a_planner_the_answer_is_none)
{
	struct world w;

	world_open(&w, "");
	assert_string_equal(value_str_at(plan(&w), "outcome").p, "none");
	world_close(&w);
}

TEST(a_command_plans_after_one_repair)
{
	struct world w;
	const value *r, *data;

	world_open(&w,
			COMMAND("n=$(ls ask.* 2>/dev/null | wc -l); cat > ask.$n; if [ $n = 0 ]; "
				"then "
				"echo not json; else echo '" GOOD "'; fi"));
	r = plan(&w);
	data = value_at(r, "data");
	assert_string_equal(value_str_at(r, "outcome").p, "ok");
	assert_string_equal(json_text(&w.arena, value_at(data, "plan")).p, GOOD);
	assert_string_equal(value_str_at(data, "raw").p, GOOD);
	assert_string_equal(value_str_at(data, "model_ref").p, "command");
	assert_string_equal(value_str_at(data, "template_id").p, "plan.v1");
	assert_int_equal(value_count(value_at(data, "attempts")), 2);
	assert_int_equal(value_int_at(data, "plan_version"), 0);
	assert_true(str_contains(value_str_at(value_at(data, "inputs"), "repoContextSnapshot"),
			STR("Branch main at ")));
	/* The goal's own text was not expanded; the second prompt says what was wrong. */
	run(&w, "grep -qF 'Solve {goalTitle}.' ask.0 && ! grep -q 'Validation errors' ask.0");
	run(&w,
			"grep -q 'Validation errors' ask.1 && grep -q 'not json' ask.1 && grep -q "
			"'The goal' "
			"ask.1");
	world_close(&w);
}

TEST(a_file_stands_in_for_a_template)
{
	struct world w;
	const value *data;
	str text = STR("Mine: {goalTitle} {maxPhases}\n");

	world_open(&w, COMMAND("cat > asked; echo '" GOOD "'"));
	run(&w, "mkdir templates");
	assert_int_equal(file_write_atomic(path_join(&w.arena, w.root, "templates/plan.v1.txt"),
					 text, 0600, NULL),
			0);
	data = value_at(plan(&w), "data");
	run(&w, "[ \"$(cat asked)\" = 'Mine: The goal 5' ]");
	assert_true(str_eq(value_str_at(data, "template_hash"), sha256_hex(&w.arena, text)));
	/* One that cannot be filled is an error, with its name. */
	run(&w, "echo '{nonsense}' > templates/plan.v1.txt");
	assert_string_equal(value_str_at(plan(&w), "outcome").p, "error");
	assert_string_equal(value_str_at(w.result, "detail").p,
			"template plan.v1: unknown placeholder {nonsense}");
	world_close(&w);
}

TEST(answers_that_stay_wrong_end_as_invalid)
{
	struct world w;

	world_open(&w, COMMAND("echo '{}'"));
	assert_string_equal(value_str_at(plan(&w), "outcome").p, "invalid");
	assert_true(str_contains(value_str_at(w.result, "detail"), STR("phases")));
	assert_int_equal(value_count(value_at(value_at(w.result, "data"), "attempts")), 3);
	assert_null(value_at(value_at(w.result, "data"), "plan"));
	world_close(&w);
}

TEST(a_command_that_fails_is_an_error)
{
	struct world w;

	world_open(&w, COMMAND("echo no idea >&2; exit 9"));
	assert_string_equal(value_str_at(plan(&w), "outcome").p, "error");
	assert_true(str_contains(value_str_at(w.result, "detail"), STR("exit status 9: no idea")));
	world_close(&w);
}

TEST(a_missing_key_is_told_before_anybody_is_asked)
{
	struct world w;

	unsetenv("OV_TEST_KEY");
	world_open(&w,
			"[planner]\nprovider = \"openai\"\nmodel = \"m\"\napi_key_env = "
			"\"OV_TEST_KEY\"\n");
	assert_string_equal(value_str_at(plan(&w), "outcome").p, "error");
	assert_true(str_contains(value_str_at(w.result, "detail"),
			STR("the environment variable OV_TEST_KEY is not set")));
	assert_true(planning_trouble(&w.arena, w.config).n > 0);
	setenv("OV_TEST_KEY", "k", 1);
	assert_int_equal(planning_trouble(&w.arena, w.config).n, 0);
	unsetenv("OV_TEST_KEY");
	world_close(&w);
}

TEST(a_job_can_be_cancelled_at_any_point)
{
	struct world w;
	struct planning_job *j;

	world_open(&w, COMMAND("touch asked; exec sleep 1000"));
	planning_cancel(begin(&w)); /* while the repository is looked at */
	j = begin(&w);
	while (!file_exists(path_join(&w.arena, w.root, "asked")))
		loop_step(w.loop, 10000);
	planning_cancel(j);
	assert_int_equal(w.times, 0);
	world_close(&w);
}
