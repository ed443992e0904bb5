/*
 * Runs the schema checker over Debian's json-schema-test-suite, drafts 6 and 4. Every group must
 * pass wholly, or be in the list below with the reason why it cannot; a listed group that passes
 * fails the test too, and so does a row of the list that is about nothing, so the list stays true.
 *
 * usage: schema_suite FOLDER     (usually /usr/share/json-schema-test-suite/tests)
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "data/value/json.h"
#include "data/value/schema.h"

#define REGEX "regular expressions are refused at compile time"
#define FORMAT "format is an annotation"
#define REMOTE "references to other documents are refused"
#define NESTED_ID "an $id below the top is refused"
#define BESIDE_REF "keywords beside $ref, which the drafts ignore, are refused"
#define UNKNOWN "unknown keywords are refused"
#define BIGNUM "the JSON reader refuses integers beyond 64 bits"
#define DRAFT4_ID "id is draft 4's name of $id"
#define DRAFT6_INTEGER "as since draft 6, 1.0 is an integer"

static const struct unsupported {
	const char *file;
	const char *group; /* NULL: each group of the file, or the file itself */
	const char *reason;
} unsupported[] = {
	{ "draft6/additionalProperties.json",
			"additionalProperties being false does not allow other properties", REGEX },
	{ "draft6/additionalProperties.json", "non-ASCII pattern with additionalProperties",
			REGEX },
	{ "draft6/definitions.json", NULL, REMOTE },
	{ "draft6/optional/bignum.json", NULL, BIGNUM },
	{ "draft6/optional/ecmascript-regex.json", NULL, FORMAT },
	{ "draft6/optional/format.json", NULL, FORMAT },
	{ "draft6/pattern.json", NULL, REGEX },
	{ "draft6/patternProperties.json", NULL, REGEX },
	{ "draft6/properties.json",
			"properties, patternProperties, additionalProperties interaction", REGEX },
	{ "draft6/ref.json", "escaped pointer ref", UNKNOWN },
	{ "draft6/ref.json", "ref overrides any sibling keywords", BESIDE_REF },
	{ "draft6/ref.json", "remote ref, containing refs itself", REMOTE },
	{ "draft6/ref.json", "Recursive references between schemas", NESTED_ID },
	{ "draft6/refRemote.json", "remote ref", REMOTE },
	{ "draft6/refRemote.json", "fragment within remote ref", REMOTE },
	{ "draft6/refRemote.json", "ref within remote ref", REMOTE },
	{ "draft6/refRemote.json", "base URI change", NESTED_ID },
	{ "draft6/refRemote.json", "base URI change - change folder", NESTED_ID },
	{ "draft6/refRemote.json", "base URI change - change folder in subschema", NESTED_ID },
	{ "draft6/refRemote.json", "root ref in remote ref", REMOTE },
	{ "draft4/additionalProperties.json",
			"additionalProperties being false does not allow other properties", REGEX },
	{ "draft4/additionalProperties.json", "non-ASCII pattern with additionalProperties",
			REGEX },
	{ "draft4/definitions.json", NULL, REMOTE },
	{ "draft4/optional/bignum.json", NULL, BIGNUM },
	{ "draft4/optional/ecmascript-regex.json", NULL, FORMAT },
	{ "draft4/optional/format.json", NULL, FORMAT },
	{ "draft4/optional/zeroTerminatedFloats.json", NULL, DRAFT6_INTEGER },
	{ "draft4/pattern.json", NULL, REGEX },
	{ "draft4/patternProperties.json", NULL, REGEX },
	{ "draft4/properties.json",
			"properties, patternProperties, additionalProperties interaction", REGEX },
	{ "draft4/ref.json", "escaped pointer ref", UNKNOWN },
	{ "draft4/ref.json", "ref overrides any sibling keywords", BESIDE_REF },
	{ "draft4/ref.json", "remote ref, containing refs itself", REMOTE },
	{ "draft4/ref.json", "Recursive references between schemas", DRAFT4_ID },
	{ "draft4/refRemote.json", "remote ref", REMOTE },
	{ "draft4/refRemote.json", "fragment within remote ref", REMOTE },
	{ "draft4/refRemote.json", "ref within remote ref", REMOTE },
	{ "draft4/refRemote.json", "base URI change", DRAFT4_ID },
	{ "draft4/refRemote.json", "base URI change - change folder", DRAFT4_ID },
	{ "draft4/refRemote.json", "base URI change - change folder in subschema", DRAFT4_ID },
	{ "draft4/refRemote.json", "root ref in remote ref", DRAFT4_ID },
};

static bool rows_used[ARRAY_LEN(unsupported)];

struct counts {
	size_t groups, tests, unsupported, failed;
};

static const char *reason_for(const char *file, str group)
{
	for (size_t i = 0; i < ARRAY_LEN(unsupported); i++) {
		const struct unsupported *u = &unsupported[i];

		if (str_is(str_from(u->file), file) && (!u->group || str_is(group, u->group))) {
			rows_used[i] = true;
			return u->reason;
		}
	}
	return NULL;
}

