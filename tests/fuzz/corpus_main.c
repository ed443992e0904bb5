/*
 * Runs a fuzzer over the files of corpus folders, without libFuzzer, so that
 * every input that once mattered is an ordinary test with every compiler. Each
 * file's name is printed first: the last one before a crash is the culprit.
 */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_LIMIT = 4 << 20 };

static int run_file(const char *dir, const char *name)
{
	char path[4096];
	uint8_t *bytes;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	if (!f) {
		printf("# cannot open %s\n", path);
		return -1;
	}
	bytes = malloc(INPUT_LIMIT);
	if (!bytes)
		abort();
	n = fread(bytes, 1, INPUT_LIMIT, f);
	fclose(f);
	/* An exact allocation lets the sanitizers see a read past the end. */
	bytes = realloc(bytes, n ? n : 1);
	if (!bytes)
		abort();
	printf("# %s\n", name);
	fflush(stdout);
	LLVMFuzzerTestOneInput(bytes, n);
	free(bytes);
	return 0;
}

static int visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

int main(int argc, char **argv)
{
	int failed = 0;

	printf("1..%d\n", argc - 1);
	for (int i = 1; i < argc; i++) {
		struct dirent **files;
		int bad = 0, n = scandir(argv[i], &files, visible, alphasort);

		for (int k = 0; k < n; k++) {
			bad += run_file(argv[i], files[k]->d_name) < 0;
			free(files[k]);
		}
		if (n >= 0)
			free(files);
		/* An empty or missing corpus would pass for ever without testing. */
		if (n <= 0 || bad)
			failed = 1;
		printf("%sok %d - %s: %d inputs\n", n <= 0 || bad ? "not " : "", i, argv[i], n);
	}
	return failed;
}
