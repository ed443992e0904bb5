#include "base/err.h"

#include <stdio.h>

#include "base/str.h"

static const struct ov_code_info codes[] = { [OV_OK_INDEX] = { "OK", 0, 200, 0 },
#define ROW(code, name, rpc, http, exit) [code##_INDEX] = { name, rpc, http, exit },
	OV_CODES(ROW)
#undef ROW
};

const struct ov_code_info *ov_code_info(int code)
{
	if (code > 0 || -code >= (int)ARRAY_LEN(codes))
		code = OV_EINTERNAL;
	return &codes[-code];
}

int ov_code_from_name(str name)
{
	for (int i = 0; i < (int)ARRAY_LEN(codes); i++)
		if (str_is(name, codes[i].name))
			return -i;
	return OV_EINTERNAL;
}

int ov_code_from_rpc(int64_t rpc_code)
{
	for (int i = 0; i < (int)ARRAY_LEN(codes); i++)
		if (codes[i].rpc_code == rpc_code)
			return -i;
	return OV_EINTERNAL;
}

/* Marks a message that did not fit, so that nobody takes a cut text for a whole one. */
static void mark_cut(char *msg, size_t cap, int n)
{
	if (n >= (int)cap)
		memcpy(msg + cap - 4, "...", 4);
}

int ov_fail(struct ov_err *err, int code, const char *fmt, ...)
{
	va_list ap;
	int n;

	assert(code < 0);
	if (!err)
		return code;
	err->code = code;
	err->next[0] = '\0';
	va_start(ap, fmt);
	n = vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	mark_cut(err->msg, sizeof(err->msg), n);
	return code;
}

int ov_fail_errno(struct ov_err *err, int errnum, const char *fmt, ...)
{
	char what[700];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return ov_fail(err, OV_EIO, "%s: %s", what, strerror(errnum));
}

int ov_wrap(struct ov_err *err, int code, const char *fmt, ...)
{
	char old[sizeof(err->msg)], context[400];
	va_list ap;
	int n;

	if (!err)
		return code;
	memcpy(old, err->msg, sizeof(old));
	va_start(ap, fmt);
	vsnprintf(context, sizeof(context), fmt, ap);
	va_end(ap);
	n = snprintf(err->msg, sizeof(err->msg), "%s: %s", context, old);
	mark_cut(err->msg, sizeof(err->msg), n);
	err->code = code;
	return code;
}

int ov_next(struct ov_err *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return OV_EINTERNAL;
	va_start(ap, fmt);
	vsnprintf(err->next, sizeof(err->next), fmt, ap);
	va_end(ap);
	return err->code;
}
