/* Single values of the configuration: from the file into memory, and as one would write them. */
#include "base/duration.h"
#include "base/str.h"
#include "core/config/config_impl.h"
#include "core/model/limits.h"
#include "data/value/json.h"
#include "data/value/toml.h"

enum { MAX_ENV = 256 };
#define MICROUSD 1000000
static const char unlimited[] = "unlimited", from_estimate[] = "3x estimate";

#define FIELD(base, offset, type) ((type *)(void *)((char *)(base) + (offset)))
#define CFIELD(base, offset, type) ((type const *)(const void *)((const char *)(base) + (offset)))

void config_problem(struct config_reader *r, str key, const char *fmt, ...)
{
	va_list ap;

	buf_addf(&r->problems, "%s" STR_FMT ": ", r->problems.n ? "\n" : "", STR_ARG(key));
	va_start(ap, fmt);
	buf_vaddf(&r->problems, fmt, ap);
	va_end(ap);
}

bool config_want(struct config_reader *r, str key, const value *v, enum value_kind kind)
{
	if (v->kind == kind)
		return true;
	config_problem(r, key, "expected %s, found %s", value_kind_name(kind),
			value_kind_name(v->kind));
	return false;
}

static bool is_section(str key)
{
	const struct option *o;

	for (size_t i = 0; (o = config_option_at(i)); i++) {
		str name = str_from(o->key);

		if (str_eq(str_sub(name, 0, str_find_byte(name, '.')), key))
			return true;
	}
	return false;
}

void config_unknown(struct config_reader *r, str path, str key, const char *const *known, size_t n)
{
	const char *near = str_nearest(key, known, n);
	str full = arena_printf(&r->c->arena, STR_FMT "%s" STR_FMT, STR_ARG(path),
			path.n ? "." : "", STR_ARG(key));

	/* A dotted key that was appended to the file belongs to whatever table comes before it. */
	if (path.n && is_section(key))
		config_problem(r, full,
				"unknown: the line stands below [" STR_FMT "]; write [" STR_FMT
				"] above it, and it without \"" STR_FMT ".\"",
				STR_ARG(path), STR_ARG(key), STR_ARG(key));
	else if (near)
		config_problem(r, full, "unknown (did you mean \"%s\"?)", near);
	else
		config_problem(r, full, "unknown");
}

bool config_read_text(struct config_reader *r, str key, const value *v, size_t max, str *ret)
{
	if (!config_want(r, key, v, V_STR))
		return false;
	if (v->s.n > max)
		config_problem(r, key, "%zu bytes, at most %zu are allowed", v->s.n, max);
	else if (str_find_byte(v->s, '\0') < v->s.n)
		config_problem(r, key, "must not contain NUL");
	else
		*ret = v->s;
	return true;
}

static void read_int(struct config_reader *r, str key, const struct option *o, const value *v,
		int64_t *ret)
{
	if (!config_want(r, key, v, V_INT))
		return;
	if (v->i < o->min || v->i > o->max)
		config_problem(r, key, "%lld is out of range: " STR_FMT, (long long)v->i,
				STR_ARG(config_option_range(&r->c->arena, o)));
	else
		*ret = v->i;
}

static void read_duration(struct config_reader *r, str key, const struct option *o, const value *v,
		ov_time *ret)
{
	ov_time ms;

	if (!config_want(r, key, v, V_STR))
		return;
	if (!duration_parse(v->s, &ms))
		config_problem(r, key,
				"\"" STR_FMT "\" is not a duration such as \"90s\", \"15m\" or "
				"\"1h30m\"",
				STR_ARG(v->s));
	else if (ms < o->min || ms > o->max)
		config_problem(r, key, "\"" STR_FMT "\" is out of range: " STR_FMT, STR_ARG(v->s),
				STR_ARG(config_option_range(&r->c->arena, o)));
	else
		*ret = ms;
}

static const struct {
	const char *name;
	int shift;
} byte_units[] = { { "TiB", 40 }, { "GiB", 30 }, { "MiB", 20 }, { "KiB", 10 }, { "B", 0 } };

static bool bytes_parse(str s, int64_t *ret)
{
	int64_t n;

	if (str_is(s, "0")) {
		*ret = 0;
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(byte_units); i++) {
		str unit = str_from(byte_units[i].name);

		if (!str_ends(s, unit))
			continue;
		return str_to_i64(str_sub(s, 0, s.n - unit.n), &n) && n >= 0 &&
				!__builtin_mul_overflow(n, (int64_t)1 << byte_units[i].shift, ret);
	}
	return false;
}

