#include "core/prompt/planner.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "data/id/sha256.h"
#include "data/value/json.h"

enum { MAX_VARS = 12 };

static const struct {
	const char *name, *template_id;
} purposes[] = {
	[PLANNER_CREATE] = { "create", "plan.v1" },
	[PLANNER_SPLIT] = { "split", "split.v1" },
	[PLANNER_DIAGNOSE] = { "diagnose", "diagnose.v1" },
	[PLANNER_PURPOSES] = { "repair", "repair.v1" },
};

bool planner_purpose_from(str name, enum planner_purpose *ret)
{
	for (int i = 0; i < PLANNER_PURPOSES; i++)
		if (str_is(name, purposes[i].name)) {
			*ret = (enum planner_purpose)i;
			return true;
		}
	return false;
}

const char *planner_template_id(enum planner_purpose p)
{
	return purposes[p].template_id;
}

/* ---- prompts ---- */

struct vars {
	struct template_var p[MAX_VARS];
	size_t n;
};

static void var(struct vars *v, const char *name, str text)
{
	assert(v->n < MAX_VARS);
	v->p[v->n++] = (struct template_var){ name, text };
}

static void var_json(struct arena *a, struct vars *v, const char *name, const value *json)
{
	var(v, name, json ? json_text(a, json) : STR("[]"));
}

static void var_int(struct arena *a, struct vars *v, const char *name, int64_t i)
{
	var(v, name, arena_printf(a, "%lld", (long long)i));
}

static str joined(struct arena *a, const value *list)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	for (size_t i = 0; i < value_count(list); i++)
		buf_addf(&b, "%s" STR_FMT, i ? ", " : "",
				STR_ARG(value_str_or(value_item(list, i), STR(""))));
	return arena_str(a, buf_str(&b));
}

/* Any template may use any of what its purpose knows. */
static void task_vars(struct arena *a, const struct planner_task *t, struct vars *v)
{
	var(v, "goalTitle", t->goal_title);
	var(v, "problemStatement", t->problem_statement);
	var_json(a, v, "successCriteriaJson", t->success_criteria);
	var_json(a, v, "constraintsJson", t->constraints);
	var(v, "repoContextSnapshot", t->repo_context);
	var_json(a, v, "rolesJson", t->roles);
	if (t->purpose == PLANNER_CREATE) {
		var_int(a, v, "maxPhases", t->limits.max_phases);
		var_int(a, v, "maxTasksPerPhase", t->limits.max_tasks);
		var_int(a, v, "maxSubtasksPerTask", t->limits.max_subtasks);
		return;
	}
	var_json(a, v, "nodeJson", t->node);
	var(v, "evidence", t->evidence);
	if (t->purpose == PLANNER_SPLIT)
		var_int(a, v, "maxSubtasksPerTask", planner_split_room(t));
	else
		var(v, "allowedActions", joined(a, t->allowed));
}

static str bounded(struct arena *a, str s, size_t max)
{
	if (s.n <= max)
		return s;
	return arena_printf(a, STR_FMT " ... (%zu bytes more)", STR_ARG(utf8_truncate(s, max)),
			s.n - max);
}

int planner_init(struct planner *p, struct arena *a, const struct planner_task *t,
		struct ov_err *err)
{
	static const struct template_var repair_vars[] = { { "validationErrors", STR("") },
		{ "previousOutput", STR("") } };
	struct vars v = { .n = 0 };
	str first, ignored;
	int r;

	if (t->purpose == PLANNER_SPLIT && planner_split_room(t) < 2)
		return ov_fail(err, OV_ESTATE,
				"node " STR_FMT
				" cannot be split: its task has no room for more subtasks",
				STR_ARG(value_str_at(t->node, "id")));
	task_vars(a, t, &v);
	r = template_fill(a, &t->prompt, v.p, v.n, &first, err);
	/* Now rather than in the middle of the night, when the first answer is wrong. */
	if (r == 0)
		r = template_fill(a, &t->repair, repair_vars, ARRAY_LEN(repair_vars), &ignored,
				err);
	if (r < 0)
		return r;
	*p = (struct planner){ .arena = a, .task = *t, .first = first, .prompt = first };
	p->inputs = value_object(a);
	p->attempts = value_array(a);
	for (size_t i = 0; i < v.n; i++)
		value_put(a, p->inputs, v.p[i].name,
				value_str(a,
						utf8_clean(a,
								bounded(a, v.p[i].value,
										PLANNER_INPUT_BYTES))));
	return 0;
}

static str list_of(struct arena *a, const value *problems)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	size_t n = value_count(problems), shown = 0;

	for (; shown < n && shown < PLANNER_MAX_PROBLEMS && b.n < PLANNER_PROBLEM_BYTES; shown++)
		buf_addf(&b, "- " STR_FMT "\n",
				STR_ARG(value_str_or(value_item(problems, shown), STR(""))));
	if (shown < n)
		buf_addf(&b, "- and %zu more\n", n - shown);
	return arena_str(a, str_trim(buf_str(&b)));
}

