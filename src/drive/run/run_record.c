#include "drive/run/run_record.h"

#include "base/err.h"
#include "base/str.h"
#include "data/value/json.h"
#include "data/value/value.h"

int run_record_parse(struct arena *a, str text, const char *id, struct run_end *ret,
		struct ov_err *err)
{
	int64_t code, sig, output, dropped, swept;
	value *v;
	str run;
	int r = json_parse(a, text, NULL, &v, err);

	if (r < 0)
		return r;
	if ((r = value_need_str(v, STR(""), "id", &run, err)) < 0 ||
			(r = value_need_bool(v, STR(""), "started", &ret->started, err)) < 0 ||
			(r = value_need_int(v, STR(""), "exit_code", &code, err)) < 0 ||
			(r = value_need_int(v, STR(""), "signal", &sig, err)) < 0 ||
			(r = value_need_int(v, STR(""), "started_at", &ret->started_at, err)) < 0 ||
			(r = value_need_int(v, STR(""), "ended_at", &ret->ended_at, err)) < 0 ||
			(r = value_need_int(v, STR(""), "output_bytes", &output, err)) < 0 ||
			(r = value_need_int(v, STR(""), "dropped_bytes", &dropped, err)) < 0 ||
			(r = value_need_int(v, STR(""), "swept", &swept, err)) < 0 ||
			(r = value_need_str(v, STR(""), "message", &ret->message, err)) < 0)
		return r;
	if (!str_is(run, id))
		return ov_fail(err, OV_EINVALID, "it is the record of run " STR_FMT, STR_ARG(run));
	if (code < -1 || code > 255 || sig < 0 || sig > 64 || output < 0 || dropped < 0 ||
			swept < 0)
		return ov_fail(err, OV_EINVALID, "a number is out of range");
	ret->exit_code = (int)code;
	ret->signal = (int)sig;
	ret->output_bytes = (uint64_t)output;
	ret->dropped_bytes = (uint64_t)dropped;
	ret->swept = (size_t)swept;
	/* Not in the records of older shims. */
	ret->ran_ms = MAX(value_int_at(v, "ran_ms"), (int64_t)0);
	ret->grouped = str_is(value_str_at(v, "containment"), "cgroup");
	return 0;
}