static str bytes_format(struct arena *a, int64_t n)
{
	for (size_t i = 0; n && i < ARRAY_LEN(byte_units); i++)
		if (n % ((int64_t)1 << byte_units[i].shift) == 0)
			return arena_printf(a, "%lld%s", (long long)(n >> byte_units[i].shift),
					byte_units[i].name);
	return STR("0");
}

static void read_bytes(struct config_reader *r, str key, const struct option *o, const value *v,
		int64_t *ret)
{
	int64_t n;

	if (!config_want(r, key, v, V_STR))
		return;
	if (!bytes_parse(v->s, &n))
		config_problem(r, key,
				"\"" STR_FMT "\" is not a size such as \"512KiB\", \"256MiB\" or "
				"\"2GiB\"",
				STR_ARG(v->s));
	else if (n < o->min || n > o->max)
		config_problem(r, key, "\"" STR_FMT "\" is out of range: " STR_FMT, STR_ARG(v->s),
				STR_ARG(config_option_range(&r->c->arena, o)));
	else
		*ret = n;
}

static str item_key(struct config_reader *r, str key, size_t i)
{
	return arena_printf(&r->c->arena, STR_FMT "[%zu]", STR_ARG(key), i);
}

static void read_delays(struct config_reader *r, str key, const struct option *o, const value *v,
		ov_time *ret)
{
	size_t n = ARRAY_LEN(r->c->policy.retry_delay);

	if (!config_want(r, key, v, V_ARRAY))
		return;
	if (v->array.n != n)
		config_problem(r, key, "expected %zu durations, found %zu", n, v->array.n);
	for (size_t i = 0; i < MIN(n, v->array.n); i++)
		read_duration(r, item_key(r, key, i), o, v->array.items[i], &ret[i]);
}

/* The index in choices, or -1 with the problem noted. */
static int read_choice(struct config_reader *r, str key, const struct option *o, const value *v)
{
	_cleanup_(buf_done) struct buf all = BUF_INIT;

	if (!config_want(r, key, v, V_STR))
		return -1;
	for (int i = 0; o->choices[i]; i++) {
		if (str_is(v->s, o->choices[i]))
			return i;
		buf_addf(&all, "%s\"%s\"", i ? ", " : "", o->choices[i]);
	}
	config_problem(r, key, "\"" STR_FMT "\" is not one of: %s", STR_ARG(v->s), buf_cstr(&all));
	return -1;
}

bool config_env_name_valid(str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

		if (!letter && !(i && c >= '0' && c <= '9'))
			return false;
	}
	return s.n > 0 && s.n <= LIMIT_NAME;
}

static void read_names(struct config_reader *r, str key, const value *v, const str **ret,
		size_t *ret_n)
{
	str *names;

	if (!config_want(r, key, v, V_ARRAY))
		return;
	if (v->array.n > MAX_ENV) {
		config_problem(r, key, "%zu entries, at most %d are allowed", v->array.n, MAX_ENV);
		return;
	}
	names = arena_array(&r->c->arena, str, v->array.n + 1);
	for (size_t i = 0; i < v->array.n; i++) {
		const value *item = v->array.items[i];

		if (config_want(r, item_key(r, key, i), item, V_STR) &&
				!config_env_name_valid(item->s))
			config_problem(r, item_key(r, key, i),
					"\"" STR_FMT "\" is not a variable's name",
					STR_ARG(item->s));
		names[i] = value_str_or(item, STR(""));
	}
	*ret = names;
	*ret_n = v->array.n;
}

/* A text is for the shell, a list is the command itself; what is done with prompts comes later. */
static void read_command(struct config_reader *r, str key, const value *v, const str **ret,
		size_t *ret_n)
{
	bool shell = v->kind == V_STR;
	size_t n = shell ? 1 : value_count(v);
	str *argv = arena_array(&r->c->arena, str, n + 4), *at = argv;

	if (!shell && !config_want(r, key, v, V_ARRAY))
		return;
	if (n > LIMIT_LIST)
		config_problem(r, key, "%zu words, at most %d are allowed", n, LIMIT_LIST);
	if (shell) {
		*at++ = STR("/bin/sh");
		*at++ = STR("-c");
	}
	for (size_t i = 0; i < n; i++)
		if (!config_read_text(r, shell ? key : item_key(r, key, i),
				    shell ? v : v->array.items[i], LIMIT_NOTE, at++))
			return;
	if (n == 0 || str_trim(argv[shell ? 2 : 0]).n == 0)
		config_problem(r, key, "must not be empty");
	*ret = argv;
	*ret_n = (size_t)(at - argv);
}

