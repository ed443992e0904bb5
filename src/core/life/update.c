#include "core/life/update.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/model/limits.h"
#include "data/id/sha256.h"
#include "data/value/json.h"

static const char top_key[] = "overseerUpdate";

/* What the value of a key must be. */
enum want {
	WANT_ID,
	WANT_STATUS,
	WANT_TEXT,
	WANT_TEXTS,
	WANT_PERCENT,
	WANT_DECISIONS,
	WANT_EVIDENCE
};

struct key_rule {
	const char *name;
	enum want want;
	size_t max; /* bytes of a text, or entries of a list */
};

#define KEYS(X)                                      \
	X("goalId", WANT_ID, LIMIT_ID)               \
	X("workNodeId", WANT_ID, LIMIT_ID)           \
	X("status", WANT_STATUS, 0)                  \
	X("summary", WANT_TEXT, UPDATE_SUMMARY)      \
	X("next", WANT_TEXT, UPDATE_NEXT)            \
	X("currentState", WANT_TEXT, UPDATE_SUMMARY) \
	X("blockers", WANT_TEXTS, UPDATE_LIST)       \
	X("openQuestions", WANT_TEXTS, UPDATE_LIST)  \
	X("decisions", WANT_DECISIONS, UPDATE_LIST)  \
	X("percentComplete", WANT_PERCENT, 100)      \
	X("learnings", WANT_TEXTS, UPDATE_LIST)      \
	X("evidence", WANT_EVIDENCE, 0)

#define RULE(name, want, max) { name, want, max },
static const struct key_rule key_rules[] = { KEYS(RULE) };
#undef RULE
#define NAME(name, want, max) name,
static const char *const key_names[] = { KEYS(NAME) };
#undef NAME

static const char *const evidence_names[CLAIM_COUNT] = { [CLAIM_FILES] = "filesTouched",
	[CLAIM_COMMANDS] = "commandsRun",
	[CLAIM_TESTS] = "testsRun",
	[CLAIM_COMMITS] = "commits",
	[CLAIM_PRS] = "prs",
	[CLAIM_ISSUES] = "issues",
	[CLAIM_REFS] = "externalRefs" };

const value *update_claim(const struct update *u, enum update_claim which)
{
	return value_at(u->evidence, evidence_names[which]);
}

const char *const *update_keys(size_t *ret_n)
{
	*ret_n = ARRAY_LEN(key_names);
	return key_names;
}

const char *const *update_evidence_keys(size_t *ret_n)
{
	*ret_n = ARRAY_LEN(evidence_names);
	return evidence_names;
}

struct check {
	struct arena *a;
	struct update_result *r;
};

static void problem(struct check *c, str path, const char *fmt, ...) _printf_(3, 4);
static void problem(struct check *c, str path, const char *fmt, ...)
{
	va_list ap;
	struct update_problem *p;

	if (!c->r->problems)
		c->r->problems = arena_array(c->a, struct update_problem, UPDATE_PROBLEMS);
	if (c->r->problems_n == UPDATE_PROBLEMS)
		return;
	p = &c->r->problems[c->r->problems_n++];
	p->path = path;
	va_start(ap, fmt);
	p->text = arena_vprintf(c->a, fmt, ap);
	va_end(ap);
}

static str sub_path(struct check *c, str path, str key)
{
	return arena_printf(c->a, STR_FMT "." STR_FMT, STR_ARG(path), STR_ARG(key));
}

static str item_path(struct check *c, str path, size_t i)
{
	return arena_printf(c->a, STR_FMT "[%zu]", STR_ARG(path), i);
}

static bool want_kind(struct check *c, str path, const value *v, enum value_kind kind)
{
	if (v->kind != kind)
		problem(c, path, "expected %s, found %s", value_kind_name(kind),
				value_kind_name(v->kind));
	return v->kind == kind;
}

/* The key may come from anywhere: it is quoted short and without control characters. */
static void unknown_key(struct check *c, str path, str key, const char *const *known, size_t n)
{
	const char *near = str_nearest(key, known, n);
	str shown = utf8_clean(c->a, utf8_truncate(key, LIMIT_ID));

	problem(c, path, "unknown key \"" STR_FMT "\"%s%s%s", STR_ARG(shown),
			near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "");
}

static bool is_one_of(str key, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_is(key, names[i]))
			return true;
	return false;
}

