/* Names that no commit may bring, however they are written. */
#include "tests/test.h"

#include "base/str.h"
#include "data/id/repo_name.h"

TEST_MAIN

struct row {
	const char *path;
	enum repo_name want;
};

static void walk(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (repo_path_of(str_from(rows[i].path)) != rows[i].want)
			fail_msg("\"%s\": %d, not %d", rows[i].path,
					repo_path_of(str_from(rows[i].path)), rows[i].want);
}

#define GIT REPO_NAME_GIT
#define OURS REPO_NAME_OVERSEER
#define FREE REPO_NAME_FREE

TEST(plain)
{
	static const struct row rows[] = { { ".git", GIT }, { ".git/config", GIT },
		{ "a/.git", GIT }, { "a/.git/hooks/post-checkout", GIT }, { ".overseer", OURS },
		{ ".overseer/config.toml", OURS }, { "sub/.overseer/x", OURS }, { "", FREE },
		{ "a", FREE }, { "/", FREE }, { "git", FREE }, { ".gi", FREE }, { ".gitt", FREE },
		{ "x.git", FREE }, { ".gitignore", FREE }, { ".gitattributes", FREE },
		{ ".gitmodules", FREE }, { ".github/workflows/ci.yml", FREE }, { "overseer", FREE },
		{ ".overseers", FREE }, { ".overseer2/x", FREE }, { "src/overseer/.gitkeep", FREE },
		{ "docs/.git-notes", FREE }, { "...", FREE }, { " ", FREE }, { "git~1x", FREE },
		{ "git~2", FREE }, { "aaaaaaaaaaaaaaaaaaaaaaaa", FREE },
		{ ".gitaaaaaaaaaaaaaaaaaaaaaaaa", FREE } };

	walk(rows, ARRAY_LEN(rows));
}

TEST(by_case)
{
	static const struct row rows[] = { { ".GIT", GIT }, { ".Git/config", GIT },
		{ "a/.gIt/x", GIT }, { ".OVERSEER/x", OURS }, { ".Overseer", OURS },
		{ ".over\xc5\xbf"
		  "eer",
				OURS }, /* long s */
		{ ".g\xc4\xb0t", GIT }, /* I with a dot, and one without */
		{ ".g\xc4\xb1t", GIT } };

	walk(rows, ARRAY_LEN(rows));
}

TEST(by_normalisation)
{
	static const struct row rows[] = {
		{ "\xef\xbc\x8e\xef\xbd\x87\xef\xbd\x89\xef\xbd\x94", GIT }, /* full width */
		{ "\xef\xbc\x8eGIT", GIT },
		{ "\xe2\x80\xa4git", GIT },                                   /* one dot leader */
		{ ".\xf0\x9d\x90\xa0\xf0\x9d\x90\xa2\xf0\x9d\x90\xad", GIT }, /* bold */
		{ ".\xe2\x93\x96\xe2\x93\x98\xe2\x93\xa3", GIT },             /* in circles */
		{ ".ove\xe2\x82\xa8"
		  "eer",
				OURS }, /* the rupee sign is "Rs" */
		{ ".\xe3\x8d\xb5"
		  "erseer",
				OURS },
		{ ".overs\xe1\xb5\x89\xe1\xb5\x89r", OURS },
		/* An accent makes another letter of it. */
		{ ".g\xc3\xadt", FREE },
		{ ".ov\xc3\xa9rseer", FREE },
	};

	walk(rows, ARRAY_LEN(rows));
}

TEST(with_ignored_characters)
{
	static const struct row rows[] = { { ".g\xe2\x80\x8cit", GIT }, /* zero width non-joiner */
		{ "\xe2\x80\x8d.git", GIT }, { ".git\xef\xbb\xbf", GIT },
		{ ".\xe2\x80\xaagit\xe2\x80\xae/config", GIT }, { ".gi\xe2\x81\xaat", GIT },
		{ ".gi\xe2\x81\xaft", GIT }, { ".over\xc2\xadseer/x", OURS },
		{ ".overseer\xef\xb8\x8f", OURS }, { "\xe2\x80\x8c", FREE },
		{ "\xe2\x80\x8cgit", FREE } };

	walk(rows, ARRAY_LEN(rows));
}

TEST(as_ntfs_has_them)
{
	static const struct row rows[] = { { "git~1", GIT }, { "GIT~1/config", GIT },
		{ ".git ", GIT }, { ".git.", GIT }, { ".git . ./x", GIT },
		{ ".git::$INDEX_ALLOCATION", GIT }, { ".git:x", GIT }, { "a\\.git\\config", GIT },
		{ "a\\git~1", GIT }, { "OVERSE~1/config.toml", OURS }, { "overse~4", OURS },
		{ "ov1a2b~1", OURS }, { ".overseer...", OURS }, { ".overseer:stream", OURS },
		{ ".overseer \\x", OURS },
		{ ".git                                                        ", GIT },
		{ ".git                                                      x", FREE },
		{ "overse~", FREE }, { "oversee~1", FREE }, { "ovxyz1~1", FREE },
		{ "a:.git", FREE } };

	walk(rows, ARRAY_LEN(rows));
}

/* What is no UTF-8, and names of any length, are only other names. */
TEST(any_bytes)
{
	static const struct row rows[] = { { ".g\xffit", FREE }, { "\xc3.git", FREE },
		{ ".git\x80", FREE }, { ".git/\xff", GIT } };
	char name[4096];

	walk(rows, ARRAY_LEN(rows));
	memset(name, '.', sizeof(name));
	assert_int_equal(repo_path_of((str){ name, sizeof(name) }), FREE);
	memcpy(name, ".git", 4);
	assert_int_equal(repo_path_of((str){ name, sizeof(name) }), GIT);
	name[sizeof(name) - 1] = 'x';
	assert_int_equal(repo_path_of((str){ name, sizeof(name) }), FREE);
	assert_int_equal(repo_path_of((str){ "a/.git\0b", 8 }), FREE);
}