static void read_texts(struct config_reader *r, str key, const struct option *o, const value *v,
		const str **ret, size_t *ret_n)
{
	str *texts;

	if (!config_want(r, key, v, V_ARRAY))
		return;
	if (v->array.n > LIMIT_LIST) {
		config_problem(r, key, "%zu entries, at most %d are allowed", v->array.n,
				LIMIT_LIST);
		return;
	}
	texts = arena_array(&r->c->arena, str, v->array.n + 1);
	for (size_t i = 0; i < v->array.n; i++)
		config_read_text(r, item_key(r, key, i), v->array.items[i], (size_t)o->max,
				&texts[i]);
	*ret = texts;
	*ret_n = v->array.n;
}

static void read_usd(struct config_reader *r, str key, const struct option *o, const value *v,
		int64_t *ret)
{
	double usd = value_real_or(v, 0), micro = usd * MICROUSD + 0.5;

	if (v->kind != V_INT && v->kind != V_REAL)
		config_problem(r, key, "expected a number of dollars, found %s",
				value_kind_name(v->kind));
	else if (!(micro >= (double)o->min && micro <= (double)o->max)) /* nor nan */
		config_problem(r, key, "%g is out of range: " STR_FMT, usd,
				STR_ARG(config_option_range(&r->c->arena, o)));
	else
		*ret = (int64_t)micro;
}

static double scale_of(const struct option *o)
{
	return o->type == OPT_MILLI ? 1000 : 100;
}

static void read_decimal(struct config_reader *r, str key, const struct option *o, const value *v,
		int64_t *ret)
{
	double n = value_real_or(v, 0), scaled = n * scale_of(o);

	if (v->kind != V_INT && v->kind != V_REAL)
		config_problem(r, key, "expected a number, found %s", value_kind_name(v->kind));
	else if (!(scaled >= (double)o->min && scaled <= (double)o->max)) /* nor nan */
		config_problem(r, key, "%g is out of range: " STR_FMT, n,
				STR_ARG(config_option_range(&r->c->arena, o)));
	else
		*ret = (int64_t)(scaled + 0.5);
}

/* "22:00", or nothing */
static void read_clock(struct config_reader *r, str key, const value *v, int64_t *ret)
{
	int64_t hour, minute;

	*ret = -1;
	if (!config_want(r, key, v, V_STR) || v->s.n == 0)
		return;
	if (v->s.n != 5 || v->s.p[2] != ':' || !str_to_i64(str_sub(v->s, 0, 2), &hour) ||
			!str_to_i64(str_sub(v->s, 3, 5), &minute) || hour < 0 || hour > 23 ||
			minute < 0 || minute > 59)
		config_problem(r, key, "\"" STR_FMT "\" is not a time of day such as \"22:00\"",
				STR_ARG(v->s));
	else
		*ret = hour * 60 + minute;
}

/* 0 would be read by some as "none" and by others as "no limit", so it is neither. */
static bool is_zero(const value *v)
{
	ov_time ms;

	return v->kind == V_STR ? duration_parse(v->s, &ms) && ms == 0 : value_real_or(v, 1) == 0;
}

bool config_budget_of_estimate(const struct option *o)
{
	return o->budget && str_contains(str_from(o->def), str_from(from_estimate));
}

/* True when v was one of the words that stand for a budget, or a mistake. */
static bool read_budget_word(struct config_reader *r, str key, const struct option *o,
		const value *v, int64_t *ret)
{
	if (v->kind == V_STR && str_is(v->s, unlimited))
		*ret = -1;
	else if (v->kind == V_STR && str_is(v->s, from_estimate) && config_budget_of_estimate(o))
		*ret = 0;
	else if (is_zero(v))
		config_problem(r, key, "0 is not a budget; write \"%s\" if there is to be none",
				unlimited);
	else
		return false;
	return true;
}

