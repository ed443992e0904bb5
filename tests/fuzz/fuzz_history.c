/*
 * Any bytes as the history of a loop: what is accepted can be judged by every preset, and at most
 * one thing of a kind is found. Also as an error and as the output of a command, whose signatures
 * are bounded, and as thresholds, which are shown as they were read.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/oversight/history.h"
#include "core/text/signature.h"
#include "data/value/json.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void judge(struct arena *a, const struct history_loop *l)
{
	for (int i = 0; i < PRESET_COUNT; i++) {
		struct oversight o;
		const value *v, *found, *answers;

		oversight_preset(&o, (enum preset)i);
		v = loop_judge(a, l, &o);
		found = value_at(v, "detections");
		answers = value_at(v, "interventions");
		check(value_count(found) <= DETECTOR_COUNT &&
				value_count(found) == value_count(answers));
		check(status_parse(&goal_healths, value_str_at(v, "status")) >= 0);
		for (size_t k = 0; k < value_count(found); k++)
			check(value_str_at(value_item(found, k), "fingerprint").n == 64);
		check(utf8_valid(json_text(a, v)));
	}
}

static void thresholds(struct arena *a, str text)
{
	struct oversight o, again;
	value *doc;

	oversight_preset(&o, PRESET_DEFAULT);
	oversight_preset(&again, PRESET_DEFAULT);
	if (json_parse(a, text, NULL, &doc, NULL) < 0 || oversight_merge(&o, doc, NULL) < 0)
		return;
	check(oversight_merge(&again, oversight_view(a, &o), NULL) == 0);
	check(value_equal(oversight_view(a, &o), oversight_view(a, &again)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = ARENA_INIT;
	str text = arena_str(&a, (str){ (const char *)data, size });
	struct history_loop *l = arena_new(&a, struct history_loop);
	int64_t milli;

	if (loop_read(&a, text, l, NULL) == 0) {
		judge(&a, l);
		loop_done(l);
	}
	check(error_signature(&a, text).n <= SIGNATURE_MAX);
	check(error_pick(&a, text).n <= ERROR_MAX);
	check(!words_similarity(text, &text, 1, &milli) || milli == 1000);
	thresholds(&a, text);
	arena_done(&a);
	return 0;
}
