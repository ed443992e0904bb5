/*
 * Throughput of the JSON reader against jansson, in alternating rounds of one run, best of five:
 * a ratio of CPU times, so that a busy or slow machine does not change the verdict. Prints one
 * JSON line per figure; the exit status says whether every budget was kept.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"
#include "data/id/sha256.h"
#include "data/value/json.h"

enum { ROUNDS = 5, DOCUMENT_BYTES = 1 << 20 };

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Records like those of agents' streams: nested objects, short and long strings, numbers. */
static void make_document(struct buf *out)
{
	uint32_t seed = 1;

	buf_addc(out, '[');
	for (int i = 0; out->n < DOCUMENT_BYTES; i++) {
		seed = seed * 1664525u + 1013904223u;
		buf_addf(out,
				"%s{\"type\":\"assistant\",\"session_id\":\"0f3c9a1e-%08x\","
				"\"index\":%d,"
				"\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":"
				"\"text\",\"text\":"
				"\"Line %d of the answer: it\\nwraps, quotes \\\"words\\\" and "
				"goes on for a "
				"while, as answers do \xe2\x80\x94 often longer than "
				"this.\"},{\"type\":\"tool_use\","
				"\"name\":\"Read\",\"input\":{\"file_path\":\"src/data/"
				"file_%d.c\",\"limit\":%u}}],"
				"\"usage\":{\"input_tokens\":%u,\"output_tokens\":%u,\"cost_usd\":%"
				".4f}},"
				"\"ok\":true,\"parent\":null}",
				i ? "," : "", seed, i, i, i, seed % 2000, seed % 100000,
				seed % 4000, (seed % 10000) / 10000.0);
	}
	buf_addc(out, ']');
}

static double time_own(str text)
{
	struct arena a = ARENA_INIT;
	double start = cpu_seconds();
	value *v;

	if (json_parse(&a, text, NULL, &v, NULL) < 0)
		abort();
	arena_done(&a);
	return cpu_seconds() - start;
}

static double time_jansson(str text)
{
	double start = cpu_seconds();
	json_t *v = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);

	if (!v)
		abort();
	json_decref(v);
	return cpu_seconds() - start;
}

static double time_write(str text)
{
	struct arena a = ARENA_INIT;
	struct buf out = BUF_INIT;
	double start;
	value *v;

	if (json_parse(&a, text, NULL, &v, NULL) < 0)
		abort();
	start = cpu_seconds();
	json_write_canonical(&out, v);
	start = cpu_seconds() - start;
	buf_done(&out);
	arena_done(&a);
	return start;
}

static double time_sha256(str text)
{
	double start = cpu_seconds();
	uint8_t sum[SHA256_LEN];

	sha256(text.p, text.n, sum);
	return cpu_seconds() - start;
}

/* Prints a figure that must reach its budget. */
static int report(const char *name, double figure, const char *unit, double budget)
{
	printf("{\"name\":\"%s\",\"value\":%.2f,\"unit\":\"%s\",\"budget\":%g,\"ok\":%s}\n", name,
			figure, unit, budget, figure >= budget ? "true" : "false");
	return figure >= budget ? 0 : 1;
}

int main(void)
{
	double own = 1e9, jansson = 1e9, written = 1e9, hashed = 1e9, mb;
	struct buf text = BUF_INIT;
	int missed = 0;

	make_document(&text);
	for (int i = 0; i < ROUNDS; i++) {
		own = MIN(own, time_own(buf_str(&text)));
		jansson = MIN(jansson, time_jansson(buf_str(&text)));
		written = MIN(written, time_write(buf_str(&text)));
		hashed = MIN(hashed, time_sha256(buf_str(&text)));
	}
	mb = (double)text.n / 1e6;
	missed += report("json_parse_vs_jansson", jansson / own, "ratio", 4);
	missed += report("json_parse", mb / own, "MB/s", 150);
	missed += report("json_write_canonical", mb / written, "MB/s", 100);
	missed += report("sha256", mb / hashed, "MB/s", 100);
	buf_done(&text);
	return missed ? 1 : 0;
}
