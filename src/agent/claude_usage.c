#include "agent/claude_usage.h"

#include "agent/parsers.h"
#include "base/str.h"

static struct usage usage_of(const value *v)
{
	return (struct usage){
		.input = count_at(v, "input_tokens"),
		.output = count_at(v, "output_tokens"),
		.cache_read = count_at(v, "cache_read_input_tokens"),
		.cache_write = count_at(v, "cache_creation_input_tokens"),
	};
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
	return ret->input || ret->output || ret->cache_read || ret->cache_write;
}

static bool is_object(const value *v)
{
	return v && v->kind == V_OBJECT;
}

/* Nobody uses more models than this in a turn. */
enum { MODELS_MAX = 64 };

/* The sum over all models. */
static struct usage sum(const value *models, int64_t *ret_cost)
{
	struct usage all = { 0 };

	*ret_cost = 0;
	for (size_t i = 0; i < MIN(value_count(models), MODELS_MAX); i++) {
		const value *m = models->object.members[i].value;
		int64_t cost = dollars(value_at(m, "costUSD"));

		all = usage_plus(all,
				(struct usage){ count_at(m, "inputTokens"),
						count_at(m, "outputTokens"),
						count_at(m, "cacheReadInputTokens"),
						count_at(m, "cacheCreationInputTokens") });
		*ret_cost += MAX(cost, 0);
	}
	return all;
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
		/* The older ones count from the start of the process. */
		struct usage total = sum(models, ret_cost);
		int64_t cost = dollars(value_at(result, "total_cost_usd"));

		if (cost != COST_UNKNOWN)
			*ret_cost = cost;
		used = usage_minus(total, u->before);
		u->before = total;
		cost = *ret_cost;
		*ret_cost = MAX(cost - u->cost_before, 0);
		u->cost_before = cost;
	} else {
		/* The newer ones count the whole session in modelUsage: that is not ours to add. */
		used = usage_of(value_at(result, "usage"));
		*ret_cost = COST_UNKNOWN;
	}
	*ret = usage_minus(used, u->advance);
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
