#include "cli/daemon/trust.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "cli/call/child.h"
#include "data/value/toml.h"
#include "sys/file/file.h"
#include "sys/file/owner.h"

enum {
	GIT_MS = 30 * 1000,
	GIT_MAX = 64 * 1024 * 1024,
	CONFIG_MAX = 1024 * 1024,
	/* An error's message is short: the first few, each cut. */
	SHOWN = 5,
	SHOWN_BYTES = 100,
	DEPTH = 8,
};

/* ---- the commands of a configuration ---- */

struct commands {
	struct arena *a;
	struct buf text; /* a line each */
	size_t n;        /* all of them */
};

/* As it can be shown on any terminal: what is no printable character is written as its number. */
static void add_escaped(struct buf *b, str s)
{
	size_t from = b->n;

	while (s.n) {
		str at = s;
		int32_t ch = utf8_next(&s);

		if (b->n - from >= SHOWN_BYTES) {
			buf_adds(b, STR("..."));
			return;
		}
		if (ch < 0)
			buf_addf(b, "\\x%02x", (unsigned)(unsigned char)at.p[0]);
		else if (ch < 0x20 || (ch >= 0x7f && ch < 0xa0) || utf8_is_hidden(ch))
			buf_addf(b, ch < 0x100 ? "\\x%02x" : "\\u%04x", (unsigned)ch);
		else
			buf_add(b, at.p, (size_t)(s.p - at.p));
	}
}

/* "sh -c 'make test'" as a list of words, or the text itself. */
static str command_text(struct arena *a, const value *v)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	if (v->kind == V_STR)
		return v->s;
	for (size_t i = 0; v->kind == V_ARRAY && i < value_count(v); i++)
		buf_addf(&b, "%s" STR_FMT, i ? " " : "",
				STR_ARG(value_str_or(value_item(v, i), STR("?"))));
	return arena_str(a, buf_str(&b));
}

/* By the names of the options: "command", "check_command", "hook". */
static bool names_command(str key)
{
	return str_is(key, "command") || str_ends(key, STR("_command")) || str_is(key, "hook");
}

static void add_command(struct commands *c, str path, const value *v)
{
	str text = command_text(c->a, v);

	if (text.n == 0 || c->n++ >= SHOWN)
		return;
	buf_adds(&c->text, STR("\n"));
	add_escaped(&c->text, path);
	buf_adds(&c->text, STR(": "));
	add_escaped(&c->text, text);
}

static void walk(struct commands *c, str path, const value *v, int depth)
{
	for (size_t i = 0; v->kind == V_OBJECT && depth < DEPTH && i < v->object.n; i++) {
		const struct member *m = &v->object.members[i];
		str full = arena_printf(c->a, STR_FMT "%s" STR_FMT, STR_ARG(path),
				path.n ? "." : "", STR_ARG(m->key));
		/* A variable can decide what a program does. */
		bool inside_env = str_ends(path, STR(".env"));

		if (m->value->kind == V_OBJECT)
			walk(c, full, m->value, depth + 1);
		else if (names_command(m->key) || inside_env)
			add_command(c, full, m->value);
	}
}

static str commands_text(struct arena *a, const char *dir)
{
	struct commands c = { .a = a, .text = BUF_INIT };
	struct ov_err err = { 0 };
	value *doc;
	str text;
	int r = file_read(a, path_join(a, dir, "config.toml"), CONFIG_MAX, &text, &err);

	if (r == 0)
		r = toml_parse_parts(a, text, &doc, &err);
	if (r == 0)
		walk(&c, STR(""), doc, 0);
	if (r == OV_ENOTFOUND)
		text = STR("\nIt has no config.toml.");
	else if (r < 0)
		text = STR("\nIts config.toml cannot be read, so its commands cannot be shown.");
	else if (c.n == 0)
		text = STR("\nIts config.toml names no command of its own.");
	else if (c.n > SHOWN)
		text = arena_printf(a, "\nIt would run, as you:" STR_FMT "\nand %zu more",
				STR_ARG(buf_str(&c.text)), c.n - SHOWN);
	else
		text = arena_printf(a, "\nIt would run, as you:" STR_FMT,
				STR_ARG(buf_str(&c.text)));
	buf_done(&c.text);
	return text;
}

/* ---- what git tracks ---- */

/*
 * Does git list anything for this path, seen from there? Where there is no repository it does not.
 */
static bool lists(const char *cwd, const char *path)
{
	const char *argv[] = { "git", "-c", "core.fsmonitor=false", "ls-files", "-z", "--cached",
		"--", path, NULL };
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct capture spec = { .argv = argv,
		.cwd = cwd,
		.max = GIT_MAX,
		.timeout_ms = GIT_MS,
		.quiet = true };
	int status = 0, r = spawn_capture(&spec, &out, &status, NULL);

	/* So much that it cannot be read is something. */
	return r == OV_ELIMIT || (r == 0 && status == 0 && out.n > 0);
}

/* The folder by its name (files in it, a link, a submodule), and what it is where it points to. */
static bool is_tracked(struct arena *a, const char *dir)
{
	const char *slash = strrchr(dir, '/');
	const char *above = slash ? path_join(a, dir, "..") : ".";
	const char *name = slash ? slash + 1 : dir;

	if (slash && slash > dir)
		above = arena_cstr(a, (str){ dir, (size_t)(slash - dir) });
	return lists(above, arena_printf(a, ":(literal)%s", name).p) || lists(dir, ".");
}

int store_trusted(struct arena *a, const char *dir, struct ov_err *err)
{
	int r;

	if (!file_exists(dir))
		return 0;
	r = owner_check_store(dir, err);
	if (r < 0 || !is_tracked(a, dir))
		return r;
	ov_fail(err, OV_EUNAUTHORIZED,
			"git tracks files of %s: this store came with the repository and is not "
			"yours" STR_FMT,
			dir, STR_ARG(commands_text(a, dir)));
	return ov_next(err,
			"mv .overseer .overseer.theirs && git rm -rq --cached .overseer && "
			"overseer init");
}
