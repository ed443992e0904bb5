#include "core/oversight/history.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/oversight/iteration.h"
#include "core/text/signature.h"
#include "data/value/json.h"

enum { TEXT_MAX = 64 * 1024, LIST_MAX = 10000 };

/* One iteration as it was written: what is absent has its flag unset. */
struct history_entry {
	int64_t number;
	str status, objective, failure_class, error, tree, tool;
	bool has_completion, has_tests, has_coverage;
	bool tests_passing;
	int64_t max_iterations, budget_microusd, max_duration_ms; /* 0: not said */
	int64_t completion_centi, coverage_centi, cost_microusd, duration_ms;
	struct strs blockers, files, learnings, scope;
	bool has_scope;
};

enum kind { K_NUMBER, K_TEXT, K_TEXTS, K_BOOL, K_OBJECT };

struct member_rule {
	const char *key;
	enum kind kind;
	size_t offset;
	size_t known; /* offset of the flag that it is there; 0: none */
	int64_t scale, min, max;
};

#define AT(member) offsetof(struct history_entry, member)
#define BIG INT64_C(1000000000000)
static const struct member_rule top_rules[] = {
	{ "number", K_NUMBER, AT(number), 0, 1, 0, BIG },
	{ "status", K_TEXT, AT(status), 0, 0, 0, 0 },
	{ "context", K_OBJECT, 0, 0, 0, 0, 0 },
	{ "analysis", K_OBJECT, 0, 0, 0, 0, 0 },
};
static const struct member_rule context_rules[] = {
	{ "objective", K_TEXT, AT(objective), 0, 0, 0, 0 },
	{ "maxIterations", K_NUMBER, AT(max_iterations), 0, 1, 1, BIG },
	{ "budgetUsd", K_NUMBER, AT(budget_microusd), 0, 1000000, 0, 1000000 * BIG },
	{ "maxDurationMs", K_NUMBER, AT(max_duration_ms), 0, 1, 1, BIG },
	{ "scopePaths", K_TEXTS, AT(scope), AT(has_scope), 0, 0, 0 },
};
static const struct member_rule analysis_rules[] = {
	{ "failureClass", K_TEXT, AT(failure_class), 0, 0, 0, 0 },
	{ "error", K_TEXT, AT(error), 0, 0, 0, 0 },
	{ "blockers", K_TEXTS, AT(blockers), 0, 0, 0, 0 },
	{ "completionPercentage", K_NUMBER, AT(completion_centi), AT(has_completion), 100, 0,
			10000 },
	{ "artifactsModified", K_TEXTS, AT(files), 0, 0, 0, 0 },
	{ "learnings", K_TEXTS, AT(learnings), 0, 0, 0, 0 },
	{ "testsPassing", K_BOOL, AT(tests_passing), AT(has_tests), 0, 0, 0 },
	{ "coveragePercent", K_NUMBER, AT(coverage_centi), AT(has_coverage), 100, 0, 10000 },
	{ "costUsd", K_NUMBER, AT(cost_microusd), 0, 1000000, 0, 1000000 * BIG },
	{ "durationMs", K_NUMBER, AT(duration_ms), 0, 1, 0, BIG },
	{ "treeHash", K_TEXT, AT(tree), 0, 0, 0, 0 },
	{ "repeatedToolCall", K_TEXT, AT(tool), 0, 0, 0, 0 },
};
#undef AT

struct reader {
	struct arena *a;
	struct ov_err *err;
};

static int mistyped(struct reader *r, str path, const char *want, const value *v)
{
	return ov_fail(r->err, OV_EINVALID, STR_FMT ": expected %s, found %s", STR_ARG(path), want,
			value_kind_name(v->kind));
}

static int read_text(struct reader *r, str path, const value *v, str *ret)
{
	if (v->kind != V_STR)
		return mistyped(r, path, "string", v);
	if (v->s.n > TEXT_MAX)
		return ov_fail(r->err, OV_EINVALID, STR_FMT ": %zu bytes, at most %d are allowed",
				STR_ARG(path), v->s.n, TEXT_MAX);
	*ret = v->s;
	return 0;
}

