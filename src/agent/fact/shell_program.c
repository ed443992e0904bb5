#include "agent/fact/shell_program.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/str.h"
#include "data/value/json.h"

enum { COMMAND_MAX = 4096, WORDS_MAX = 8, NEST_MAX = 2 };

enum token { TOKEN_END, TOKEN_WORD, TOKEN_NEXT, TOKEN_PIPE, TOKEN_HERE };

struct shell_word {
	str text;
	bool plain; /* what stands there is what is meant */
};

/* What was named so far. */
struct naming {
	char *text;
	size_t n;
	str quick; /* the first of those that take no time */
	bool unclear;
};

static const char *const shells[] = { "bash", "sh", "zsh", "dash" };
/* Tools that are shells, in small letters. */
static const char *const shell_tools[] = { "bash", "shell", "exec_command", "shell_command",
	"local_shell", "run_shell_command", "command_execution" };
/* They start what follows them. */
static const char *const starters[] = { "env", "sudo", "time", "nice", "nohup", "exec", "command",
	"timeout", "npx", "bunx", "stdbuf" };
/* They prepare, or show what is there: beside them the time goes elsewhere. */
static const char *const quick[] = { "cd", "pushd", "popd", "export", "set", "source", "echo",
	"printf", "true", "ls", "cat", "head", "tail", "pwd", "mkdir", "rm", "cp", "mv", "touch",
	"which", "test", "wc", "sed", "chmod" };
/* What they do is said by their next word. */
static const char *const many[] = { "git", "npm", "pnpm", "yarn", "bun", "deno", "cargo", "go",
	"make", "ninja", "meson", "cmake", "mvn", "gradle", "gradlew", "docker", "dotnet", "pip",
	"uv", "poetry", "rake", "bundle", "mix", "swift", "bazel", "just", "tox", "terraform" };
static const char *const keywords[] = { "for", "while", "until", "if", "case", "select", "function",
	"then", "do", "done", "fi", "esac", "else", "elif" };

#define IS_ONE_OF(s, list) is_one_of(s, list, ARRAY_LEN(list))
static bool is_one_of(str s, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_is(s, list[i]))
			return true;
	return false;
}

/* ---- words ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool is_delimiter(char c)
{
	return is_blank(c) || strchr(";&|\n()<>", c);
}

/* A word that is one string in quotes has what stands between them. */
static bool take_quoted(str *rest, struct shell_word *ret)
{
	const char *end = rest->n > 1 ? memchr(rest->p + 1, rest->p[0], rest->n - 1) : NULL;
	size_t n = end ? (size_t)(end - rest->p) : 0;

	if (!end || (n + 1 < rest->n && !is_delimiter(rest->p[n + 1])))
		return false;
	ret->text = str_sub(*rest, 1, n - 1);
	ret->plain = rest->p[0] == '\'' ||
			(!memchr(rest->p, '$', n) && !memchr(rest->p, '`', n) &&
					!memchr(rest->p, '\\', n));
	*rest = str_sub(*rest, n + 1, rest->n);
	return true;
}

static void take_word(str *rest, struct shell_word *ret)
{
	size_t i = 0;
	char open = 0;

	if ((rest->p[0] == '\'' || rest->p[0] == '"') && take_quoted(rest, ret))
		return;
	ret->plain = true;
	for (; i < rest->n && (open || !is_delimiter(rest->p[i])); i++) {
		char c = rest->p[i];

		if (open ? c == open : c == '\'' || c == '"')
			open = open ? 0 : c;
		if (strchr("'\"\\$`*?~{}!", c))
			ret->plain = false;
	}
	ret->text = str_sub(*rest, 0, i);
	*rest = str_sub(*rest, i, rest->n);
}

static void skip_blanks(str *rest)
{
	while (rest->n && (is_blank(rest->p[0]) || str_starts(*rest, STR("\\\n"))))
		*rest = str_sub(*rest, rest->p[0] == '\\' ? 2 : 1, rest->n);
}

/* Where its input comes from and its output goes. Of a text that follows, nothing is a command. */
static enum token skip_redirection(str *rest)
{
	struct shell_word file;
	bool here = str_starts(*rest, STR("<<")) && !str_starts(*rest, STR("<<<"));

	while (rest->n && strchr("<>&", rest->p[0]))
		*rest = str_sub(*rest, 1, rest->n);
	skip_blanks(rest);
	if (rest->n && !is_delimiter(rest->p[0]))
		take_word(rest, &file);
	return here ? TOKEN_HERE : TOKEN_WORD;
}

static bool is_redirection(str rest)
{
	return rest.p[0] == '<' || rest.p[0] == '>' || str_starts(rest, STR("&>"));
}

static enum token take_separator(str *rest)
{
	bool pipe = rest->p[0] == '|' && !str_starts(*rest, STR("||"));

	while (rest->n && (strchr(";&|\n", rest->p[0]) || is_blank(rest->p[0])))
		*rest = str_sub(*rest, 1, rest->n);
	return pipe ? TOKEN_PIPE : TOKEN_NEXT;
}

static bool is_number(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return s.n > 0;
}

