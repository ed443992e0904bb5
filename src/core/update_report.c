/* What the report of a node says, for those who judge how its work goes. */
#include "base/arena.h"
#include "base/str.h"
#include "core/model.h"
#include "core/update.h"
#include "data/json.h"

static const value *parse(struct arena *a, const struct node *n)
{
	value *doc = NULL;

	if (!n->report.n || json_parse(a, n->report, NULL, &doc, NULL) < 0)
		return NULL;
	return doc;
}

bool report_completion(const struct node *n, int64_t *ret_centi)
{
	_cleanup_(arena_done)
	struct arena scratch = ARENA_INIT;
	double percent = value_real_or(value_at(parse(&scratch, n), "percentComplete"), -1);

	if (!(percent >= 0 && percent <= 100))
		return false;
	*ret_centi = (int64_t)(percent * 100 + 0.5);
	return true;
}

struct strs report_texts(struct arena *a, const struct node *n, const struct run *r,
		const char *key)
{
	const value *list = n->reported_at >= r->created_at ? value_at(parse(a, n), key) : NULL;
	struct strs texts = { 0 };

	if (!value_count(list))
		return texts;
	texts.p = arena_array(a, str, value_count(list));
	for (size_t i = 0; i < value_count(list); i++) {
		str s = value_str_or(value_item(list, i), STR(""));

		if (s.n)
			texts.p[texts.n++] = s;
	}
	return texts;
}
