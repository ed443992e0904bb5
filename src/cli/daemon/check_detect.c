/*
 * How a project is checked, by the files at its top: what a person would type who sees them. Where
 * a file has to say that there are tests, it is read; nothing of the project is run.
 */
#include "cli/daemon/init_find.h"

#include <ctype.h>

#include "base/arena.h"
#include "base/str.h"
#include "data/value/json.h"
#include "sys/file/file.h"

enum { FILE_MAX = 1 << 20, SAYS_MAX = 3, NAMES_MAX = 4096 };

static bool read_in(struct arena *a, const char *top, const char *name, str *ret)
{
	return file_read(a, path_join(a, top, name), FILE_MAX, ret, NULL) == 0;
}

/* Has a Makefile this target? It stands in a rule, which is no assignment (":=", "::=", ":::="). */
static bool has_target(str makefile, const char *name)
{
	str line, word;

	while (str_split(&makefile, '\n', &line)) {
		size_t colon = str_find_byte(line, ':');
		str targets = str_sub(line, 0, colon), rest = str_sub(line, colon, line.n);

		while (str_starts(rest, STR(":")))
			rest = str_sub(rest, 1, rest.n);
		if (colon == line.n || str_starts(rest, STR("=")) ||
				str_find_byte(targets, '=') < targets.n ||
				str_find_byte(targets, '#') < targets.n ||
				str_starts(targets, STR("\t")))
			continue;
		while (str_split(&targets, ' ', &word))
			if (str_is(str_trim(word), name))
				return true;
	}
	return false;
}

static str from_makefile(struct arena *a, const char *top, const char **ret_file)
{
	static const char *const names[] = { "GNUmakefile", "makefile", "Makefile" };
	static const char *const targets[] = { "test", "check" };
	str text;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (!read_in(a, top, names[i], &text))
			continue;
		for (size_t k = 0; k < ARRAY_LEN(targets); k++)
			if (has_target(text, targets[k])) {
				*ret_file = names[i];
				return arena_printf(a, "make %s", targets[k]);
			}
		break; /* make itself looks at no other */
	}
	return STR("");
}

static str from_package_json(struct arena *a, const char *top, const char **ret_file)
{
	value *v;
	str text, script;

	if (!read_in(a, top, "package.json", &text) || json_parse(a, text, NULL, &v, NULL) < 0)
		return STR("");
	script = value_str_at(value_at(v, "scripts"), "test");
	/* What `npm init` writes is no test. */
	if (script.n == 0 || str_contains(script, STR("no test specified")))
		return STR("");
	*ret_file = "package.json";
	return STR("npm test");
}

/* Is this in the text, outside of comments and not as the end of a longer word? */
static bool says(str text, const char *what)
{
	str line, found = str_from(what);

	while (str_split(&text, '\n', &line)) {
		size_t at;

		line = str_sub(line, 0, str_find_byte(line, '#'));
		at = str_find(line, found);
		if (at < line.n && (at == 0 || !isalnum((unsigned char)line.p[at - 1])))
			return true;
	}
	return false;
}

/* A file of a folder that is named like a test of Python's. */
static bool is_python_test(str name)
{
	return str_ends(name, STR(".py")) &&
			(str_starts(name, STR("test_")) || str_ends(name, STR("_test.py")));
}

#define PYTEST "python3 -m pytest"
#define UNITTEST "python3 -m unittest discover"

/*
 * Tests without any configuration: by the first of them, either runner is known by what it needs.
 */
static str from_python_tests(struct arena *a, const char *top, const char **ret_file)
{
	static const struct {
		const char *dir, *unittest;
	} dirs[] = { { "tests", UNITTEST " -s tests" }, { "test", UNITTEST " -s test" },
		{ ".", UNITTEST } };

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		const char *dir = path_join(a, top, dirs[i].dir);
		str *names, text;
		size_t n;

		if (dir_list(a, dir, NAMES_MAX, &names, &n, NULL) < 0)
			continue;
		for (size_t k = 0; k < n; k++) {
			if (!is_python_test(names[k]) ||
					!read_in(a, dir, arena_cstr(a, names[k]), &text))
				continue;
			*ret_file = arena_cstr(a, names[k]);
			return str_from(says(text, "unittest") && !says(text, "pytest")
							? dirs[i].unittest
							: PYTEST);
		}
	}
	return STR("");
}

