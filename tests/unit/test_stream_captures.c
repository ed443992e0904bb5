/*
 * What real agents wrote, fed whole, byte by byte, and cut at every byte: whatever the pieces, the
 * facts are the same, and a cut loses only what comes after it. What some captures must come to is
 * said in a table.
 */
#include <dirent.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "tests/rng.h"
#include "tests/test.h"
#include "tests/unit/stream_fixture.h"

struct expected {
	const char *path; /* below tests/captures, without .out */
	int exit_code;
	const char *trouble;  /* of the verdict; NULL: ok */
	const char *session;  /* how it begins */
	int64_t tokens, cost; /* of the run; input and output */
	int64_t turns, tools, denials;
	const char *message, *state;
};

static const struct expected table[] = {
	{ "claude/2.1.197/01_tools", 0, NULL, "b889b659", 360, 3000, 1, 2, 0, "All done.", "idle" },
	{ "claude/2.1.197/06_resume_bad", 1, "session_lost", "", 0, 0, 0, 0, 0, "", "idle" },
	{ "claude/2.1.197/08_denied", 0, NULL, "8628ca0c", 240, 2000, 1, 1, 1, "after", "idle" },
	{ "claude/2.1.197/15_maxturns", 1, "max_turns", "e5f292d7", 240, 2000, 1, 2, 0, "",
			"idle" },
	{ "claude/2.1.197/18_err400", 1, "refused", "5d25554b", 0, 0, 1, 0, 0, "", "idle" },
	{ "claude/2.1.197/19_err401", -1, "login", "fbd1e17d", 0, -1, 1, 0, 0, "", "retrying" },
	{ "claude/2.1.197/20_err529", 1, "overloaded", "caf254ab", 0, 0, 1, 0, 0, "", "idle" },
	{ "claude/2.1.197/26_subagent2", 0, NULL, "4423bc14", 360, 3000, 1, 1, 0, "parent done",
			"idle" },
	{ "claude/2.1.325/01_tools", 0, NULL, "bcac89b7", 360, 2400, 1, 2, 0, "All done.", "idle" },
	{ "claude/2.1.325/03_sessionid_again", 1, "session_lost", "", 0, -1, 0, 0, 0, "",
			"starting" },
	/* What it costs is that of this run, though the line says that of the session. */
	{ "claude/2.1.325/04_resume", 0, NULL, "11111111", 120, 800, 1, 0, 0, "three", "idle" },
	{ "claude/2.1.325/06_resume_bad", 1, "session_lost", "", 0, -1, 0, 0, 0, "", "idle" },
	{ "claude/2.1.325/08_denied", 0, NULL, "531a8e66", 240, 1600, 1, 1, 1, "after", "idle" },
	{ "claude/2.1.325/15_maxturns", 1, "max_turns", "", 240, 1600, 1, 2, 0, "", "idle" },
	{ "claude/2.1.325/18_err400", 1, "refused", "dfee75ca", 0, 0, 1, 0, 0, "", "idle" },
	{ "claude/2.1.325/19_err401", -1, "login", "39f4a68a", 0, -1, 1, 0, 0, "", "retrying" },
	{ "claude/2.1.325/20_err529", 1, "overloaded", "8e72a5b2", 0, 0, 1, 0, 0, "", "idle" },
	{ "claude/2.1.325/21_err529_then_ok", 0, NULL, "b2797973", 120, 800, 1, 0, 0, "recovered",
			"idle" },
	{ "claude/2.1.325/22_budget", 1, "budget", "870c2ed5", 950000, 4600000, 1, 1, 0, "",
			"idle" },
	/* Two pairs of init and result in one process. */
	{ "claude/2.1.325/26_subagent2", 0, NULL, "8c4ec1fd", 480, 3200, 2, 1, 0,
			"fake: script finished", "idle" },
	{ "claude/2.1.325/31_badflag", 1, "other", "", 0, -1, 0, 0, 0, "", "starting" },
	{ "claude/2.1.325/61_hook_decisions", 0, NULL, "1a909b7e", 360, 2400, 1, 1, 1,
			"second round", "idle" },
	{ "claude/2.1.325/70_err429", 1, "rate_limited", "6de874e4", 0, 0, 1, 0, 0, "", "idle" },
	{ "claude/2.1.325/71_cached", 0, NULL, "22222222", 120, 1110, 1, 0, 0, "one", "idle" },
	{ "claude/2.1.325/72_compact", 0, NULL, "22222222", 240, 1600, 1, 0, 0, "", "idle" },
	{ "claude/2.1.325/73_sigint", 0, "interrupted", "aff0c45c", 120, 800, 1, 1, 0, "", "idle" },
	{ "claude/2.1.325/74_context", 1, "context", "ed57391a", 0, 0, 1, 0, 0, "", "idle" },
	{ "codex/0.166.0/02_tool", 0, NULL, "01a1dc89-0e6d", 240, -1, 1, 1, 0, "done", "idle" },
	{ "codex/0.166.0/03_patch", 0, NULL, "01a1dc89-0ff3", 240, -1, 1, 1, 0, "patched", "idle" },
	{ "codex/0.166.0/04_mcp", 0, NULL, "01a1dc89-1151", 240, -1, 1, 1, 0, "done", "idle" },
	{ "codex/0.166.0/06_resume", 0, NULL, "01a1dc89-0e6d", 360, -1, 1, 0, 0, "resumed ok",
			"idle" },
	{ "codex/0.166.0/08_resume_bad", 1, "session_lost", "", 0, -1, 0, 0, 0, "", "starting" },
	{ "codex/0.166.0/13_err500", 1, "overloaded", "01a1dc89-1c7c", 0, -1, 1, 0, 0, "", "idle" },
	{ "codex/0.166.0/14_err429", 1, "rate_limited", "01a1dc89-1fea", 0, -1, 1, 0, 0, "",
			"idle" },
	{ "codex/0.166.0/15_err401", 1, "login", "01a1dc89-2110", 0, -1, 1, 0, 0, "", "idle" },
	{ "codex/0.166.0/22_badarg", 2, "other", "", 0, -1, 0, 0, 0, "", "starting" },
	{ "codex/0.166.0/23_spawn", 0, NULL, "01a1dc89-2879", 240, -1, 1, 1, 0, "parent done",
			"idle" },
	{ "gemini/0.61.0/01_stream", 0, NULL, "1f4d4fe6", 360, -1, 1, 2, 0, "All done.", "idle" },
	{ "gemini/0.61.0/03_resume", 0, NULL, "f268df65", 120, -1, 1, 0, 0, "resumed", "idle" },
	/* Two pieces of one message. */
	{ "gemini/0.61.0/06_noapprove", 0, NULL, "56e84bd7", 120, -1, 1, 0, 0,
			"fake: tool not offered: run_shell_command", "idle" },
	{ "gemini/0.61.0/07_err400", 144, "refused", "394da328", 0, -1, 1, 0, 0, "", "idle" },
	{ "gemini/0.61.0/11_badflag", 1, "unfinished", "", 0, -1, 0, 0, 0, "", "starting" },
	{ "gemini/0.61.0/20_err401", 145, "login", "1556cae8", 0, -1, 1, 0, 0, "", "idle" },
	{ "gemini/0.61.0/21_err429", -1, "rate_limited", "5b9733b9", 0, -1, 1, 0, 0, "",
			"retrying" },
	{ "opencode/1.18.18/01_run", 0, NULL, "ses_e23748819", 480, 560, 1, 3, 0, "All done.",
			"idle" },
	{ "opencode/1.18.18/02_resume", 0, NULL, "ses_e23748819", 120, 140, 1, 0, 0, "resumed",
			"idle" },
	{ "opencode/1.18.18/03_badsession", 1, "session_lost", "", 0, -1, 0, 0, 0, "", "starting" },
	/* It stops where a tool is refused, with exit status 0. */
	{ "opencode/1.18.18/11_rejected", 0, "unfinished", "ses_e20a0d5dd", 120, 140, 1, 1, 1, "",
			"working" },
	{ "opencode/1.18.18/10_err401", 1, "login", "ses_e20d6b2f9", 0, -1, 0, 0, 0, "", "idle" },
};