/* Providers keep no conversation: the repair prompt says again what is asked for. */
static str repair_prompt(struct planner *p, str answer, const value *problems)
{
	struct arena *a = p->arena;
	struct vars v = { .n = 0 };
	str text;

	var(&v, "validationErrors", list_of(a, problems));
	var(&v, "previousOutput",
			utf8_clean(a, bounded(a, str_trim(answer), PLANNER_PREVIOUS_BYTES)));
	if (template_fill(a, &p->task.repair, v.p, v.n, &text, NULL) < 0)
		assert(false); /* planner_init filled it before */
	return arena_printf(a, STR_FMT "\n\n" STR_FMT, STR_ARG(p->first), STR_ARG(text));
}

/* ---- answers ---- */

/* The inside of one fenced block around everything; s itself when there is none. */
static str unfence(str s)
{
	str rest = s, line;

	if (!str_starts(s, STR("```")) || !str_split(&rest, '\n', &line))
		return s;
	/*
	 * An info string is a word: anything else after the fence is text that does not
	 * belong there.
	 */
	line = str_trim(str_sub(line, 3, SIZE_MAX));
	if (str_find_byte(line, ' ') < line.n || str_find_byte(line, '`') < line.n)
		return s;
	if (!str_ends(rest, STR("```")))
		return s;
	rest = str_sub(rest, 0, rest.n - 3);
	return rest.n && rest.p[rest.n - 1] == '\n' ? str_trim(rest) : s;
}

static void problem(struct arena *a, value *problems, const char *text)
{
	value_push(a, problems, value_str(a, utf8_clean(a, str_from(text))));
}

static bool parse(struct planner *p, str answer, value *problems)
{
	struct json_limits limits = { .max_bytes = PLANNER_ANSWER_BYTES, .max_depth = 32 };
	struct ov_err err = { 0 };
	const value *accepted = NULL;
	value *doc;
	str text = unfence(str_trim(answer));

	if (text.n == 0)
		problem(p->arena, problems, "the answer is empty");
	else if (json_parse(p->arena, arena_str(p->arena, text), &limits, &doc, &err) < 0)
		problem(p->arena, problems, err.msg);
	else
		planner_check(p->arena, &p->task, doc, problems, &accepted);
	if (value_count(problems))
		return false;
	assert(accepted);
	p->accepted = accepted;
	p->raw = arena_str(p->arena, text);
	return true;
}

/* As it is kept: all that was wrong, within reason. */
static value *kept_problems(struct arena *a, const value *problems)
{
	value *out = value_array(a);
	size_t bytes = 0;

	for (size_t i = 0; i < value_count(problems) && i < PLANNER_MAX_PROBLEMS; i++) {
		str s = utf8_clean(a,
				bounded(a, value_str_or(value_item(problems, i), STR("")), 500));

		bytes += s.n;
		if (bytes > PLANNER_PROBLEM_BYTES)
			break;
		value_push(a, out, value_str(a, s));
	}
	return out;
}

enum planner_step planner_answer(struct planner *p, str answer, int64_t tokens_in,
		int64_t tokens_out)
{
	struct arena *a = p->arena;
	value *problems = value_array(a), *attempt = value_object(a);
	bool good = parse(p, answer, problems);

	value_put(a, attempt, "errors", kept_problems(a, problems));
	value_put(a, attempt, "tokens_in", value_int(a, tokens_in));
	value_put(a, attempt, "tokens_out", value_int(a, tokens_out));
	value_push(a, p->attempts, attempt);
	p->tokens_in += tokens_in;
	p->tokens_out += tokens_out;
	if (good)
		return PLANNER_ACCEPT;
	if ((int64_t)value_count(p->attempts) > p->task.max_repairs)
		return PLANNER_GIVE_UP;
	p->prompt = repair_prompt(p, answer, problems);
	return PLANNER_ASK;
}

str planner_last_errors(const struct planner *p)
{
	size_t n = value_count(p->attempts);

	if (n == 0)
		return STR("");
	return list_of(p->arena, value_at(value_item(p->attempts, n - 1), "errors"));
}

struct out_plan planner_provenance(const struct planner *p)
{
	return (struct out_plan){ .template_id = str_from(p->task.prompt.id),
		.template_hash = sha256_hex(p->arena, p->task.prompt.text),
		.inputs = p->inputs,
		.raw = p->raw,
		.attempts = p->attempts,
		.has_tokens_in = true,
		.tokens_in = p->tokens_in,
		.has_tokens_out = true,
		.tokens_out = p->tokens_out };
}