static enum token next_token(str *rest, struct shell_word *ret)
{
	for (;;) {
		skip_blanks(rest);
		if (!rest->n)
			return TOKEN_END;
		if (is_redirection(*rest)) {
			if (skip_redirection(rest) == TOKEN_HERE)
				return TOKEN_HERE;
			continue;
		}
		if (strchr(";&|\n", rest->p[0]))
			return take_separator(rest);
		if (rest->p[0] == '(' || rest->p[0] == ')') {
			*ret = (struct shell_word){ str_sub(*rest, 0, 1), false };
			*rest = str_sub(*rest, 1, rest->n);
			return TOKEN_WORD;
		}
		take_word(rest, ret);
		/* "2>": which output is meant. */
		if (!(is_number(ret->text) && rest->n && is_redirection(*rest)))
			return TOKEN_WORD;
	}
}

/* ---- names ---- */

static bool is_name(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+:@-",
				    s.p[i]))
			return false;
	return s.n > 0 && s.p[0] != '-';
}

static str base_name(str path)
{
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;

	return slash ? str_sub(path, (size_t)(slash - path.p) + 1, path.n) : path;
}

static bool is_assignment(str s)
{
	const char *equals = memchr(s.p, '=', s.n);

	return equals && equals > s.p && is_name(str_sub(s, 0, (size_t)(equals - s.p)));
}

static void shell_program_append(struct naming *to, const char *before, str s)
{
	int n = snprintf(to->text + to->n, SHELL_PROGRAM_MAX - to->n, "%s" STR_FMT, before,
			STR_ARG(s));

	to->n = MIN(to->n + (size_t)n, (size_t)SHELL_PROGRAM_MAX - 1);
}

static void name_command(struct naming *to, str command, int depth);

/* An option, or the number that it or `timeout` takes. */
static bool is_option(str s)
{
	return s.n && (s.p[0] == '-' || (s.p[0] >= '0' && s.p[0] <= '9'));
}

/* Behind what starts others. */
static size_t skip_starters(const struct shell_word *w, size_t n)
{
	size_t i = 0;

	while (i < n) {
		str name = base_name(w[i].text);
		bool pair = i + 1 < n && (str_is(name, "uv") || str_is(name, "poetry")) &&
				str_is(w[i + 1].text, "run");

		if (!pair && !is_assignment(w[i].text) && !IS_ONE_OF(name, starters))
			break;
		i += pair ? 2 : 1;
		while (i < n && is_option(w[i].text))
			i++;
	}
	return i;
}

static void name_simple(struct naming *to, const struct shell_word *w, size_t n, int depth)
{
	size_t i = skip_starters(w, n);
	str name = i < n ? base_name(w[i].text) : STR("");

	if (i == n || to->unclear)
		return;
	if (IS_ONE_OF(name, shells) && i + 2 < n && str_starts(w[i + 1].text, STR("-")) &&
			w[i + 1].text.p[w[i + 1].text.n - 1] == 'c') {
		name_command(to, w[i + 2].text, depth + 1);
		return;
	}
	if (str_starts(name, STR("python")) && i + 2 < n && str_is(w[i + 1].text, "-m")) {
		i += 2;
		name = w[i].text;
	}
	if (!w[i].plain || !is_name(name) || IS_ONE_OF(name, keywords)) {
		to->unclear = true;
		return;
	}
	if (IS_ONE_OF(name, quick)) {
		to->quick = to->quick.n ? to->quick : name;
		return;
	}
	shell_program_append(to, to->n ? " && " : "", name);
	if (IS_ONE_OF(name, many) && i + 1 < n && w[i + 1].plain && is_name(w[i + 1].text))
		shell_program_append(to, " ", w[i + 1].text);
}

/* Of a pipeline, what feeds it: the others wait for that. */
static void name_command(struct naming *to, str command, int depth)
{
	enum token token = TOKEN_NEXT;
	bool fed = false;

	if (depth > NEST_MAX)
		to->unclear = true;
	while (token != TOKEN_END && token != TOKEN_HERE && !to->unclear) {
		struct shell_word w[WORDS_MAX], one;
		size_t n = 0;

		while ((token = next_token(&command, &one)) == TOKEN_WORD)
			if (n < WORDS_MAX)
				w[n++] = one;
		if (!fed)
			name_simple(to, w, n, depth);
		fed = token == TOKEN_PIPE;
	}
}

/* Of a hook it is JSON. */
static str command_in(struct arena *a, str text)
{
	value *v;

	if (!str_starts(text, STR("{")) || json_parse(a, text, NULL, &v, NULL) < 0)
		return text;
	return value_str_at(v, value_at(v, "command") ? "command" : "cmd");
}

/* Also at a NUL: no shell has seen more. */
static str cut(str s)
{
	const char *nul;

	s = str_sub(s, 0, COMMAND_MAX);
	nul = s.n ? memchr(s.p, '\0', s.n) : NULL;
	return nul ? str_sub(s, 0, (size_t)(nul - s.p)) : s;
}

static bool is_shell(str tool)
{
	for (size_t i = 0; i < ARRAY_LEN(shell_tools); i++)
		if (tool.n == strlen(shell_tools[i]) &&
				strncasecmp(tool.p, shell_tools[i], tool.n) == 0)
			return true;
	return false;
}

void shell_program(str tool, str text, char ret[static SHELL_PROGRAM_MAX])
{
	struct naming to = { .text = ret };
	struct arena a = ARENA_INIT;

	ret[0] = '\0';
	if (is_shell(tool)) {
		name_command(&to, cut(command_in(&a, text)), 0);
		if (!to.n && to.quick.n && !to.unclear)
			shell_program_append(&to, "", to.quick);
		if (to.unclear)
			ret[0] = '\0';
	}
	arena_done(&a);
}