static str read_part(struct arena *a, const char *path, const char *ending)
{
	return capture_read(a, arena_printf(a, "%s%s", path, ending).p);
}

static const char *format_of(struct arena *a, const char *path)
{
	str s = str_from(path);

	return arena_cstr(a, str_sub(s, 0, str_find_byte(s, '/')));
}

TEST(captures_come_to_what_is_expected)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		const struct expected *e = &table[i];
		struct arena a = ARENA_INIT;
		struct account_verdict v;
		struct heard h;

		print_message("# %s\n", e->path);
		heard_init(&h);
		heard_feed(&h, format_of(&a, e->path), read_part(&a, e->path, ".out"),
				read_part(&a, e->path, ".err"), 0);
		v = account_judge(&h.account, e->exit_code, 0, false);
		assert_int_equal(v.ok, !e->trouble);
		assert_string_equal(trouble_name(v.trouble), e->trouble ? e->trouble : "none");
		assert_int_equal(v.text.n > 0, e->trouble != NULL);
		assert_true(str_starts(str_from(h.account.session), str_from(e->session)));
		assert_int_equal(h.account.usage.input + h.account.usage.output, e->tokens);
		assert_int_equal(h.account.cost_microusd, e->cost);
		assert_int_equal(h.account.turns, e->turns);
		assert_int_equal(h.account.tool_calls, e->tools);
		assert_int_equal(h.account.denials, e->denials);
		assert_string_equal(h.account.message, e->message);
		assert_string_equal(account_state(&h.account), e->state);
		assert_int_equal(h.counts.skipped, 0);
		heard_done(&h);
		arena_done(&a);
	}
}

