/* Options that are given on the command line, "KEY=VALUE": they stand in place of the file's. */
#include "base/err.h"
#include "base/str.h"
#include "core/config/config_impl.h"
#include "data/value/toml.h"

static const struct option *find_option(str key)
{
	const struct option *o = NULL;

	for (size_t i = 0; (o = config_option_at(i)) && !str_is(key, o->key); i++)
		;
	return o;
}

/* Texts need no quotes; everything else is written as in the file. */
static bool is_text(const struct option *o, str text)
{
	switch (o->type) {
	case OPT_STR:
	case OPT_WORD:
	case OPT_CHOICE:
	case OPT_DURATION:
	case OPT_BYTES:
	case OPT_CLOCK: return true;
	case OPT_UP_TO: return !str_is(text, "true") && !str_is(text, "false");
	default: return false;
	}
}

static void put(struct arena *a, value *doc, str key, value *v)
{
	str part;

	while (str_split(&key, '.', &part)) {
		value *next = key.n ? value_edit_get(doc, part) : v;

		/*
		 * What is no table there is a mistake of the file's, which is told when it is read.
		 */
		if (key.n && (!next || next->kind != V_OBJECT))
			next = value_object(a);
		value_set(a, doc, part, next);
		doc = next;
	}
}

int config_put_set(struct arena *a, value *doc, str set, struct ov_err *err)
{
	str key = str_sub(set, 0, str_find_byte(set, '=')), text = str_sub(set, key.n + 1, set.n);
	const struct option *o = find_option(key);
	value *v, *parsed;
	int r;

	if (key.n == set.n || !o) {
		ov_fail(err, OV_EINVALID, "--set " STR_FMT ": %s", STR_ARG(set),
				o ? "a value is missing; write KEY=VALUE"
				  : "there is no such option");
		return ov_next(err, "overseer config show");
	}
	if (is_text(o, text)) {
		v = value_str(a, text);
	} else {
		r = toml_parse(a, arena_printf(a, "x = " STR_FMT, STR_ARG(text)), &parsed, err);
		if (r < 0)
			return ov_wrap(err, r, "--set " STR_FMT, STR_ARG(set));
		v = value_edit_at(parsed, "x");
	}
	put(a, doc, key, v);
	return 0;
}