static void read_env(struct config_reader *r, str key, const value *v, const struct env_pair **ret,
		size_t *ret_n)
{
	struct env_pair *env;

	if (!config_want(r, key, v, V_OBJECT))
		return;
	if (v->object.n > MAX_ENV) {
		config_problem(r, key, "%zu entries, at most %d are allowed", v->object.n, MAX_ENV);
		return;
	}
	env = arena_array(&r->c->arena, struct env_pair, v->object.n + 1);
	for (size_t i = 0; i < v->object.n; i++) {
		const struct member *m = &v->object.members[i];
		str at = arena_printf(&r->c->arena, STR_FMT "." STR_FMT, STR_ARG(key),
				STR_ARG(m->key));

		if (!config_env_name_valid(m->key))
			config_problem(r, at, "\"" STR_FMT "\" is not a variable's name",
					STR_ARG(m->key));
		env[i].name = m->key;
		config_read_text(r, at, m->value, LIMIT_TEXT, &env[i].value);
	}
	*ret = env;
	*ret_n = v->object.n;
}

static void read_value(struct config_reader *r, str key, const struct option *o, const value *v,
		void *base)
{
	size_t *count = FIELD(base, o->count_offset, size_t);
	int choice;

	if (o->budget && read_budget_word(r, key, o, v, FIELD(base, o->offset, int64_t)))
		return;
	switch (o->type) {
	case OPT_STR:
		config_read_text(r, key, v, (size_t)o->max, FIELD(base, o->offset, str));
		break;
	case OPT_INT: read_int(r, key, o, v, FIELD(base, o->offset, int64_t)); break;
	case OPT_BOOL:
		if (config_want(r, key, v, V_BOOL))
			*FIELD(base, o->offset, bool) = v->b;
		break;
	case OPT_DURATION: read_duration(r, key, o, v, FIELD(base, o->offset, ov_time)); break;
	case OPT_BYTES: read_bytes(r, key, o, v, FIELD(base, o->offset, int64_t)); break;
	case OPT_UP_TO:
		if (v->kind == V_BOOL)
			*FIELD(base, o->offset, int64_t) = v->b ? INT64_MAX : 0;
		else if (v->kind == V_STR)
			read_bytes(r, key, o, v, FIELD(base, o->offset, int64_t));
		else
			config_problem(r, key, "expected true, false or a size, found %s",
					value_kind_name(v->kind));
		break;
	case OPT_DELAYS: read_delays(r, key, o, v, FIELD(base, o->offset, ov_time)); break;
	case OPT_WORD:
		choice = read_choice(r, key, o, v);
		if (choice >= 0)
			*FIELD(base, o->offset, str) = str_from(o->choices[choice]);
		break;
	case OPT_CHOICE:
		choice = read_choice(r, key, o, v);
		*FIELD(base, o->offset, int) = MAX(choice, 0);
		break;
	case OPT_NAMES: read_names(r, key, v, FIELD(base, o->offset, const str *), count); break;
	case OPT_COMMAND:
		read_command(r, key, v, FIELD(base, o->offset, const str *), count);
		break;
	case OPT_ENV:
		read_env(r, key, v, FIELD(base, o->offset, const struct env_pair *), count);
		break;
	case OPT_TEXTS: read_texts(r, key, o, v, FIELD(base, o->offset, const str *), count); break;
	case OPT_USD: read_usd(r, key, o, v, FIELD(base, o->offset, int64_t)); break;
	case OPT_MILLI:
	case OPT_CENTI: read_decimal(r, key, o, v, FIELD(base, o->offset, int64_t)); break;
	case OPT_CLOCK: read_clock(r, key, v, FIELD(base, o->offset, int64_t)); break;
	}
}

value *config_option_default(struct arena *a, const struct option *o)
{
	value *doc;
	int r;

	if (o->preset) {
		struct config *c = arena_new(a, struct config);

		oversight_preset(&c->policy.oversight, PRESET_DEFAULT);
		return config_option_value(a, o, c);
	}
	if (!o->def)
		return value_null(a);
	r = toml_parse(a, arena_printf(a, "v = %s", o->def), &doc, NULL);
	assert(r == 0);
	return value_edit_at(doc, "v");
}

str config_option_default_text(struct arena *a, const struct option *o)
{
	return o->preset ? json_text(a, config_option_default(a, o)) : str_from(o->def);
}

/* The default is read by the same code as the file. */
void config_read_option(struct config_reader *r, str key, const struct option *o, const value *v,
		void *base)
{
	if (v || o->def)
		read_value(r, key, o, v ? v : config_option_default(&r->c->arena, o), base);
	else if (!o->optional && !o->preset)
		config_problem(r, key, "is missing");
}

static value *strs_value(struct arena *a, const str *p, size_t n)
{
	value *v = value_array(a);

	for (size_t i = 0; i < n; i++)
		value_push(a, v, value_str(a, p[i]));
	return v;
}

