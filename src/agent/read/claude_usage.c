#include "agent/read/claude_usage_impl.h"

#include "agent/read/parsers.h"
#include "base/str.h"

static struct usage usage_of(const value *v)
{
	struct usage u = { 0 };

	u.input = tokens_at(&u, v, "input_tokens");
	u.output = tokens_at(&u, v, "output_tokens");
	u.cache_read = tokens_at(&u, v, "cache_read_input_tokens");
	u.cache_write = tokens_at(&u, v, "cache_creation_input_tokens");
	return u;
}

bool claude_usage_message(struct claude_usage *u, const value *message, struct usage *ret)
{
	struct usage now = usage_of(value_at(message, "usage")), before = { 0 };
	uint64_t id = str_hash(value_str_at(message, "id"), 0);
	size_t i = 0;

	while (i < CLAUDE_MESSAGES && u->messages[i].id != id)
		i++;
	if (i < CLAUDE_MESSAGES) {
		before = u->messages[i].usage;
	} else {
		i = u->next;
		u->next = (u->next + 1) % CLAUDE_MESSAGES;
	}
	u->messages[i].id = id;
	u->messages[i].usage = now;
	*ret = usage_minus(now, before);
	u->advance = usage_plus(u->advance, *ret);
	return ret->input || ret->output || ret->cache_read || ret->cache_write || ret->untrue;
}

static bool is_object(const value *v)
{
	return v && v->kind == V_OBJECT;
}

/* Nobody uses more models than this in a turn. */
enum { MODELS_MAX = 64 };

static struct usage usage_of_model(const value *m)
{
	struct usage u = { 0 };

	u.input = tokens_at(&u, m, "inputTokens");
	u.output = tokens_at(&u, m, "outputTokens");
	u.cache_read = tokens_at(&u, m, "cacheReadInputTokens");
	u.cache_write = tokens_at(&u, m, "cacheCreationInputTokens");
	return u;
}

/*
 * The sum over all models. What one of them does not say, or cannot be true, the sum does not say.
 */
static struct usage sum(const value *models, int64_t *ret_cost)
{
	struct usage all = { .untrue = value_count(models) > MODELS_MAX };
	int64_t unknown = all.untrue ? COST_UNTRUE : 0;

	*ret_cost = 0;
	for (size_t i = 0; i < MIN(value_count(models), MODELS_MAX); i++) {
		const value *m = models->object.members[i].value;
		int64_t cost = dollars(value_at(m, "costUSD"));

		all = usage_plus(all, usage_of_model(m));
		*ret_cost += MAX(cost, (int64_t)0);
		unknown = MIN(unknown, cost);
	}
	if (unknown < 0)
		*ret_cost = unknown;
	return all;
}

/* Of the results that count from the start of the process: what this one adds to those before. */
static struct usage since_last(struct claude_usage *u, const value *result, int64_t *ret_cost)
{
	int64_t cost = dollars(value_at(result, "total_cost_usd")), summed;
	struct usage total = sum(value_at(result, "modelUsage"), &summed),
		     used = usage_minus(total, u->before);

	if (cost == COST_UNKNOWN && value_count(value_at(result, "modelUsage")))
		cost = summed;
	/* The next one that can be true tells all that was since the last one that was. */
	if (!total.untrue)
		u->before = total;
	*ret_cost = cost < 0 ? cost : MAX(cost - u->cost_before, (int64_t)0);
	if (cost >= 0)
		u->cost_before = cost;
	return used;
}

void claude_usage_result(struct claude_usage *u, const value *result, struct usage *ret,
		int64_t *ret_cost)
{
	const value *since = value_at(result, "model_usage_since_last_result");
	const value *models = value_at(result, "modelUsage");
	struct usage used;

	if (is_object(since)) {
		used = sum(since, ret_cost);
	} else if (is_object(models) && !value_at(result, "result_index")) {
		used = since_last(u, result, ret_cost);
	} else {
		/* The newer ones count the whole session in modelUsage: that is not ours to add. */
		used = usage_of(value_at(result, "usage"));
		*ret_cost = COST_UNKNOWN;
	}
	/* Whether what was told in advance was true is known now. */
	u->advance.untrue = false;
	*ret = used.untrue ? (struct usage){ .untrue = true } : usage_minus(used, u->advance);
	u->advance = (struct usage){ 0 };
	memset(u->messages, 0, sizeof(u->messages));
}

int64_t claude_context(const value *usage)
{
	struct usage u = usage_of(usage);

	return u.input + u.output + u.cache_read + u.cache_write;
}

int64_t claude_window(const value *result, str model)
{
	const value *models = value_at(result, "modelUsage");
	int64_t window = 0;

	for (size_t i = 0; is_object(models) && i < value_count(models); i++) {
		const struct member *m = &models->object.members[i];

		/* "claude-opus-4-8[1m]" is the model that init calls "claude-opus-4-8". */
		if (str_starts(m->key, model))
			window = MAX(window, count_at(m->value, "contextWindow"));
	}
	return window;
}