/* Every capture of every format. */
typedef void capture_fn(const char *format, str output, str errors);

static void each_version(const char *format, const char *version, capture_fn *fn)
{
	struct arena a = ARENA_INIT;
	str dir = arena_printf(&a, "%s/tests/captures/%s/%s", getenv("OV_SOURCE_ROOT"), format,
			version);
	struct dirent **files;
	int n = scandir(dir.p, &files, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		str name = str_from(files[i]->d_name), path;

		if (str_ends(name, STR(".out"))) {
			name = str_sub(name, 0, name.n - 4);
			path = arena_printf(&a, "%s/%s/" STR_FMT, format, version, STR_ARG(name));
			fn(format, read_part(&a, path.p, ".out"), read_part(&a, path.p, ".err"));
		}
		free(files[i]);
	}
	assert_true(n > 2);
	free(files);
	arena_done(&a);
}

static const struct {
	const char *format, *version;
} versions[] = {
	{ "claude", "2.1.197" },
	{ "claude", "2.1.325" },
	{ "codex", "0.166.0" },
	{ "gemini", "0.61.0" },
	{ "opencode", "1.18.18" },
};

static void each_capture(capture_fn *fn)
{
	for (size_t i = 0; i < ARRAY_LEN(versions); i++)
		each_version(versions[i].format, versions[i].version, fn);
}

static str facts_of(const struct heard *h)
{
	return h->facts.n ? buf_str(&h->facts) : STR("");
}

static void same_in_pieces(const char *format, str output, str errors)
{
	static const size_t pieces[] = { 1, 2, 7, 100, 4096 };
	struct heard whole, parts;

	heard_init(&whole);
	heard_feed(&whole, format, output, errors, 0);
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		heard_init(&parts);
		heard_feed(&parts, format, output, errors, pieces[i]);
		assert_true(str_eq(facts_of(&whole), facts_of(&parts)));
		assert_memory_equal(&whole.account, &parts.account, sizeof(whole.account));
		heard_done(&parts);
	}
	heard_done(&whole);
}

TEST(pieces_do_not_matter)
{
	each_capture(same_in_pieces);
}

static void cut_at(const char *format, str output, str whole, size_t n)
{
	struct heard cut;

	heard_init(&cut);
	heard_feed(&cut, format, str_sub(output, 0, n), (str){ 0 }, 0);
	assert_true(str_starts(whole, str_sub(facts_of(&cut), 0, cut.before_end)));
	heard_done(&cut);
}

static void cut_everywhere(const char *format, str output, str errors _unused_)
{
	/* Except at full size every so many bytes, and around the ends of lines, must do. */
	bool full = getenv("OV_FULL") || getenv("OV_SOAK");
	size_t every = full ? 1 : 31, near_by = full ? 8 : 2;
	struct heard whole;

	heard_init(&whole);
	heard_feed(&whole, format, output, (str){ 0 }, 0);
	for (size_t n = 0; n < output.n; n++) {
		size_t from = n < near_by ? 0 : n - near_by;
		str around = str_sub(output, from, 2 * near_by);
		/* Of large ones, around the ends of lines, where it matters. */
		bool near = (output.n <= 65536 && n % every == 0) ||
				str_find_byte(around, '\n') < around.n;

		if (near)
			cut_at(format, output, facts_of(&whole), n);
	}
	heard_done(&whole);
}

TEST(a_cut_loses_only_what_follows)
{
	each_capture(cut_everywhere);
}

/* A piece that is missing: what follows the next newline is heard as if nothing had been. */
static void gap_in(const char *format, str output, str errors _unused_)
{
	struct rng rng = { output.n };

	for (int i = 0; i < 20 && output.n > 10; i++) {
		struct arena a = ARENA_INIT;
		size_t from = rng_below(&rng, output.n - 1);
		size_t n = 1 + rng_below(&rng, output.n - from);
		char *holed = arena_cstr(&a, output);
		struct heard h;

		memset(holed + from, 0, n);
		heard_init(&h);
		heard_feed(&h, format, (str){ holed, output.n }, (str){ 0 },
				1 + rng_below(&rng, 64));
		assert_int_equal(h.counts.gaps, 1);
		assert_true(h.counts.skipped <= 1);
		heard_done(&h);
		arena_done(&a);
	}
}

TEST(a_hole_is_a_gap)
{
	each_capture(gap_in);
}

TEST_MAIN