/* Names only: a value may be a secret. */
static value *env_value(struct arena *a, const struct env_pair *env, size_t n)
{
	value *v = value_object(a);

	for (size_t i = 0; i < n; i++)
		value_set(a, v, env[i].name, value_cstr(a, "(hidden)"));
	return v;
}

static value *delays_value(struct arena *a, const ov_time *delays, size_t n)
{
	value *v = value_array(a);

	for (size_t i = 0; i < n; i++)
		value_push(a, v, value_str(a, duration_format(a, delays[i])));
	return v;
}

static value *usd_value(struct arena *a, int64_t micro)
{
	return micro % MICROUSD ? value_real(a, (double)micro / MICROUSD)
				: value_int(a, micro / MICROUSD);
}

static value *clock_value(struct arena *a, int64_t minutes)
{
	return minutes < 0 ? value_cstr(a, "")
			   : value_strf(a, "%02d:%02d", (int)(minutes / 60), (int)(minutes % 60));
}

static value *up_to_value(struct arena *a, int64_t n)
{
	return n == 0 || n == INT64_MAX ? value_bool(a, n != 0) : value_str(a, bytes_format(a, n));
}

value *config_option_value(struct arena *a, const struct option *o, const void *base)
{
	size_t n = o->count_offset ? *CFIELD(base, o->count_offset, size_t) : 0;

	if (o->optional && o->type != OPT_COMMAND && *CFIELD(base, o->offset, int64_t) < 0)
		return value_null(a);
	if (o->budget && *CFIELD(base, o->offset, int64_t) <= 0)
		return value_cstr(a, *CFIELD(base, o->offset, int64_t) ? unlimited : from_estimate);
	switch (o->type) {
	case OPT_STR:
	case OPT_WORD: return value_str(a, *CFIELD(base, o->offset, str));
	case OPT_INT: return value_int(a, *CFIELD(base, o->offset, int64_t));
	case OPT_BOOL: return value_bool(a, *CFIELD(base, o->offset, bool));
	case OPT_DURATION:
		return value_str(a, duration_format(a, *CFIELD(base, o->offset, ov_time)));
	case OPT_BYTES: return value_str(a, bytes_format(a, *CFIELD(base, o->offset, int64_t)));
	case OPT_UP_TO: return up_to_value(a, *CFIELD(base, o->offset, int64_t));
	case OPT_DELAYS:
		return delays_value(a, CFIELD(base, o->offset, ov_time),
				ARRAY_LEN(((struct config *)NULL)->policy.retry_delay));
	case OPT_CHOICE: return value_cstr(a, o->choices[*CFIELD(base, o->offset, int)]);
	case OPT_NAMES:
	case OPT_TEXTS:
	case OPT_COMMAND: return strs_value(a, *CFIELD(base, o->offset, const str *), n);
	case OPT_ENV: return env_value(a, *CFIELD(base, o->offset, const struct env_pair *), n);
	case OPT_USD: return usd_value(a, *CFIELD(base, o->offset, int64_t));
	case OPT_MILLI:
	case OPT_CENTI:
		return value_real(a, (double)*CFIELD(base, o->offset, int64_t) / scale_of(o));
	case OPT_CLOCK: return clock_value(a, *CFIELD(base, o->offset, int64_t));
	}
	return value_null(a);
}

str config_option_range(struct arena *a, const struct option *o)
{
	if (o->type == OPT_INT)
		return arena_printf(a, "%lld to %lld", (long long)o->min, (long long)o->max);
	if (o->type == OPT_DURATION || o->type == OPT_DELAYS)
		return arena_printf(a, STR_FMT " to " STR_FMT, STR_ARG(duration_format(a, o->min)),
				STR_ARG(duration_format(a, o->max)));
	if (o->type == OPT_BYTES || o->type == OPT_UP_TO)
		return arena_printf(a, STR_FMT " to " STR_FMT, STR_ARG(bytes_format(a, o->min)),
				STR_ARG(bytes_format(a, o->max)));
	if (o->type == OPT_MILLI || o->type == OPT_CENTI)
		return arena_printf(a, "%g to %g", (double)o->min / scale_of(o),
				(double)o->max / scale_of(o));
	if (o->type == OPT_USD)
		return arena_printf(a, "%g to %g", (double)o->min / MICROUSD,
				(double)o->max / MICROUSD);
	return STR("");
}