/* True when each test of the group gives the verdict that the suite wants; else says why not. */
static bool group_passes(struct arena *a, const value *group, char *why, size_t cap)
{
	const value *tests = value_at(group, "tests");
	struct ov_err err = { 0 };
	struct schema *s = NULL;

	if (schema_compile(a, value_at(group, "schema"), &s, &err) < 0) {
		snprintf(why, cap, "%s", err.msg);
		return false;
	}
	for (size_t i = 0; i < value_count(tests); i++) {
		const value *t = value_item(tests, i);
		bool want = value_bool_at(t, "valid");
		int r = schema_check(s, value_at(t, "data"), &err);

		if ((r == 0) == want && (r == 0 || r == OV_EINVALID))
			continue;
		snprintf(why, cap, STR_FMT ": should be %s%s%s",
				STR_ARG(value_str_at(t, "description")), want ? "valid" : "invalid",
				r < 0 ? "; " : "", r < 0 ? err.msg : "");
		return false;
	}
	return true;
}

static void run_group(struct arena *a, const char *file, const value *group, struct counts *n)
{
	str name = value_str_at(group, "description");
	const char *reason = reason_for(file, name);
	char why[1400] = "";
	bool passes = group_passes(a, group, why, sizeof(why));

	n->groups++;
	n->tests += value_count(value_at(group, "tests"));
	n->unsupported += reason != NULL;
	if (passes == !reason)
		return;
	n->failed++;
	if (passes)
		printf("# %s: " STR_FMT ": listed as unsupported (%s), but passes\n", file,
				STR_ARG(name), reason);
	else
		printf("# %s: " STR_FMT ": %s\n", file, STR_ARG(name), why);
}

static bool read_file(const char *path, struct buf *out)
{
	FILE *f = fopen(path, "rb");
	char piece[4096];
	size_t n;

	if (!f)
		return false;
	while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
		buf_add(out, piece, n);
	fclose(f);
	return true;
}

static void run_file(const char *root, const char *file, struct counts *n)
{
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
	_cleanup_(buf_done)
	struct buf text = BUF_INIT, path = BUF_INIT;
	struct ov_err err = { 0 };
	struct counts mine = { 0 };
	value *doc = NULL;

	buf_addf(&path, "%s/%s", root, file);
	if (!read_file(path.p, &text) || json_parse(&a, buf_str(&text), NULL, &doc, &err) < 0) {
		mine.groups++;
		if (reason_for(file, STR(""))) {
			mine.unsupported++;
		} else {
			printf("# %s: %s\n", file, err.code ? err.msg : "cannot be read");
			mine.failed++;
		}
	}
	for (size_t i = 0; i < value_count(doc); i++)
		run_group(&a, file, value_item(doc, i), &mine);
	n->groups += mine.groups;
	n->tests += mine.tests;
	n->unsupported += mine.unsupported;
	n->failed += mine.failed;
	printf("%sok - %s: %zu groups, %zu unsupported\n", mine.failed ? "not " : "", file,
			mine.groups, mine.unsupported);
}

static int is_json(const struct dirent *e)
{
	return str_ends(str_from(e->d_name), STR(".json"));
}

static size_t run_folder(const char *root, const char *folder, struct counts *n)
{
	_cleanup_(buf_done)
	struct buf path = BUF_INIT;
	struct dirent **files;
	int count;

	buf_addf(&path, "%s/%s", root, folder);
	count = scandir(path.p, &files, is_json, alphasort);
	for (int i = 0; i < count; i++) {
		buf_clear(&path);
		buf_addf(&path, "%s/%s", folder, files[i]->d_name);
		run_file(root, path.p, n);
		free(files[i]);
	}
	if (count >= 0)
		free(files);
	return count > 0 ? (size_t)count : 0;
}

int main(int argc, char **argv)
{
	static const char *const folders[] = { "draft6", "draft6/optional", "draft4",
		"draft4/optional" };
	struct counts n = { 0 };
	size_t files = 0, stale = 0;

	if (argc != 2)
		return 2;
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		files += run_folder(argv[1], folders[i], &n);
	for (size_t i = 0; i < ARRAY_LEN(unsupported); i++) {
		stale += !rows_used[i];
		if (!rows_used[i])
			printf("# the list has %s: %s, the suite does not\n", unsupported[i].file,
					unsupported[i].group ? unsupported[i].group : "(all)");
	}
	printf("# %zu groups with %zu tests: %zu groups pass, %zu are unsupported, %zu fail\n",
			n.groups, n.tests, n.groups - n.unsupported - n.failed, n.unsupported,
			n.failed);
	printf("%sok - the list of what is unsupported is true\n", stale ? "not " : "");
	/* Half a suite, or none, would pass without having been run. */
	printf("%sok - the suite is there (%zu files)\n", files < 60 ? "not " : "", files);
	printf("1..%zu\n", files + 2);
	return n.failed || stale || files < 60;
}
