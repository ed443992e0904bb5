#include "app/plan/repo_context.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/vec.h"

enum {
	OUTPUT_BYTES = 4 * 1024 * 1024,
	TIMEOUT_MS = 20 * 1000,
	README_BYTES = 1500,
	TOP_MAX = 40,
	KINDS_MAX = 15,
	NAME_MAX_BYTES = 60,
};

/* Branch, head, the beginning of the README up to a NUL, then every file with a NUL after it. */
static const char script[] =
		"git symbolic-ref -q --short HEAD || echo '(no branch)'\n"
		"git rev-parse -q --verify --short HEAD || echo '(no commit)'\n"
		"for f in README.md README README.rst README.txt; do\n"
		"\tif [ -f \"$f\" ]; then head -c 3000 \"$f\" | tr -d '\\000'; break; fi\n"
		"done\n"
		"printf '\\000'\n"
		"exec git ls-files -z\n";

static const char *const argv[] = { "sh", "-c", script, NULL };

struct job_spec repo_context_job(const char *repo)
{
	struct job_spec spec = {
		.proc = PROC_SPEC_INIT,
		.max_output = OUTPUT_BYTES,
		.timeout_ms = TIMEOUT_MS,
	};

	spec.proc.argv = argv;
	spec.proc.cwd = repo;
	return spec;
}

/* A name and how many files it stands for. */
struct tally {
	str name;
	size_t n;
};

struct tallies {
	struct map by_name;
	VEC(struct tally *) all;
};

static void count(struct arena *a, struct tallies *t, str name)
{
	struct tally *x = map_get(&t->by_name, name);

	if (!x) {
		x = arena_new(a, struct tally);
		x->name = name;
		map_put(&t->by_name, name, x);
		vec_push(&t->all, x);
	}
	x->n++;
}

static int more_first(const void *a, const void *b)
{
	const struct tally *x = *(struct tally *const *)a, *y = *(struct tally *const *)b;

	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return str_cmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
	return str_cmp((*(struct tally *const *)a)->name, (*(struct tally *const *)b)->name);
}

static void tallies_done(struct tallies *t)
{
	map_done(&t->by_name);
	vec_done(&t->all);
}

static str extension(str path)
{
	size_t i = path.n;

	while (i > 0 && path.p[i - 1] != '.' && path.p[i - 1] != '/')
		i--;
	/* ".gitignore" has a name, not an extension. */
	return i > 1 && path.p[i - 1] == '.' && path.p[i - 2] != '/'
			? str_sub(path, i - 1, SIZE_MAX)
			: STR("");
}

static void add_list(struct buf *out, struct tallies *t, size_t max, const char *title,
		bool folders)
{
	size_t n = MIN(t->all.n, max);

	if (t->all.n == 0)
		return;
	buf_addf(out, "%s:", title);
	for (size_t i = 0; i < n; i++) {
		const struct tally *x = t->all.p[i];
		str name = utf8_truncate(x->name, NAME_MAX_BYTES);

		buf_addf(out, "%s " STR_FMT, i ? "," : "", STR_ARG(name));
		if (!folders || str_ends(x->name, STR("/")))
			buf_addf(out, " (%zu)", x->n);
	}
	if (n < t->all.n)
		buf_addf(out, ", and %zu more", t->all.n - n);
	buf_addc(out, '\n');
}

static void add_files(struct arena *a, struct buf *out, str files, bool cut)
{
	struct tallies top = { 0 }, kinds = { 0 };
	size_t n = 0;
	str path;

	map_init(&top.by_name, 0);
	map_init(&kinds.by_name, 0);
	while (str_split(&files, '\0', &path)) {
		size_t slash = str_find_byte(path, '/');

		if (path.n == 0)
			continue;
		n++;
		count(a, &top, str_sub(path, 0, slash < path.n ? slash + 1 : path.n));
		if (extension(path).n)
			count(a, &kinds, extension(path));
	}
	if (top.all.n)
		qsort(top.all.p, top.all.n, sizeof(top.all.p[0]), by_name);
	if (kinds.all.n)
		qsort(kinds.all.p, kinds.all.n, sizeof(kinds.all.p[0]), more_first);
	buf_addf(out, "%s%zu files.\n", cut ? "More than " : "", n);
	add_list(out, &top, TOP_MAX, "At the top", true);
	add_list(out, &kinds, KINDS_MAX, "Kinds of files", false);
	tallies_done(&top);
	tallies_done(&kinds);
}

str repo_context_summary(struct arena *a, str output, bool cut)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	str branch = STR(""), head = STR(""), readme = STR("");

	str_split(&output, '\n', &branch);
	str_split(&output, '\n', &head);
	str_split(&output, '\0', &readme);
	buf_addf(&out, "Branch " STR_FMT " at " STR_FMT ". ", STR_ARG(utf8_truncate(branch, 200)),
			STR_ARG(utf8_truncate(head, 64)));
	add_files(a, &out, output, cut);
	readme = utf8_truncate(str_trim(readme), README_BYTES);
	if (readme.n)
		buf_addf(&out, "The README begins:\n" STR_FMT "\n", STR_ARG(readme));
	return utf8_truncate(utf8_clean(a, str_trim(buf_str(&out))), REPO_CONTEXT_BYTES);
}
