#include "cli/out/out.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "data/id/ulid.h"
#include "data/value/json.h"
#include "sys/host/clock.h"

enum { ID_MIN = 10, ID_CERTAIN = 16, ID_PREFIX_MAX = 8, HASH_LEN = 40, HASH_SHOWN = 12 };

static const char *const style_codes[] = {
	[S_PLAIN] = "",
	[S_BOLD] = "\033[1m",
	[S_DIM] = "\033[2m",
	[S_RED] = "\033[31m",
	[S_GREEN] = "\033[32m",
	[S_YELLOW] = "\033[33m",
	[S_CYAN] = "\033[36m",
};

/* The locale's character set by the variables alone: setlocale would read files at every start. */
static bool locale_is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *v = getenv(names[i]);

		if (v && *v)
			return strcasestr(v, "UTF-8") || strcasestr(v, "UTF8");
	}
	return false;
}

void out_init(struct out *o, struct arena *a, int fd)
{
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");

	*o = (struct out){ .arena = a, .now = clock_wall() };
	o->terminal = isatty(fd);
	o->utf8 = locale_is_utf8();
	o->colour = o->terminal && !(no_colour && *no_colour) &&
			!(term && strcmp(term, "dumb") == 0);
}

void out_done(struct out *o)
{
	buf_done(&o->buf);
	vec_done(&o->cells);
}

int out_flush(struct out *o, int fd, struct ov_err *err)
{
	size_t done = 0;

	while (done < o->buf.n) {
		ssize_t n = write(fd, o->buf.p + done, o->buf.n - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int e = errno;

			buf_clear(&o->buf);
			return ov_fail_errno(err, e, "writing the output");
		}
		done += (size_t)n;
	}
	buf_clear(&o->buf);
	return 0;
}

void out_f(struct out *o, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&o->buf, fmt, ap);
	va_end(ap);
}

static str clean(struct out *o, str s, bool lines)
{
	char *p = arena_alloc(o->arena, arena_size_mul(s.n, 3) + 1);
	size_t n = 0;

	while (s.n) {
		str at = s;
		int32_t ch = utf8_next(&s);
		bool control = ch < 0 || ch < 0x20 || (ch >= 0x7f && ch < 0xa0) ||
				utf8_is_hidden(ch);

		if (ch == '\n' || ch == '\t') {
			p[n++] = lines ? (char)ch : ' ';
		} else if (ch == '\r' && lines && s.n && s.p[0] == '\n') {
			continue;
		} else if (!o->utf8 && (control || ch >= 0x80)) {
			p[n++] = '?';
		} else if (control) {
			memcpy(p + n, "\xef\xbf\xbd", 3);
			n += 3;
		} else {
			memcpy(p + n, at.p, (size_t)(s.p - at.p));
			n += (size_t)(s.p - at.p);
		}
	}
	p[n] = '\0';
	return (str){ p, n };
}

str out_clean(struct out *o, str s)
{
	return clean(o, s, false);
}

str out_clean_lines(struct out *o, str s)
{
	return clean(o, s, true);
}

str out_short(struct out *o, str s, size_t columns)
{
	str ellipsis = o->utf8 ? STR("\xe2\x80\xa6") : STR("...");
	size_t room = columns - utf8_width(ellipsis), used = 0;
	str rest;

	s = out_clean(o, s);
	if (utf8_width(s) <= columns)
		return s;
	for (rest = s; rest.n;) {
		size_t len = utf8_len(rest), w = utf8_width((str){ rest.p, len });

		if (used + w > room)
			break;
		used += w;
		rest = str_sub(rest, len, rest.n);
	}
	return arena_printf(o->arena, STR_FMT STR_FMT, (int)(rest.p - s.p), s.p, STR_ARG(ellipsis));
}

static void add_styled(struct out *o, enum style style, str clean_text)
{
	bool on = o->colour && style != S_PLAIN && clean_text.n;

	if (on)
		buf_adds(&o->buf, str_from(style_codes[style]));
	buf_adds(&o->buf, clean_text);
	if (on)
		buf_adds(&o->buf, STR("\033[0m"));
}

void out_text(struct out *o, str s)
{
	buf_adds(&o->buf, out_clean(o, s));
}

void out_styled(struct out *o, enum style style, str s)
{
	add_styled(o, style, out_clean(o, s));
}

void out_json(struct out *o, const value *v)
{
	json_write(&o->buf, v);
	buf_addc(&o->buf, '\n');
}

void out_keep_lines(struct out *o, int64_t lines)
{
	str all = buf_str(&o->buf);
	size_t at = all.n;

	if (at && all.p[at - 1] == '\n')
		at--;
	while (at && (all.p[at - 1] != '\n' || --lines > 0))
		at--;
	buf_consume(&o->buf, at);
}

