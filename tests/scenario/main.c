/*
 * Plays scenario files: scenario [-v] [--words] FILE-OR-FOLDER... One line of TAP per file. Each is
 * played twice: as it is written, and with the daemon restarting after every step of it.
 */
#include "tests/test.h"

#include <glob.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "tests/scenario/scn.h"

struct played {
	const char *file;
	bool verbose;
};

static void read_all(const char *file, struct buf *ret)
{
	FILE *in = fopen(file, "re");
	char piece[4096];
	size_t n;

	if (!in)
		fail_msg("%s cannot be opened", file);
	while ((n = fread(piece, 1, sizeof(piece), in)) > 0)
		buf_add(ret, piece, n);
	if (ferror(in))
		fail_msg("%s cannot be read", file);
	(void)fclose(in);
}

static void play(void **state)
{
	const struct played *p = *state;
	struct buf text = BUF_INIT;

	read_all(p->file, &text);
	scn_play(p->file, buf_str(&text), false, p->verbose);
	scn_play(p->file, buf_str(&text), true, false);
	buf_done(&text);
}

static void add_pattern(glob_t *found, const char *path)
{
	struct buf pattern = BUF_INIT;
	struct stat st;

	buf_addf(&pattern, "%s%s", path,
			stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? "/*.scn" : "");
	if (glob(buf_cstr(&pattern), GLOB_APPEND | GLOB_NOCHECK, NULL, found) != 0)
		abort();
	buf_done(&pattern);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int main(int argc, char **argv)
{
	glob_t found = { 0 };
	struct CMUnitTest *tests;
	struct played *played;
	bool verbose = false;
	int failed;

	/* The first pattern must not append. */
	(void)glob("/nothing/at/all", GLOB_NOCHECK, NULL, &found);
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--words") == 0) {
			scn_words();
			globfree(&found);
			return 0;
		}
		if (strcmp(argv[i], "-v") == 0)
			verbose = true;
		else
			add_pattern(&found, argv[i]);
	}
	tests = mem_zalloc(found.gl_pathc, sizeof(*tests));
	played = mem_zalloc(found.gl_pathc, sizeof(*played));
	for (size_t i = 1; i < found.gl_pathc; i++) {
		played[i] = (struct played){ found.gl_pathv[i], verbose };
		tests[i - 1] = (struct CMUnitTest){ .name = base_name(found.gl_pathv[i]),
			.test_func = play,
			.initial_state = &played[i] };
	}
	if (!isatty(STDOUT_FILENO))
		cmocka_set_message_output(CM_OUTPUT_TAP);
	failed = _cmocka_run_group_tests("scenario", tests, found.gl_pathc - 1, NULL, NULL);
	mem_free(tests);
	mem_free(played);
	globfree(&found);
	return failed != 0;
}
