/*
 * How a project is checked, by the files at its top: what a person would type who sees them. Where a file
 * has to say that there are tests, it is read; nothing of the project is run.
 */
#include "cli/surroundings.h"

#include "base/arena.h"
#include "base/str.h"
#include "data/json.h"
#include "sys/file.h"

enum { FILE_MAX = 1 << 20, SAYS_MAX = 3 };

static bool read_in(struct arena *a, const char *top, const char *name, str *ret)
{
	return file_read(a, path_join(a, top, name), FILE_MAX, ret, NULL) == 0;
}

/* Has a Makefile this target? A line that begins with "NAME" and goes on with ":", not ":=". */
static bool has_target(str makefile, const char *name)
{
	str line;

	while (str_split(&makefile, '\n', &line)) {
		str rest;

		if (!str_starts(line, str_from(name)))
			continue;
		rest = str_trim(str_sub(line, strlen(name), line.n));
		if (str_starts(rest, STR(":")) && !str_starts(rest, STR(":=")))
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

#define PYTEST "python3 -m pytest"

/* The first one counts: those that say more before those that only show the language. */
static const struct row {
	const char *file;
	const char *says[SAYS_MAX]; /* it has to have one of these; none: it has to be there */
	const char *command;
} rows[] = {
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
	{ "tests/__init__.py", { NULL }, "python3 -m unittest discover" },
	{ "gradlew", { NULL }, "./gradlew test" },
	{ "build.gradle", { NULL }, "gradle test" },
	{ "build.gradle.kts", { NULL }, "gradle test" },
	{ "mvnw", { NULL }, "./mvnw test" },
	{ "pom.xml", { NULL }, "mvn test" },
	/* Of a folder that is set up already Meson says so, and that is no failure. */
	{ "meson.build", { "test(", "subdir(" }, "meson setup build && meson test -C build" },
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
		if (str_contains(text, str_from(row->says[i])))
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
	return s;
}