void out_lines(struct out *o, const char *prefix, str s)
{
	str rest = out_clean_lines(o, s), line;

	while (str_split(&rest, '\n', &line))
		out_f(o, "%s" STR_FMT "\n", prefix, STR_ARG(line));
}

void cell(struct out *o, enum style style, str s)
{
	struct cell c = { .text = out_clean(o, s), .style = style };

	vec_push(&o->cells, c);
}

void cell_right(struct out *o, enum style style, str s)
{
	cell(o, style, s);
	vec_last(&o->cells).right = true;
}

void cell_f(struct out *o, enum style style, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	cell(o, style, arena_vprintf(o->arena, fmt, ap));
	va_end(ap);
}

void row_end(struct out *o)
{
	vec_last(&o->cells).last = true;
}

enum { COLUMNS_MAX = 16 };

static void widths_of(const struct out *o, size_t ret[static COLUMNS_MAX])
{
	size_t column = 0;

	memset(ret, 0, COLUMNS_MAX * sizeof(*ret));
	for (size_t i = 0; i < o->cells.n; i++) {
		const struct cell *c = &o->cells.p[i];

		assert(column < COLUMNS_MAX);
		/* The last cell of a row is not padded, so it widens nothing. */
		if (!c->last)
			ret[column] = MAX(ret[column], utf8_width(c->text));
		column = c->last ? 0 : column + 1;
	}
}

/* Empty cells at the end of a row leave no blanks behind. */
static void end_line(struct out *o)
{
	while (o->buf.n && o->buf.p[o->buf.n - 1] == ' ')
		o->buf.n--;
	buf_addc(&o->buf, '\n');
}

void table_end(struct out *o, const char *indent)
{
	size_t widths[COLUMNS_MAX], column = 0;

	widths_of(o, widths);
	for (size_t i = 0; i < o->cells.n; i++) {
		const struct cell *c = &o->cells.p[i];
		size_t w = utf8_width(c->text), pad = widths[column] > w ? widths[column] - w : 0;

		out_f(o, "%s", column == 0 ? indent : "  ");
		if (c->right)
			out_f(o, "%*s", (int)pad, "");
		add_styled(o, c->style, c->text);
		if (c->last)
			end_line(o);
		else if (!c->right)
			out_f(o, "%*s", (int)pad, "");
		column = c->last ? 0 : column + 1;
	}
	vec_clear(&o->cells);
}

void out_heading(struct out *o, const char *title, size_t n)
{
	if (n == 0)
		return;
	add_styled(o, S_BOLD, str_from(title));
	out_f(o, " (%zu)\n", n);
}

void out_field(struct out *o, const char *label, str s)
{
	if (s.n == 0)
		return;
	cell(o, S_DIM, str_from(label));
	cell(o, S_PLAIN, s);
	row_end(o);
}

void out_fields(struct out *o, const char *label, const value *texts)
{
	for (size_t i = 0; i < value_count(texts); i++)
		out_field(o, i ? "" : label, value_str_or(value_item(texts, i), STR("")));
}

str out_joined(struct arena *a, const value *texts, const char *between)
{
	str s = STR("");

	for (size_t i = 0; i < value_count(texts); i++)
		s = arena_printf(a, STR_FMT "%s" STR_FMT, STR_ARG(s), i ? between : "",
				STR_ARG(value_str_or(value_item(texts, i), STR(""))));
	return s;
}

/* As people say it: no seconds from a minute on. */
static str human_duration(struct out *o, int64_t ms)
{
	return duration_format_short(o->arena, ms - ms % (ms < OV_MINUTE ? OV_SECOND : OV_MINUTE));
}

str out_age(struct out *o, str rfc3339)
{
	ov_time t;

	return time_parse(rfc3339, &t) ? human_duration(o, MAX(o->now - t, (ov_time)0)) : STR("-");
}

str out_until(struct out *o, str rfc3339)
{
	ov_time t;

	if (!time_parse(rfc3339, &t) || t <= o->now)
		return STR("now");
	return arena_printf(o->arena, "in " STR_FMT,
			STR_ARG(human_duration(o, t - o->now + OV_SECOND - 1)));
}

str out_clock(struct out *o, str rfc3339)
{
	struct tm tm, today;
	time_t at, now = (time_t)(o->now / OV_SECOND);
	char text[64];
	ov_time t;

	if (!time_parse(rfc3339, &t))
		return STR("-");
	at = (time_t)(t / OV_SECOND);
	localtime_r(&at, &tm);
	localtime_r(&now, &today);
	if (tm.tm_year == today.tm_year && tm.tm_yday == today.tm_yday)
		strftime(text, sizeof(text), "%H:%M:%S", &tm);
	else
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	return arena_str(o->arena, str_from(text));
}

str out_near(struct out *o, str rfc3339)
{
	ov_time t;

	return time_parse(rfc3339, &t) ? time_format_near(o->arena, t, o->now, clock_utc_offset(t))
				       : STR("-");
}