static void check_text(struct check *c, str path, const value *v, size_t max, bool may_be_empty)
{
	if (!want_kind(c, path, v, V_STR))
		return;
	if (v->s.n > max)
		problem(c, path, "%zu bytes, at most %zu are allowed", v->s.n, max);
	else if (!may_be_empty && str_trim(v->s).n == 0)
		problem(c, path, "must not be empty");
	if (str_find_byte(v->s, '\0') < v->s.n)
		problem(c, path, "must not contain NUL");
}

static bool check_list(struct check *c, str path, const value *v, size_t max)
{
	if (!want_kind(c, path, v, V_ARRAY))
		return false;
	if (v->array.n > max)
		problem(c, path, "%zu entries, at most %zu are allowed", v->array.n, max);
	return v->array.n <= max;
}

static void check_texts(struct check *c, str path, const value *v, size_t max)
{
	if (!check_list(c, path, v, max))
		return;
	for (size_t i = 0; i < v->array.n; i++)
		check_text(c, item_path(c, path, i), v->array.items[i], UPDATE_NEXT, false);
}

/* Only these are an agent's to say: the others are decided here or by a person. */
static void check_status(struct check *c, str path, const value *v)
{
	static const char *const mine[] = { "in_progress", "blocked", "done" };

	if (want_kind(c, path, v, V_STR) && !is_one_of(v->s, mine, ARRAY_LEN(mine)))
		problem(c, path, "\"" STR_FMT "\" is not one of in_progress, blocked, done",
				STR_ARG(utf8_clean(c->a, utf8_truncate(v->s, LIMIT_ID))));
}

/* Written so that what is no number at all is not in the range either. */
static void check_percent(struct check *c, str path, const value *v, size_t max)
{
	if (v->kind != V_INT && v->kind != V_REAL)
		problem(c, path, "expected a number, found %s", value_kind_name(v->kind));
	else if (!(value_real_or(v, -1) >= 0 && value_real_or(v, -1) <= (double)max))
		problem(c, path, "must be from 0 to %zu", max);
}

static void check_decision(struct check *c, str path, const value *v)
{
	static const char *const names[] = { "decision", "rationale" };

	if (!want_kind(c, path, v, V_OBJECT))
		return;
	for (size_t i = 0; i < v->object.n; i++) {
		const struct member *m = &v->object.members[i];

		if (is_one_of(m->key, names, ARRAY_LEN(names)))
			check_text(c, sub_path(c, path, m->key), m->value, UPDATE_NEXT,
					str_is(m->key, "rationale"));
		else
			unknown_key(c, path, m->key, names, ARRAY_LEN(names));
	}
	if (!value_at(v, "decision"))
		problem(c, path, "\"decision\" is missing");
}

static void check_decisions(struct check *c, str path, const value *v, size_t max)
{
	if (!check_list(c, path, v, max))
		return;
	for (size_t i = 0; i < v->array.n; i++)
		check_decision(c, item_path(c, path, i), v->array.items[i]);
}

static void check_evidence(struct check *c, str path, const value *v)
{
	if (!want_kind(c, path, v, V_OBJECT))
		return;
	for (size_t i = 0; i < v->object.n; i++) {
		const struct member *m = &v->object.members[i];

		if (is_one_of(m->key, evidence_names, ARRAY_LEN(evidence_names)))
			check_texts(c, sub_path(c, path, m->key), m->value, UPDATE_EVIDENCE);
		else
			unknown_key(c, path, m->key, evidence_names, ARRAY_LEN(evidence_names));
	}
}

static void check_member(struct check *c, str path, const struct key_rule *rule, const value *v)
{
	switch (rule->want) {
	case WANT_ID: check_text(c, path, v, rule->max, false); break;
	case WANT_STATUS: check_status(c, path, v); break;
	case WANT_TEXT: check_text(c, path, v, rule->max, true); break;
	case WANT_TEXTS: check_texts(c, path, v, rule->max); break;
	case WANT_PERCENT: check_percent(c, path, v, rule->max); break;
	case WANT_DECISIONS: check_decisions(c, path, v, rule->max); break;
	case WANT_EVIDENCE: check_evidence(c, path, v); break;
	}
}