/* Meson has tests where it, or a folder that it names, defines one. */
static str from_meson(struct arena *a, const char *top, const char **ret_file)
{
	str text, line, inner;
	bool found;

	if (!read_in(a, top, "meson.build", &text))
		return STR("");
	found = says(text, "test(");
	while (!found && str_split(&text, '\n', &line)) {
		size_t at = str_find(line, STR("subdir('"));
		str dir = str_sub(line, at + strlen("subdir('"), line.n);

		dir = str_sub(dir, 0, str_find_byte(dir, '\''));
		found = at < line.n && dir.n && !str_contains(dir, STR("..")) &&
				read_in(a, path_join(a, top, arena_cstr(a, dir)), "meson.build",
						&inner) &&
				says(inner, "test(");
	}
	if (!found)
		return STR("");
	*ret_file = "meson.build";
	/* Of a folder that is set up already Meson says so, and that is no failure. */
	return STR("meson setup build && meson test -C build");
}

/* The first one counts: those that say more before those that only show the language. */
static const struct row {
	const char *file;
	const char *says[SAYS_MAX]; /* it has to have one of these; none: it has to be there */
	const char *command;
} rows[] = {
	{ "Cargo.toml", { "[workspace]" }, "cargo test --workspace" },
	{ "Cargo.toml", { NULL }, "cargo test" },
	{ "go.mod", { NULL }, "go test ./..." },
	{ "pytest.ini", { NULL }, PYTEST },
	{ "pyproject.toml", { "pytest" }, PYTEST },
	{ "setup.cfg", { "[tool:pytest]" }, PYTEST },
	{ "tox.ini", { "[pytest]" }, PYTEST },
	{ "conftest.py", { NULL }, PYTEST },
	{ "tests/conftest.py", { NULL }, PYTEST },
	{ "requirements-dev.txt", { "pytest" }, PYTEST },
	{ "requirements.txt", { "pytest" }, PYTEST },
	{ "manage.py", { "django" }, "python3 manage.py test" },
	{ "tests/__init__.py", { NULL }, UNITTEST },
	{ "gradlew", { NULL }, "./gradlew test" },
	{ "build.gradle", { NULL }, "gradle test" },
	{ "build.gradle.kts", { NULL }, "gradle test" },
	{ "settings.gradle", { NULL }, "gradle test" },
	{ "settings.gradle.kts", { NULL }, "gradle test" },
	{ "mvnw", { NULL }, "./mvnw test" },
	{ "pom.xml", { NULL }, "mvn test" },
	{ "CMakeLists.txt", { "enable_testing", "include(CTest", "include (CTest" },
			"cmake -S . -B build && cmake --build build && ctest --test-dir build "
			"--output-on-failure" },
};

static bool is_met(struct arena *a, const char *top, const struct row *row)
{
	str text;

	if (!row->says[0])
		return file_exists(path_join(a, top, row->file));
	if (!read_in(a, top, row->file, &text))
		return false;
	for (size_t i = 0; i < SAYS_MAX && row->says[i]; i++)
		if (says(text, row->says[i]))
			return true;
	return false;
}

str check_detect(struct arena *a, const char *top, const char **ret_file)
{
	str s = from_makefile(a, top, ret_file);

	if (s.n == 0)
		s = from_package_json(a, top, ret_file);
	for (size_t i = 0; s.n == 0 && i < ARRAY_LEN(rows); i++)
		if (is_met(a, top, &rows[i])) {
			*ret_file = rows[i].file;
			s = str_from(rows[i].command);
		}
	if (s.n == 0)
		s = from_meson(a, top, ret_file);
	return s.n ? s : from_python_tests(a, top, ret_file);
}