static int read_texts(struct reader *r, str path, const value *v, struct strs *ret)
{
	int e = 0;

	if (v->kind != V_ARRAY)
		return mistyped(r, path, "array", v);
	if (v->array.n > LIST_MAX)
		return ov_fail(r->err, OV_EINVALID, STR_FMT ": %zu entries, at most %d are allowed",
				STR_ARG(path), v->array.n, LIST_MAX);
	ret->p = arena_array(r->a, str, v->array.n + 1);
	for (size_t i = 0; e == 0 && i < v->array.n; i++) {
		const value *x = v->array.items[i];

		/* The path is made only where it is needed: there may be many. */
		if (x->kind != V_STR || x->s.n > TEXT_MAX)
			return read_text(r, arena_printf(r->a, STR_FMT "[%zu]", STR_ARG(path), i),
					x, &ret->p[i]);
		ret->p[i] = x->s;
	}
	ret->n = v->array.n;
	return 0;
}

/* Whole numbers may be written 3.0; a fraction of what has none is a mistake. */
static int read_number(struct reader *r, str path, const struct member_rule *rule, const value *v,
		int64_t *ret)
{
	double n = value_real_or(v, 0), scaled = n * (double)rule->scale;

	if (v->kind != V_INT && v->kind != V_REAL)
		return mistyped(r, path, rule->scale == 1 ? "integer" : "number", v);
	if (!(scaled >= (double)rule->min && scaled <= (double)rule->max))
		return ov_fail(r->err, OV_EINVALID, STR_FMT ": %g is out of range: %g to %g",
				STR_ARG(path), n, (double)rule->min / (double)rule->scale,
				(double)rule->max / (double)rule->scale);
	*ret = (int64_t)(scaled + 0.5);
	if (rule->scale == 1 && (double)*ret != scaled)
		return mistyped(r, path, "integer", v);
	return 0;
}

static int read_member(struct reader *r, str path, const struct member_rule *rule, const value *v,
		struct history_entry *e)
{
	void *at = (char *)e + rule->offset;
	int x = 0;

	if (v->kind == V_NULL)
		return 0;
	switch (rule->kind) {
	case K_NUMBER: x = read_number(r, path, rule, v, at); break;
	case K_TEXT: x = read_text(r, path, v, at); break;
	case K_TEXTS: x = read_texts(r, path, v, at); break;
	case K_BOOL:
		if (v->kind != V_BOOL)
			return mistyped(r, path, "boolean", v);
		*(bool *)at = v->b;
		break;
	case K_OBJECT: return v->kind == V_OBJECT ? 0 : mistyped(r, path, "object", v);
	}
	if (x == 0 && rule->known)
		*(bool *)((char *)e + rule->known) = true;
	return x;
}

static str below(struct reader *r, str path, str key)
{
	return arena_printf(r->a, STR_FMT "%s" STR_FMT, STR_ARG(path), path.n ? "." : "",
			STR_ARG(key));
}

static int unknown(struct reader *r, str path, const struct member_rule *rules, size_t n, str key)
{
	const char *names[16], *near;

	assert(n <= ARRAY_LEN(names));
	for (size_t i = 0; i < n; i++)
		names[i] = rules[i].key;
	near = str_nearest(key, names, n);
	path = below(r, path, key);
	return ov_fail(r->err, OV_EINVALID, STR_FMT ": unknown%s%s%s", STR_ARG(path),
			near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "");
}

static int read_object(struct reader *r, str path, const struct member_rule *rules, size_t n,
		const value *doc, struct history_entry *e)
{
	int x = 0;

	for (size_t i = 0; x == 0 && i < value_count(doc); i++) {
		const struct member *m = &doc->object.members[i];
		size_t k = 0;

		while (k < n && !str_is(m->key, rules[k].key))
			k++;
		if (k == n)
			return unknown(r, path, rules, n, m->key);
		x = read_member(r, below(r, path, m->key), &rules[k], m->value, e);
	}
	return x;
}