static const struct key_rule *rule_find(str name)
{
	for (size_t i = 0; i < ARRAY_LEN(key_rules); i++)
		if (str_is(name, key_rules[i].name))
			return &key_rules[i];
	return NULL;
}

static void check_update(struct check *c, const value *doc)
{
	str path = STR("overseerUpdate");
	bool says = false;

	if (!want_kind(c, path, doc, V_OBJECT))
		return;
	for (size_t i = 0; i < doc->object.n; i++) {
		const struct member *m = &doc->object.members[i];
		const struct key_rule *rule = rule_find(m->key);

		if (rule)
			check_member(c, sub_path(c, path, m->key), rule, m->value);
		else
			unknown_key(c, path, m->key, key_names, ARRAY_LEN(key_names));
		says |= !rule || rule->want != WANT_ID;
	}
	if (!says)
		problem(c, path, "says nothing: give at least \"status\" or \"summary\"");
}

static void fill(struct update *u, const value *doc)
{
	const value *status = value_at(doc, "status");

	*u = (struct update){
		.doc = doc,
		.goal_id = value_str_at(doc, "goalId"),
		.work_node_id = value_str_at(doc, "workNodeId"),
		.status = status ? status_parse(&node_statuses, status->s) : -1,
		.summary = value_str_at(doc, "summary"),
		.next = value_str_at(doc, "next"),
		.current_state = value_str_at(doc, "currentState"),
		.blockers = value_at(doc, "blockers"),
		.open_questions = value_at(doc, "openQuestions"),
		.decisions = value_at(doc, "decisions"),
		.learnings = value_at(doc, "learnings"),
		.evidence = value_at(doc, "evidence"),
	};
}

/* Without white space: line ends, indentation and wrapping are what an echo changes. */
static str squeeze(struct arena *a, str s)
{
	char *p = arena_alloc(a, s.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] != ' ' && s.p[i] != '\t' && s.p[i] != '\r' && s.p[i] != '\n')
			p[n++] = s.p[i];
	return (str){ p, n };
}

static bool is_own(str block, const str *sent, size_t sent_n)
{
	_cleanup_(arena_done) struct arena scratch = ARENA_INIT;
	str needle = squeeze(&scratch, block);

	for (size_t i = 0; i < sent_n; i++)
		if (sent[i].n >= needle.n && str_contains(squeeze(&scratch, sent[i]), needle))
			return true;
	return false;
}

/* Does the document mean to be an update? Gives what stands under the key, if the key is right. */
static bool is_meant(struct check *c, const value *doc, const value **ret_update)
{
	static const char *const names[] = { top_key };

	*ret_update = value_at(doc, top_key);
	for (size_t i = 0; doc->kind == V_OBJECT && i < doc->object.n; i++) {
		str key = doc->object.members[i].key;

		if (!str_is(key, top_key) && (*ret_update || str_nearest(key, names, 1)))
			unknown_key(c, STR("(top)"), key, names, *ret_update ? 0 : 1);
	}
	return *ret_update || c->r->problems_n;
}

static bool parse_block(struct check *c, const struct update_block *b, value **ret)
{
	struct json_limits limits = { .max_bytes = UPDATE_MERGED, .max_depth = 16 };
	struct ov_err err = { 0 };

	if (b->cut)
		problem(c, STR("(top)"), "the block is longer than %d bytes", UPDATE_WINDOW);
	else if (json_parse(c->a, b->bytes, &limits, ret, &err) < 0)
		problem(c, STR("(top)"), "%s", err.msg);
	else
		return true;
	return false;
}

void update_parse(struct arena *a, const struct update_block *b, const str *sent, size_t sent_n,
		struct update_result *ret)
{
	struct check c = { .a = a, .r = ret };
	const value *update = NULL;
	value *doc;
	bool meant;

	*ret = (struct update_result){ .verdict = UPDATE_NONE, .block = *b };
	if (parse_block(&c, b, &doc))
		meant = is_meant(&c, doc, &update);
	else
		meant = str_contains(b->bytes, str_from(top_key));
	if (!meant) {
		*ret = (struct update_result){ .verdict = UPDATE_NONE };
		return;
	}
	ret->block.bytes = arena_str(a, b->bytes);
	if (is_own(b->bytes, sent, sent_n)) {
		ret->problems_n = 0;
		ret->verdict = UPDATE_OWN;
		return;
	}
	if (update)
		check_update(&c, update);
	ret->verdict = ret->problems_n ? UPDATE_BAD : UPDATE_OK;
	if (ret->verdict == UPDATE_OK)
		fill(&ret->update, update);
}