str out_bytes(struct out *o, int64_t n)
{
	static const char *const units[] = { "kB", "MB", "GB", "TB" };
	int64_t tenths = n / 100; /* of a thousand bytes */
	size_t i = 0;

	if (n < 1000)
		return arena_printf(o->arena, "%lld byte%s", (long long)n, n == 1 ? "" : "s");
	for (; tenths >= 10000 && i + 1 < ARRAY_LEN(units); i++)
		tenths /= 1000;
	return arena_printf(o->arena, "%lld.%lld %s", (long long)(tenths / 10),
			(long long)(tenths % 10), units[i]);
}

str out_bar(struct out *o, int64_t done, int64_t all, size_t width)
{
	size_t full = all > 0 ? (size_t)(done * (int64_t)width / all) : 0;
	char *p = arena_alloc(o->arena, width + 1);

	full = MIN(full, width);
	memset(p, '#', full);
	memset(p + full, '-', width - full);
	p[width] = '\0';
	return (str){ p, width };
}

enum style status_style(str status)
{
	static const struct {
		const char *name;
		enum style style;
	} styles[] = {
		{ "done", S_GREEN },
		{ "completed", S_GREEN },
		{ "healthy", S_GREEN },
		{ "passed", S_GREEN },
		{ "in_progress", S_CYAN },
		{ "running", S_CYAN },
		{ "active", S_CYAN },
		{ "starting", S_CYAN },
		{ "queued", S_PLAIN },
		{ "blocked", S_RED },
		{ "failed", S_RED },
		{ "refused", S_RED },
		{ "critical", S_RED },
		{ "aborted", S_RED },
		{ "stalled", S_YELLOW },
		{ "warning", S_YELLOW },
		{ "paused", S_YELLOW },
		{ "cancelled", S_DIM },
		{ "archived", S_DIM },
		{ "todo", S_DIM },
	};

	for (size_t i = 0; i < ARRAY_LEN(styles); i++)
		if (str_is(status, styles[i].name))
			return styles[i].style;
	return S_PLAIN;
}

void ids_add(struct ids *ids, str id)
{
	/* Lists have the same id many times in a row. */
	if (id.n && !(ids->all.n && str_eq(vec_last(&ids->all), id)))
		vec_push(&ids->all, id);
}

void ids_done(struct ids *ids)
{
	vec_done(&ids->all);
}

/* The length of a name with a ULID at the front of s ("R_" and 26 characters), or 0. */
static size_t id_at(str s)
{
	size_t prefix = 0;

	while (prefix < s.n && prefix < ID_PREFIX_MAX && isalpha((unsigned char)s.p[prefix]))
		prefix++;
	if (prefix == 0 || prefix + 1 + ULID_LEN > s.n || s.p[prefix] != '_' ||
			!ulid_valid(str_sub(s, prefix + 1, ULID_LEN)))
		return 0;
	return prefix + 1 + ULID_LEN;
}

/* The length of a commit's name at the front of s, or 0. */
static size_t hash_at(str s)
{
	size_t n = 0;

	while (n < s.n && isxdigit((unsigned char)s.p[n]))
		n++;
	return n == HASH_LEN ? n : 0;
}

str out_prose(struct out *o, str s)
{
	char *p = arena_alloc(o->arena, s.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < s.n;) {
		str rest = str_sub(s, i, s.n);
		/* Inside a longer word (a ref, a path) it must stay as it is. */
		bool begins = i == 0 ||
				!(isalnum((unsigned char)s.p[i - 1]) || s.p[i - 1] == '/' ||
						s.p[i - 1] == '_');
		size_t id = begins ? id_at(rest) : 0, hash = begins ? hash_at(rest) : 0;
		size_t keep = id ? id_short(str_sub(rest, 0, id)).n : hash ? HASH_SHOWN : 1;

		memcpy(p + n, rest.p, keep);
		n += keep;
		i += id ? id : hash ? hash : 1;
	}
	p[n] = '\0';
	return (str){ p, n };
}

str id_short(str id)
{
	/* After the kind's prefix come 10 characters of time and 16 of randomness. */
	size_t prefix = str_find_byte(id, '_');

	return prefix == id.n ? id : str_sub(id, 0, prefix + 1 + ID_CERTAIN);
}

str ids_short(const struct ids *ids, str id)
{
	size_t need = ID_MIN;

	if (ids->partial)
		return id_short(id);
	for (size_t i = 0; i < ids->all.n; i++) {
		str other = ids->all.p[i];
		size_t same = 0;

		while (same < id.n && same < other.n && id.p[same] == other.p[same])
			same++;
		if (same < id.n)
			need = MAX(need, same + 1);
	}
	return str_sub(id, 0, need);
}
