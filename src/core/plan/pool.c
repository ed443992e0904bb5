#include "core/plan/pool.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/model/limits.h"

enum { EXIT_TASK = 0, EXIT_GIVE_UP = 3, EXIT_NONE = 4 };

ov_time pool_longest_wait(const struct policy *p)
{
	ov_time wait = p->pool_retry_wait;

	for (int64_t i = 1; i < p->pool_retries && wait < OV_DAY; i++)
		wait *= 2;
	return MAX(wait, p->pool_wait_max);
}

static str trouble(struct arena *a, const struct pool_end *e)
{
	if (e->timed_out)
		return STR("it took longer than auto.task_pool_timeout");
	if (e->signal)
		return arena_printf(a, "it was ended by signal %d", e->signal);
	if (e->code == EXIT_GIVE_UP)
		return arena_printf(a, "it gave up (exit status %d)", e->code);
	return arena_printf(a, "exit status %d", e->code);
}

static enum effect_outcome judge_text(struct arena *a, str output, str *ret_text)
{
	str text = str_trim(output);

	if (!text.n) {
		*ret_text = STR("it had no task");
		return ENDED_NONE;
	}
	if (text.n > LIMIT_TEXT) {
		*ret_text = arena_printf(a, "it has more than the %d KiB that a task may have",
				LIMIT_TEXT / 1024);
		return ENDED_REFUSED;
	}
	if (str_find_byte(text, '\0') < text.n || !utf8_valid(text))
		*ret_text = STR("its task is not text in UTF-8");
	else {
		*ret_text = arena_str(a, text);
		return ENDED_TASK;
	}
	return ENDED_FAILED;
}

enum effect_outcome pool_judge(struct arena *a, const struct pool_end *e, str *ret_text)
{
	str said = str_trim(e->error_lines);

	if (!e->known) {
		*ret_text = utf8_clean(a, str_trim(e->output));
		return ret_text->n ? ENDED_UNCERTAIN : ENDED_NONE;
	}
	if (!e->timed_out && !e->signal && e->code == EXIT_TASK)
		return judge_text(a, e->output, ret_text);
	if (!e->timed_out && !e->signal && e->code == EXIT_NONE) {
		*ret_text = STR("it had no task");
		return ENDED_NONE;
	}
	*ret_text = arena_printf(a, STR_FMT "%s" STR_FMT, STR_ARG(trouble(a, e)),
			said.n ? ": " : "", STR_ARG(said));
	return ENDED_FAILED;
}