static int read_entry(struct reader *r, str path, const value *doc, struct history_entry *ret)
{
	static const char *const needed[] = { "number", "analysis" };
	int x;

	*ret = (struct history_entry){ 0 };
	if (doc->kind != V_OBJECT)
		return mistyped(r, path.n ? path : STR("iteration"), "object", doc);
	x = read_object(r, path, top_rules, ARRAY_LEN(top_rules), doc, ret);
	for (size_t i = 0; x == 0 && i < ARRAY_LEN(needed); i++) {
		const value *v = value_at(doc, needed[i]);

		if (!v || v->kind == V_NULL)
			return ov_fail(r->err, OV_EINVALID, STR_FMT ": is missing",
					STR_ARG(below(r, path, str_from(needed[i]))));
	}
	if (x == 0)
		x = read_object(r, below(r, path, STR("context")), context_rules,
				ARRAY_LEN(context_rules), value_at(doc, "context"), ret);
	if (x == 0)
		x = read_object(r, below(r, path, STR("analysis")), analysis_rules,
				ARRAY_LEN(analysis_rules), value_at(doc, "analysis"), ret);
	return x;
}

/* What is collected while entries are read: only the newest are kept. */
struct collected {
	struct history_entry ring[LIMIT_ITERATIONS];
	size_t n;
	struct strs scope;
	struct history_loop *loop;
};

static void saturating_add(int64_t *sum, int64_t n)
{
	if (__builtin_add_overflow(*sum, n, sum))
		*sum = INT64_MAX;
}

static int collect(struct reader *r, str path, const value *doc, struct collected *c)
{
	struct history_entry *e = &c->ring[c->n % LIMIT_ITERATIONS];
	int64_t before = c->n ? c->ring[(c->n - 1) % LIMIT_ITERATIONS].number : -1;
	struct history *h = &c->loop->history;
	int x;

	if (c->n == HISTORY_MAX)
		return ov_fail(r->err, OV_EINVALID, "more than %d iterations", HISTORY_MAX);
	x = read_entry(r, path, doc, e);
	if (x < 0)
		return x;
	if (e->number <= before)
		return ov_fail(r->err, OV_EINVALID, STR_FMT ": %lld does not come after %lld",
				STR_ARG(below(r, path, STR("number"))), (long long)e->number,
				(long long)before);
	c->n++;
	h->iterations.used = e->number;
	saturating_add(&h->cost_microusd.used, e->cost_microusd);
	saturating_add(&h->wall_ms.used, e->duration_ms);
	if (e->max_iterations)
		h->iterations.estimate = e->max_iterations;
	if (e->budget_microusd)
		h->cost_microusd.estimate = e->budget_microusd;
	if (e->max_duration_ms)
		h->wall_ms.estimate = e->max_duration_ms;
	if (e->has_completion)
		h->completion_centi = e->completion_centi;
	if (e->objective.n)
		c->loop->objective = e->objective;
	if (e->has_scope)
		c->scope = e->scope;
	return 0;
}

static void take(struct arena *a, const struct collected *c, const struct history_entry *e,
		struct iteration *ret)
{
	str error = e->failure_class.n ? e->failure_class : e->error;

	*ret = (struct iteration){ .number = e->number,
		.failure_class = e->failure_class,
		.error = error,
		.signature = error_signature(a, error),
		.tree = e->tree,
		.files = e->files,
		.learnings = e->learnings,
		.blockers = e->blockers,
		.tool = e->tool,
		.tool_digest = e->tool,
		.tests = !e->has_tests             ? TESTS_UNKNOWN
				: e->tests_passing ? TESTS_PASSING
						   : TESTS_FAILING,
		.coverage_format = e->has_coverage ? STR("given") : STR(""),
		.coverage_centi = e->coverage_centi,
		.completion_source = e->has_completion ? COMPLETION_REPORTED : COMPLETION_UNKNOWN,
		.completion_centi = e->completion_centi };
	ret->has_similarity = words_similarity(c->loop->objective, e->learnings.p, e->learnings.n,
			&ret->similarity_milli);
	for (size_t i = 0; c->scope.n && i < e->files.n; i++) {
		if (path_in_scope(&c->scope, e->files.p[i]))
			ret->inside++;
		else
			ret->outside++;
	}
	sample_prepare(ret);
}

