#include "drive/tmux/tmux_request_impl.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"

enum {
	/* of a text that is pasted: a line of the server's is no place for all of it */
	PIECE = 16 << 10,
	ABOVE_MAX = 10000,
};

/* ---- its life ---- */

void tmux_request_free(struct tmux_request *q)
{
	buf_done(&q->lines);
	arena_done(&q->arena);
	mem_free(q);
}

static void tmux_request_tell(struct tmux_request *q, int r, str text, const struct ov_err *err)
{
	if (q->done)
		q->done(q->user, r, text, err);
	tmux_request_free(q);
}

void tmux_request_fail(struct tmux_request *q, const struct ov_err *err)
{
	tmux_request_tell(q, err->code, STR(""), err);
}

bool tmux_request_answer(struct tmux_request *q, const struct tmux_said *said)
{
	if (!q->answers)
		q->answers = arena_array(&q->arena, struct tmux_answer, q->n);
	q->answers[q->answered++] = (struct tmux_answer){ .refused = said->kind == TMUX_REFUSED,
		.text = arena_str(&q->arena, said->text) };
	return q->answered == q->n;
}

void tmux_request_finish(struct tmux_request *q)
{
	struct ov_err err = { 0 };
	str text = STR("");
	int r = q->judge(q, &text, &err);

	tmux_request_tell(q, r, text, &err);
}

/* ---- what answers mean ---- */

static int refusal(const struct tmux_answer *a, struct ov_err *err)
{
	static const struct {
		const char *begins;
		int code;
	} rows[] = {
		{ "can't find ", OV_ENOTFOUND },
		{ "no such ", OV_ENOTFOUND },
		{ "no server ", OV_ENOTFOUND },
		{ "duplicate session", OV_ECONFLICT },
	};
	int code = OV_ESTATE;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (str_starts(a->text, str_from(rows[i].begins)))
			code = rows[i].code;
	return ov_fail(err, code, "tmux: " STR_FMT, STR_ARG(str_sub(a->text, 0, 300)));
}

static int judge_one(struct tmux_request *q, str *ret, struct ov_err *err)
{
	const struct tmux_answer *a = &q->answers[q->counts];

	if (a->refused)
		return refusal(a, err);
	*ret = a->text;
	return 0;
}

/* Its process from the first answer, or, where there was one of that name, from the second. */
static int judge_open(struct tmux_request *q, str *ret, struct ov_err *err)
{
	const struct tmux_answer *made = &q->answers[0], *there = &q->answers[1];
	str rest = there->text, pid;
	int r;

	if (!made->refused) {
		*ret = made->text;
		return 0;
	}
	r = refusal(made, err);
	if (r != OV_ECONFLICT || there->refused)
		return r;
	if (!str_split(&rest, ' ', &pid) || !str_eq(rest, q->mark))
		return ov_fail(err, OV_ECONFLICT, "tmux: session " STR_FMT " is taken by " STR_FMT,
				STR_ARG(q->session), STR_ARG(rest));
	*ret = pid;
	return 0;
}

/* ---- what is asked ---- */

static struct tmux_request *request_new(str session, tmux_done_fn *done, void *user)
{
	struct tmux_request *q = mem_zalloc(1, sizeof(*q));

	q->session = arena_str(&q->arena, session);
	q->done = done;
	q->user = user;
	q->judge = judge_one;
	return q;
}

static void words_add(struct buf *b, const char *const *words)
{
	for (; *words; words++)
		tmux_add_word(b, str_from(*words));
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void line_end(struct tmux_request *q, struct buf *b)
{
	buf_adds(&q->lines, buf_str(b));
	buf_addc(&q->lines, '\n');
	buf_done(b);
	q->n++;
}

static void line_add(struct tmux_request *q, const char *const *words)
{
	struct buf b = BUF_INIT;

	words_add(&b, words);
	line_end(q, &b);
}

/* The session itself, not one whose name begins so; and its only pane. */
static const char *target(struct tmux_request *q)
{
	return arena_printf(&q->arena, "=" STR_FMT ":", STR_ARG(q->session)).p;
}

/* Where tmux looks for formats, a '#' that is meant is doubled. */
static const char *literal(struct arena *a, const char *text)
{
	struct buf b = BUF_INIT;
	const char *s;

	for (; *text; text++) {
		if (*text == '#')
			buf_addc(&b, '#');
		buf_addc(&b, *text);
	}
	s = arena_cstr(a, buf_str(&b));
	buf_done(&b);
	return s;
}

void tmux_open_session(struct tmux *t, const struct tmux_session *s, tmux_done_fn *done, void *user)
{
	struct tmux_request *q = request_new(s->name, done, user);
	struct buf b = BUF_INIT;

	q->judge = judge_open;
	q->mark = arena_str(&q->arena, s->mark);
	words_add(&b,
			WORDS("new-session", "-d", "-P", "-F", "#{pane_pid}", "-s", q->session.p,
					"-n", q->mark.p, "-x",
					arena_printf(&q->arena, "%d", s->width).p, "-y",
					arena_printf(&q->arena, "%d", s->height).p, "-c",
					literal(&q->arena, s->cwd)));
	for (size_t i = 0; s->env && s->env[i]; i++)
		words_add(&b, WORDS("-e", s->env[i]));
	words_add(&b, WORDS("--"));
	words_add(&b, s->argv);
	line_end(q, &b);
	line_add(q, WORDS("display-message", "-p", "-t", target(q), "#{pane_pid} #{window_name}"));
	tmux_submit(t, q);
}

void tmux_end_session(struct tmux *t, str session, tmux_done_fn *done, void *user)
{
	struct tmux_request *q = request_new(session, done, user);

	line_add(q,
			WORDS("kill-session", "-t",
					arena_printf(&q->arena, "=" STR_FMT, STR_ARG(q->session))
							.p));
	tmux_submit(t, q);
}

/* Into a buffer of its own, piece by piece, from there to the program, and away with it. */
void tmux_paste(struct tmux *t, str session, str text, tmux_done_fn *done, void *user)
{
	struct tmux_request *q = request_new(session, done, user);
	const char *name = arena_printf(&q->arena, "paste-" STR_FMT, STR_ARG(q->session)).p;
	const char *add = NULL;

	text = tmux_clean(&q->arena, text);
	do {
		str piece = utf8_truncate(text, PIECE);
		struct buf b = BUF_INIT;

		words_add(&b, WORDS("set-buffer", "-b", name));
		if (add)
			words_add(&b, WORDS(add));
		words_add(&b, WORDS("--"));
		tmux_add_word(&b, piece);
		line_end(q, &b);
		text = str_sub(text, piece.n, text.n);
		add = "-a";
	} while (text.n);
	q->counts = q->n;
	line_add(q, WORDS("paste-buffer", "-p", "-r", "-b", name, "-t", target(q)));
	line_add(q, WORDS("delete-buffer", "-b", name));
	tmux_submit(t, q);
}

void tmux_press(struct tmux *t, str session, const char *key, tmux_done_fn *done, void *user)
{
	struct tmux_request *q = request_new(session, done, user);

	line_add(q, WORDS("send-keys", "-t", target(q), key));
	tmux_submit(t, q);
}

void tmux_capture(struct tmux *t, str session, int above, tmux_done_fn *done, void *user)
{
	struct tmux_request *q = request_new(session, done, user);

	line_add(q,
			WORDS("capture-pane", "-p", "-t", target(q), "-S",
					arena_printf(&q->arena, "-%d",
							MIN(MAX(above, 0), ABOVE_MAX))
							.p));
	tmux_submit(t, q);
}
