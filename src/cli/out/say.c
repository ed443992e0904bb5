#include "cli/out/say.h"

#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"
#include "cli/out/cost.h"

/* ---- forms ---- */

static str number_text(struct out *o, const value *v)
{
	return arena_printf(o->arena, "%lld", (long long)value_int_or(v, 0));
}

static str count_text(struct out *o, const value *v)
{
	return arena_printf(o->arena, "%zu", value_count(v));
}

static str took_text(struct out *o, const value *v)
{
	return duration_format_short(o->arena, value_int_or(v, 0));
}

static str bytes_text(struct out *o, const value *v)
{
	return out_bytes(o, value_int_or(v, 0));
}

static str spent_tokens_text(struct out *o, const value *v)
{
	return tokens_text(o->arena, value_int_or(v, 0));
}

static str spent_cost_text(struct out *o, const value *v)
{
	return cost_text(o->arena, value_int_or(v, 0));
}

static str list_text(struct out *o, const value *v)
{
	return out_clean(o, out_joined(o->arena, v, ", "));
}

static str prose_text(struct out *o, const value *v)
{
	return out_clean(o, out_prose(o, value_str_or(v, STR(""))));
}

static str short_id_text(struct out *o, const value *v)
{
	return out_clean(o, id_short(value_str_or(v, STR(""))));
}

static const struct {
	const char *name;
	str (*text)(struct out *o, const value *v);
	str (*time)(struct out *o, str rfc3339); /* or this one */
} forms[] = {
	{ "n", number_text, NULL },
	{ "count", count_text, NULL },
	{ "took", took_text, NULL },
	{ "bytes", bytes_text, NULL },
	{ "tokens", spent_tokens_text, NULL },
	{ "cost", spent_cost_text, NULL },
	{ "list", list_text, NULL },
	{ "prose", prose_text, NULL },
	{ "id", short_id_text, NULL },
	{ "age", NULL, out_age },
	{ "until", NULL, out_until },
	{ "clock", NULL, out_clock },
	{ "near", NULL, out_near },
};

static str noun_text(struct out *o, int64_t n, str noun)
{
	return arena_printf(o->arena, "%lld " STR_FMT "%s", (long long)n, STR_ARG(noun),
			n == 1 ? "" : "s");
}

static str in_form(struct out *o, const value *v, str form)
{
	str text = value_str_or(v, STR(""));
	int64_t columns;

	if (!form.n)
		return out_clean(o, text);
	if (form.p[0] == '#')
		return noun_text(o, value_int_or(v, 0), str_sub(form, 1, form.n));
	if (str_to_i64(form, &columns))
		return out_short(o, text, (size_t)columns);
	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		if (str_is(form, forms[i].name))
			return forms[i].text ? forms[i].text(o, v) : forms[i].time(o, text);
	assert(!"a form that there is");
	return STR("");
}

/* ---- parts ---- */

static const value *find_path(const value *x, str path)
{
	str name;

	while (path.n && str_split(&path, '.', &name))
		x = value_get(x, name);
	return x;
}

static bool is_there(const value *v)
{
	return value_str_or(v, STR("")).n || value_int_or(v, 0) || value_bool_or(v, false) ||
			value_count(v);
}

static enum style style_named(str name, const value *v)
{
	static const char *const names[] = { [S_PLAIN] = "plain",
		[S_BOLD] = "bold",
		[S_DIM] = "dim",
		[S_RED] = "red",
		[S_GREEN] = "green",
		[S_YELLOW] = "yellow",
		[S_CYAN] = "cyan" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (str_is(name, names[i]))
			return (enum style)i;
	return str_is(name, "status") ? status_style(value_str_or(v, STR(""))) : S_PLAIN;
}

struct part {
	str path, form, style, otherwise;
};

/* What stands behind `mark` in s, which keeps what stands before it. */
static str take_behind(str *s, char mark)
{
	size_t at = str_find_byte(*s, mark);
	str behind = str_sub(*s, at + 1, s->n);

	*s = str_sub(*s, 0, at);
	return behind;
}

/* "path:form*style|otherwise" or "=text*style" */
static struct part part_of(str s)
{
	bool text = str_starts(s, STR("="));
	struct part p = { .otherwise = text ? STR("") : take_behind(&s, '|') };

