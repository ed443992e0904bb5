#include "watch/guard/spec.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "data/value/json.h"
#include "data/value/value.h"
#include "watch/guard/judge.h"

/* A reader that goes on after the first problem, so that each member is one line. */
struct reader {
	struct arena *a;
	struct ov_err *err;
	int r;
};

static void only_keys(struct reader *rd, const value *v, const char *path, const char *const *keys,
		size_t n)
{
	if (rd->r == 0)
		rd->r = value_only_keys(v, str_from(path), keys, n, rd->err);
}

static const char *spec_text_of(struct reader *rd, str s, const char *what)
{
	if (memchr(s.p ? s.p : "", '\0', s.n)) {
		rd->r = ov_fail(rd->err, OV_EINVALID, "%s: holds a NUL", what);
		return NULL;
	}
	return arena_cstr(rd->a, s);
}

static const char *need_text(struct reader *rd, const value *v, const char *path, const char *key)
{
	str s = { 0 };

	if (rd->r == 0)
		rd->r = value_need_str(v, str_from(path), key, &s, rd->err);
	return rd->r == 0 ? spec_text_of(rd, s, key) : NULL;
}

static const char *need_path(struct reader *rd, const value *v, const char *path, const char *key)
{
	const char *s = need_text(rd, v, path, key);

	if (s && s[0] != '/')
		rd->r = ov_fail(rd->err, OV_EINVALID, "%s: \"%s\" is not an absolute path", key, s);
	return s;
}

/* An absolute path or null; the key must be there all the same. */
static const char *path_or_null(struct reader *rd, const value *v, const char *path,
		const char *key)
{
	const value *m = value_at(v, key);

	return m && m->kind == V_NULL ? NULL : need_path(rd, v, path, key);
}

static const char *const *need_words(struct reader *rd, const value *v, const char *key)
{
	const value *list = NULL;
	const char **words;
	size_t n;

	if (rd->r == 0)
		rd->r = value_need_array(v, STR("remedy"), key, &list, rd->err);
	n = value_count(list);
	words = arena_array(rd->a, const char *, n + 1);
	for (size_t i = 0; i < n && rd->r == 0; i++) {
		const value *word = value_item(list, i);

		if (word->kind != V_STR)
			rd->r = ov_fail(rd->err, OV_EINVALID, "remedy.%s[%zu]: not a string", key,
					i);
		else
			words[i] = spec_text_of(rd, word->s, key);
	}
	return words;
}

static ov_time need_number(struct reader *rd, const value *v, const char *key, int64_t min,
		int64_t max)
{
	int64_t n = 0;

	if (rd->r == 0)
		rd->r = value_need_int(v, STR("watch"), key, &n, rd->err);
	if (rd->r == 0 && (n < min || n > max))
		rd->r = ov_fail(rd->err, OV_EINVALID, "watch.%s: %lld is out of range", key,
				(long long)n);
	return n;
}

static void read_watch(struct reader *rd, const value *v, struct spec *s)
{
#define KEY(name) #name "_ms",
	static const char *const keys[] = { SPEC_TIMES(KEY) "max_restarts", "remediation_prompt" };
#undef KEY
	const value *w = NULL;

	if (rd->r == 0)
		rd->r = value_need_object(v, STR(""), "watch", &w, rd->err);
	only_keys(rd, w, "watch", keys, ARRAY_LEN(keys));
#define READ(name) s->name = need_number(rd, w, #name "_ms", 0, 400 * OV_DAY);
	SPEC_TIMES(READ)
#undef READ
	s->max_restarts = (size_t)need_number(rd, w, "max_restarts", 1, JUDGE_RESTARTS);
	s->remediation_prompt = need_text(rd, w, "watch", "remediation_prompt");
}

static void read_remedy(struct reader *rd, const value *v, struct spec *s)
{
	static const char *const keys[] = { "name", "argv", "env", "cwd", "prompt_on_stdin",
		"prompt_file" };
	const value *m = value_at(v, "remedy");

	if (m && m->kind == V_NULL)
		return;
	if (rd->r == 0)
		rd->r = value_need_object(v, STR(""), "remedy", &m, rd->err);
	only_keys(rd, m, "remedy", keys, ARRAY_LEN(keys));
	s->remedy_name = need_text(rd, m, "remedy", "name");
	s->remedy.argv = need_words(rd, m, "argv");
	s->remedy.env = need_words(rd, m, "env");
	s->remedy.cwd = need_path(rd, m, "remedy", "cwd");
	s->remedy.prompt_file = path_or_null(rd, m, "remedy", "prompt_file");
	if (rd->r == 0)
		rd->r = value_need_bool(m, STR("remedy"), "prompt_on_stdin",
				&s->remedy.prompt_on_stdin, rd->err);
	if (rd->r == 0 && !s->remedy.argv[0])
		rd->r = ov_fail(rd->err, OV_EINVALID, "remedy.argv: empty");
}

int spec_read(struct arena *a, str text, struct spec *ret, struct ov_err *err)
{
	static const char *const keys[] = { "dir", "repo", "overseer", "start_command", "watch",
		"remedy" };
	static const struct json_limits limits = { .max_bytes = SPEC_MAX };
	struct reader rd = { .a = a, .err = err };
	struct spec s = { 0 };
	value *v = NULL;

	rd.r = json_parse(a, text, &limits, &v, err);
	if (rd.r == 0 && v->kind != V_OBJECT)
		rd.r = ov_fail(err, OV_EINVALID, "not an object");
	only_keys(&rd, v, "", keys, ARRAY_LEN(keys));
	s.dir = need_path(&rd, v, "", "dir");
	s.repo = need_path(&rd, v, "", "repo");
	s.overseer = path_or_null(&rd, v, "", "overseer");
	s.start_command = need_text(&rd, v, "", "start_command");
	if (rd.r == 0 && !*s.start_command)
		rd.r = ov_fail(err, OV_EINVALID, "start_command: empty");
	read_watch(&rd, v, &s);
	read_remedy(&rd, v, &s);
	if (rd.r < 0)
		return ov_wrap(err, rd.r, "what the watchdog is to do");
	*ret = s;
	return 0;
}
