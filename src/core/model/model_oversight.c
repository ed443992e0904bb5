#include "core/model/model_oversight.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/str.h"

static int hash_order(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return (a > b) - (a < b);
}

/* Never 0, which stands for what is not known; the same on every machine and at every start. */
static uint64_t sample_hash(str s)
{
	uint64_t h = 14695981039346656037u; /* FNV-1a */

	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * 1099511628211u;
	return h ? h : 1;
}

static void prepare_files(struct iteration *it)
{
	uint64_t *files = it->files.n ? mem_zalloc(it->files.n, sizeof(*files)) : NULL;
	size_t n = 0;

	for (size_t i = 0; i < it->files.n; i++)
		files[i] = sample_hash(it->files.p[i]);
	if (files)
		qsort(files, it->files.n, sizeof(*files), hash_order);
	for (size_t i = 0; i < it->files.n; i++)
		if (n == 0 || files[n - 1] != files[i])
			files[n++] = files[i];
	it->sample.files = files;
	it->sample.files_n = n;
}

void sample_prepare(struct iteration *it)
{
	mem_free((void *)it->sample.files);
	it->sample = (struct sample){
		.number = it->number,
		.error = it->signature.n ? sample_hash(it->signature) : 0,
		.tree = it->tree.n ? sample_hash(it->tree) : 0,
		.tool = it->tool_digest.n ? sample_hash(it->tool_digest) : 0,
		.has_completion = it->completion_source != COMPLETION_UNKNOWN,
		.has_coverage = it->coverage_format.n > 0,
		.has_similarity = it->has_similarity,
		.has_scope = it->inside || it->outside,
		.completion_centi = it->completion_centi,
		.coverage_centi = it->coverage_centi,
		.similarity_milli = it->similarity_milli,
		.inside = it->inside,
		.outside = it->outside,
		.tests = it->tests,
		.failing = it->tests == TESTS_FAILING ? it->tests_failed : 0,
	};
	prepare_files(it);
}