	p.style = take_behind(&s, '*');
	p.form = text ? STR("") : take_behind(&s, ':');
	p.path = s;
	return p;
}

static void put_part(struct out *o, const value *x, str s)
{
	struct part p = part_of(s);
	const value *v = find_path(x, p.path);

	if (str_starts(p.path, STR("?")) || str_starts(p.path, STR("!")))
		return;
	if (str_starts(p.path, STR("=")))
		out_styled(o, style_named(p.style, NULL), str_sub(p.path, 1, p.path.n));
	else if (p.otherwise.n && !is_there(v))
		buf_adds(&o->buf, p.otherwise);
	else if (p.style.n)
		out_styled(o, style_named(p.style, v), in_form(o, v, p.form));
	else
		buf_adds(&o->buf, in_form(o, v, p.form));
}

/* Is what the first part of a piece asks for the case? */
static bool part_holds(const value *x, str piece)
{
	size_t from = str_find_byte(piece, '{') + 1;
	str rest = str_sub(piece, from, piece.n);
	str path = part_of(str_sub(rest, 0, str_find_byte(rest, '}'))).path;
	bool asks = str_starts(path, STR("?")), denies = str_starts(path, STR("!"));

	return is_there(find_path(x, str_sub(path, asks || denies, path.n))) != denies;
}

/*
 * The length of the piece at the front of s that ends with `end`, or s.n: pieces in it are skipped.
 */
static size_t piece_len(str s, char end)
{
	int depth = 0;

	for (size_t i = 0; i < s.n; i++) {
		if (depth == 0 && s.p[i] == end)
			return i;
		depth += s.p[i] == '[' || s.p[i] == '{';
		depth -= s.p[i] == ']' || s.p[i] == '}';
	}
	return s.n;
}

static void put_template(struct out *o, const value *x, str text);

static void put_piece(struct out *o, const value *x, str piece)
{
	size_t half = piece_len(piece, '|');

	if (part_holds(x, piece))
		put_template(o, x, str_sub(piece, 0, half));
	else
		put_template(o, x, str_sub(piece, half + 1, piece.n));
}

static void put_template(struct out *o, const value *x, str text)
{
	while (text.n) {
		char c = text.p[0];
		bool opens = c == '{' || c == '[';
		str rest = str_sub(text, 1, text.n);
		size_t n = 0;

		if (!opens || str_starts(rest, (str){ &c, 1 })) {
			buf_addc(&o->buf, c);
			text = opens ? str_sub(rest, 1, rest.n) : rest;
			continue;
		}
		n = piece_len(rest, c == '{' ? '}' : ']');
		assert(n < rest.n);
		if (c == '{')
			put_part(o, x, str_sub(rest, 0, n));
		else
			put_piece(o, x, str_sub(rest, 0, n));
		text = str_sub(rest, n + 1, rest.n);
	}
}

void say(struct out *o, const value *x, const char *text)
{
	put_template(o, x, str_from(text));
}

str say_text(struct out *o, const value *x, const char *text)
{
	size_t before = o->buf.n;
	bool colour = o->colour;
	str made;

	o->colour = false;
	say(o, x, text);
	o->colour = colour;
	made = arena_str(o->arena, str_sub(buf_str(&o->buf), before, o->buf.n));
	o->buf.n = before;
	return made;
}

/* ---- tables ---- */

void say_cells_of(struct out *o, const value *x, const struct column *columns, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct column *c = &columns[i];
		enum style style = c->status ? status_style(value_str_at(x, c->status)) : c->style;

		if (c->own)
			c->own(o, x);
		else if (c->right)
			cell_right(o, style, say_text(o, x, c->text));
		else
			cell(o, style, say_text(o, x, c->text));
	}
}

void say_columns(struct out *o, const value *x, const struct column *columns, size_t n)
{
	say_cells_of(o, x, columns, n);
	row_end(o);
}

void say_rows(struct out *o, const value *list, const struct column *columns, size_t n,
		const char *indent)
{
	for (size_t i = 0; i < value_count(list); i++)
		say_columns(o, value_item(list, i), columns, n);
	table_end(o, indent);
}

void say_field(struct out *o, const value *x, const char *label, const char *text)
{
	out_field(o, label, say_text(o, x, text));
}

void say_fields_of(struct out *o, const value *x, const struct shown_field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fields[i].list)
			out_fields(o, fields[i].label, find_path(x, str_from(fields[i].text)));
		else
			say_field(o, x, fields[i].label, fields[i].text);
}
