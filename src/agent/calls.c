#include "agent/calls.h"

#include "base/str.h"
#include "base/utf8.h"

static uint64_t hash_of(str digest)
{
	uint64_t h = str_hash(digest, 1);

	return h ? h : 1;
}

static struct calls_row *row_for(struct calls *c, uint64_t call)
{
	struct calls_row *least = &c->rows[0];

	for (size_t i = 0; i < c->n; i++) {
		struct calls_row *row = &c->rows[i];

		if (row->call == call)
			return row;
		if (row->count < least->count ||
				(row->count == least->count && row->at < least->at))
			least = row;
	}
	if (c->n < CALLS_KEPT)
		least = &c->rows[c->n++];
	*least = (struct calls_row){ .call = call };
	return least;
}

/* "Bash: make test"; cut between words, so that nothing is left of one that is to be kept secret. */
static void keep_text(char to[CALLS_TEXT], const struct fact *f)
{
	str name = utf8_truncate(f->name, CALLS_TEXT / 4), text = f->text, cut;
	size_t n = 0, room;

	if (name.n)
		memcpy(to, name.p, n = name.n);
	room = CALLS_TEXT - 1 - n - 2;
	cut = utf8_truncate(text, room);
	while (cut.n && cut.n < text.n && !strchr(" \t\n", cut.p[cut.n - 1]))
		cut.n--;
	if (n && cut.n) {
		memcpy(to + n, ": ", 2);
		n += 2;
	}
	if (cut.n)
		memcpy(to + n, cut.p, cut.n);
	to[n + cut.n] = '\0';
}

uint64_t calls_made(struct calls *c, const struct fact *f)
{
	struct calls_row *row;

	if (f->child || f->digest.n != SHA256_HEX)
		return 0;
	row = row_for(c, hash_of(f->digest));
	row->count++;
	row->at = ++c->made;
	if (row->count > c->most) {
		c->most = row->count;
		memcpy(c->digest, f->digest.p, SHA256_HEX);
		c->digest[SHA256_HEX] = '\0';
		keep_text(c->text, f);
	}
	/* Others may be made beside one that is repeated. */
	if (row->call == c->last || c->same < 2)
		keep_text(c->same_text, f);
	return row->call;
}

void calls_answered(struct calls *c, uint64_t call, const struct fact *f, ov_time at)
{
	uint64_t answer = hash_of(f->digest.n ? f->digest : f->text) ^ (f->failed ? 1 : 0);

	if (f->child)
		return;
	if (call && call == c->last && answer == c->last_answer) {
		c->same++;
	} else {
		c->same = call ? 1 : 0;
		c->same_since = at;
	}
	c->last = call;
	c->last_answer = answer;
}
