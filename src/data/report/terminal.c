#include "data/report/terminal.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"

/*
 * The length of what a terminal takes for an order, at the front of a text; of one that is cut,
 * all of it.
 */
static size_t order_length(str s)
{
	size_t n = 2;

	if (s.n < 2)
		return s.n;
	if (s.p[1] == '[') { /* up to its letter */
		while (n < s.n && (s.p[n] < '@' || s.p[n] > '~'))
			n++;
		return MIN(n + 1, s.n);
	}
	if (s.p[1] == ']' || s.p[1] == 'P' || s.p[1] == '_') { /* up to BEL, or ESC and another */
		while (n < s.n && s.p[n] != '\a' && s.p[n] != '\x1b')
			n++;
		return MIN(n + (n < s.n && s.p[n] == '\x1b' ? 2 : 1), s.n);
	}
	while (n < s.n && s.p[n - 1] >= ' ' && s.p[n - 1] <= '/')
		n++;
	return n;
}

/* What an order comes to where there is no cursor: a gap, another line, or nothing. */
static char order_gap(str order)
{
	char last = order.p[order.n - 1];

	if (order.n < 3 || order.p[1] != '[')
		return 0;
	return strchr("CG", last) ? ' ' : strchr("ABEFHdf", last) ? '\n' : 0;
}

/* Of a character that is no order: what is hidden, and what steers the terminal, is left out. */
static bool is_text(int32_t c)
{
	return c == '\n' || c == '\t' || c < 0 ||
			(c >= ' ' && !(c >= 0x80 && c < 0xa0) && !utf8_is_hidden(c));
}

str terminal_text(struct arena *a, str s)
{
	char *to = arena_alloc(a, s.n + 1);
	size_t n = 0;

	while (s.n) {
		str rest = s;

		if (s.p[0] == '\x1b') {
			size_t taken = order_length(s);
			char c = order_gap(str_sub(s, 0, taken));

			if (c && n && to[n - 1] != '\n' && to[n - 1] != c)
				to[n++] = c;
			s = str_sub(s, taken, s.n);
			continue;
		}
		if (is_text(utf8_next(&rest))) {
			memcpy(to + n, s.p, (size_t)(rest.p - s.p));
			n += (size_t)(rest.p - s.p);
		}
		s = rest;
	}
	return (str){ to, n };
}