static void finish(struct arena *a, const struct collected *c, struct history_loop *l)
{
	size_t kept = MIN(c->n, (size_t)LIMIT_ITERATIONS);

	*l = *c->loop;
	l->n = c->n;
	l->history.samples = l->samples;
	l->history.n = kept;
	for (size_t i = 0; i < kept; i++) {
		take(a, c, &c->ring[(c->n - kept + i) % LIMIT_ITERATIONS], &l->newest[i]);
		l->iterations[i] = &l->newest[i];
		l->samples[i] = &l->newest[i].sample;
	}
}

static int read_document(struct reader *r, const value *doc, struct collected *c)
{
	static const char *const known[] = { "history" };
	const value *all;
	int x = value_only_keys(doc, STR(""), known, ARRAY_LEN(known), r->err);

	if (x == 0)
		x = value_need_array(doc, STR(""), "history", &all, r->err);
	for (size_t i = 0; x == 0 && i < all->array.n; i++)
		x = collect(r, arena_printf(r->a, "history[%zu]", i), all->array.items[i], c);
	return x;
}

static int read_lines(struct reader *r, str text, struct collected *c)
{
	str line;

	for (size_t i = 1; str_split(&text, '\n', &line); i++) {
		value *doc;
		int x;

		if (!str_trim(line).n)
			continue;
		x = json_parse(r->a, str_trim(line), NULL, &doc, r->err);
		if (x < 0)
			return ov_wrap(r->err, x, "line %zu", i);
		x = collect(r, STR(""), doc, c);
		if (x < 0)
			return ov_wrap(r->err, x, "line %zu", i);
	}
	return 0;
}

/* A first line that is an object of its own, and not the document, begins JSON Lines. */
static bool is_lines(struct arena *a, str text)
{
	str first = str_sub(text, 0, str_find_byte(text, '\n'));
	value *doc;

	return json_parse(a, str_trim(first), NULL, &doc, NULL) == 0 && doc->kind == V_OBJECT &&
			(value_at(doc, "number") || value_at(doc, "analysis"));
}

int loop_read(struct arena *a, str text, struct history_loop *ret, struct ov_err *err)
{
	struct reader r = { a, err };
	struct collected *c = arena_new(a, struct collected);
	struct history_loop *l = arena_new(a,
			struct history_loop); /* ret is untouched when this fails */
	value *doc;
	int x;

	if (text.n > HISTORY_MAX_BYTES)
		return ov_fail(err, OV_EINVALID, "%zu bytes, at most %d are allowed", text.n,
				HISTORY_MAX_BYTES);
	c->loop = l;
	l->history.completion_centi = -1;
	text = str_trim(text);
	if (is_lines(a, text)) {
		x = read_lines(&r, text, c);
	} else {
		x = json_parse(a, text, NULL, &doc, err);
		if (x == 0 && doc->kind != V_OBJECT)
			x = ov_fail(err, OV_EINVALID,
					"expected {\"history\": [...]} or one object per line, "
					"found %s",
					value_kind_name(doc->kind));
		if (x == 0)
			x = read_document(&r, doc, c);
	}
	if (x < 0)
		return x;
	finish(a, c, ret);
	return 0;
}

void loop_done(struct history_loop *l)
{
	for (size_t i = 0; i < l->history.n; i++)
		mem_free((void *)l->newest[i].sample.files);
	l->history.n = 0;
}
