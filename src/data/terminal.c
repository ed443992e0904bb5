#include "data/terminal.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"

/* The length of what a terminal takes for an order, at the front of a text; of one that is cut, all of it. */
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

str terminal_text(struct arena *a, str s)
{
	char *to = arena_alloc(a, s.n + 1);
	size_t n = 0;

	while (s.n) {
		size_t taken = s.p[0] == '\x1b' ? order_length(s) : 1;
		char c = s.p[0] == '\x1b' ? order_gap(str_sub(s, 0, taken)) : s.p[0];
		bool order = s.p[0] == '\x1b';

		if (order ? c && n && to[n - 1] != '\n' && to[n - 1] != c
			  : c == '\n' || c == '\t' || (unsigned char)c >= ' ')
			to[n++] = c;
		s = str_sub(s, taken, s.n);
	}
	return (str){ to, n };
}