str update_problems_text(struct arena *a, const struct update_result *r)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;

	for (size_t i = 0; i < r->problems_n; i++)
		buf_addf(&text, "%s" STR_FMT ": " STR_FMT, i ? "\n" : "",
				STR_ARG(r->problems[i].path), STR_ARG(r->problems[i].text));
	return arena_str(a, buf_str(&text));
}

static bool list_has(const value *list, const value *item)
{
	for (size_t i = 0; i < value_count(list); i++)
		if (value_equal(value_item(list, i), item))
			return true;
	return false;
}

/* Old entries that are not said again, then the new ones; the last max of them. */
static value *grow(struct arena *a, const value *old, const value *new, size_t max)
{
	value *all = value_array(a);

	for (size_t i = 0; i < value_count(old); i++)
		if (!list_has(new, value_item(old, i)))
			value_push(a, all, value_copy(a, value_item(old, i)));
	for (size_t i = 0; i < value_count(new); i++)
		if (!list_has(all, value_item(new, i)))
			value_push(a, all, value_copy(a, value_item(new, i)));
	if (all->array.n > max) {
		all->array.items += all->array.n - max;
		all->cap -= (uint32_t)(all->array.n - max);
		all->array.n = max;
	}
	return all;
}

static value *grow_evidence(struct arena *a, const value *old, const value *new)
{
	value *all = value_object(a);

	for (size_t i = 0; i < ARRAY_LEN(evidence_names); i++) {
		const char *name = evidence_names[i];
		const value *was = value_at(old, name), *is = value_at(new, name);

		if (was || is)
			value_put(a, all, name, grow(a, was, is, UPDATE_EVIDENCE));
	}
	return all;
}

value *update_merge(struct arena *a, const value *stored, const struct update *u)
{
	value *merged = value_object(a);

	for (size_t i = 0; i < ARRAY_LEN(key_rules); i++) {
		const struct key_rule *rule = &key_rules[i];
		const value *was = value_at(stored, rule->name), *is = value_at(u->doc, rule->name);
		value *v;

		if (!was && !is)
			continue;
		if (rule->want == WANT_DECISIONS)
			v = grow(a, was, is, rule->max);
		else if (rule->want == WANT_EVIDENCE)
			v = grow_evidence(a, was, is);
		else
			v = value_copy(a, is ? is : was);
		value_put(a, merged, rule->name, v);
	}
	return merged;
}

struct update update_stored(struct arena *a, str json)
{
	value *doc = NULL;
	struct update u;

	if (json.n)
		(void)json_parse(a, json, NULL, &doc, NULL);
	fill(&u, doc);
	return u;
}

value *update_of_earlier_run(struct arena *a, const value *stored)
{
	value *kept = value_object(a);

	for (size_t i = 0; i < value_count(stored); i++) {
		const struct member *m = &stored->object.members[i];

		if (!str_is(m->key, "learnings"))
			value_append_member(a, kept, m->key, m->value);
	}
	return kept;
}

bool update_completion(const value *stored, int64_t *ret_centi)
{
	double percent = value_real_or(value_at(stored, "percentComplete"), -1);

	if (!(percent >= 0 && percent <= 100))
		return false;
	*ret_centi = (int64_t)(percent * 100 + 0.5);
	return true;
}

str update_identity(struct arena *a, str run_id, const struct update_block *b)
{
	uint8_t sum[SHA256_LEN], place[8];
	char *hex = arena_alloc(a, SHA256_HEX + 1);
	struct sha256 h;

	for (size_t i = 0; i < sizeof(place); i++)
		place[i] = (uint8_t)(b->offset >> (8 * (sizeof(place) - 1 - i)));
	sha256_init(&h);
	sha256_add(&h, run_id.p, run_id.n);
	sha256_add(&h, "", 1); /* run and place keep apart: an id has no NUL */
	sha256_add(&h, place, sizeof(place));
	sha256_add(&h, b->bytes.p, b->bytes.n);
	sha256_end(&h, sum);
	hex_format(sum, sizeof(sum), hex);
	return (str){ hex, SHA256_HEX };
}
