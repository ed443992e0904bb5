#include "agent/fact/calls.h"

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

/*
 * "Bash: make test"; cut between words, so that nothing is left of one that is to be kept secret.
 */
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

/* ---- threads ---- */

uint64_t calls_thread(const struct fact *f)
{
	if (!f->child)
		return 0;
	return hash_of(f->thread.n ? f->thread : STR("one that is not named"));
}

static struct calls_thread *thread_for(struct calls *c, uint64_t id)
{
	struct calls_thread *quiet = NULL;
	size_t i = 0;

	if (!c->threads_n)
		c->threads_n = 1; /* the session */
	for (; i < c->threads_n; i++) {
		if (c->threads[i].id == id)
			break;
		if (i && (!quiet || c->threads[i].at < quiet->at))
			quiet = &c->threads[i];
	}
	if (i == CALLS_THREADS)
		i = (size_t)(quiet - c->threads);
	else if (i == c->threads_n)
		c->threads_n++;
	if (c->threads[i].id != id)
		c->threads[i] = (struct calls_thread){ .id = id };
	c->threads[i].at = ++c->heard;
	return &c->threads[i];
}

static void find_worst(struct calls *c)
{
	const struct calls_thread *worst = &c->threads[0];

	for (size_t i = 1; i < c->threads_n; i++)
		if (c->threads[i].same > worst->same)
			worst = &c->threads[i];
	c->same = worst->same;
	c->same_since = worst->same_since;
	memcpy(c->same_text, worst->same_text, sizeof(c->same_text));
}

void calls_over(struct calls *c, uint64_t thread)
{
	for (size_t i = 1; i < c->threads_n; i++) {
		if (c->threads[i].id != thread)
			continue;
		if (i != --c->threads_n)
			c->threads[i] = c->threads[c->threads_n];
		break;
	}
	find_worst(c);
}

/* ---- calls ---- */

static void count(struct calls *c, uint64_t call, const struct fact *f)
{
	struct calls_row *row = row_for(c, call);

	row->count++;
	row->at = ++c->made;
	if (row->count <= c->most)
		return;
	c->most = row->count;
	memcpy(c->digest, f->digest.p, SHA256_HEX);
	c->digest[SHA256_HEX] = '\0';
	keep_text(c->text, f);
}

uint64_t calls_made(struct calls *c, const struct fact *f)
{
	struct calls_thread *t = thread_for(c, calls_thread(f));
	uint64_t call;

	if (f->digest.n != SHA256_HEX)
		return 0;
	call = hash_of(f->digest);
	if (!f->child)
		count(c, call, f);
	/* Others may be made beside one that is repeated. */
	if (call == t->last || t->same < 2)
		keep_text(t->same_text, f);
	find_worst(c);
	return call;
}

void calls_answered(struct calls *c, uint64_t call, uint64_t thread, const struct fact *f,
		ov_time at)
{
	struct calls_thread *t = thread_for(c, thread);
	uint64_t answer = hash_of(f->digest.n ? f->digest : f->text) ^ (f->failed ? 1 : 0);

	if (call && call == t->last && answer == t->last_answer) {
		t->same++;
	} else {
		t->same = call ? 1 : 0;
		t->same_since = at;
	}
	t->last = call;
	t->last_answer = answer;
	calls_over(c, hash_of(f->id));
}

void calls_clock_moved(struct calls *c, ov_time by)
{
	if (c->same_since)
		c->same_since += by;
	for (size_t i = 0; i < c->threads_n; i++)
		if (c->threads[i].same_since)
			c->threads[i].same_since += by;
}
