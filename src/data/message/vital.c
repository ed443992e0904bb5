#include "data/message/vital.h"

#include "base/arena.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "data/value/json.h"

#define NAME(id, name, help) [id] = (name),
#define HELP(id, name, help) [id] = (help),
static const char *const health_names[] = { HEALTH_KINDS(NAME) };
static const char *const act_names[] = { ACT_KINDS(NAME) };
static const char *const failure_names[] = { FAILURES(NAME) };
static const char *const failure_helps[] = { FAILURES(HELP) };
#undef NAME
#undef HELP

const char *health_kind_name(enum health_kind k)
{
	return health_names[k];
}

const char *act_kind_name(enum act_kind k)
{
	return act_names[k];
}

const char *failure_name(enum failure f)
{
	return failure_names[f];
}

const char *failure_help(enum failure f)
{
	return failure_helps[f];
}

const char *daemon_exit_text(int status)
{
	/* Of several codes with one status, what that means for a daemon. */
	static const struct {
		enum ov_code code;
		const char *text;
	} starts[] = {
		{ OV_EINVALID, "the configuration is not valid" },
		{ OV_ENOTFOUND, "there is no store" },
		{ OV_ECONFLICT, "the store is another daemon's, or of a newer version" },
		{ OV_EUNAUTHORIZED, "something may not be read or written" },
		{ OV_ELIMIT, "something is too large" },
		{ OV_EUNAVAILABLE, "something that it needs does not answer" },
		{ OV_EIO, "input or output failed" },
		{ OV_EINTERNAL, "a mistake of ours" },
	};

#define ROW(id, number, text)   \
	if (status == (number)) \
		return text;
	DAEMON_EXITS(ROW)
#undef ROW
	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		if (ov_code_info(starts[i].code)->exit_status == status)
			return starts[i].text;
	return "not a status of the daemon's";
}

static bool find_name(const char *const *names, size_t n, str name, int *ret)
{
	for (size_t i = 0; i < n; i++)
		if (str_is(name, names[i])) {
			*ret = (int)i;
			return true;
		}
	return false;
}

bool failure_from_name(str name, enum failure *ret)
{
	int i;

	if (!find_name(failure_names, ARRAY_LEN(failure_names), name, &i))
		return false;
	*ret = (enum failure)i;
	return true;
}

/* ---- fields ---- */

/* Cut at a character's border. */
static void set_text(char *to, size_t max, str s)
{
	s = utf8_truncate(s, max);
	if (s.n)
		memcpy(to, s.p, s.n);
	to[s.n] = '\0';
}

/* As many hexadecimal digits as there must be, or none where that is allowed. */
static bool read_instance(const value *v, const char *key, bool optional,
		char ret[static VITAL_INSTANCE + 1])
{
	str s = value_str_at(v, key);

	ret[0] = '\0';
	if (s.n == 0)
		return optional;
	if (s.n != VITAL_INSTANCE)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!strchr("0123456789abcdef", s.p[i]) || !s.p[i])
			return false;
	set_text(ret, VITAL_INSTANCE, s);
	return true;
}

static bool read_time(const value *v, const char *key, ov_time *ret)
{
	return time_parse(value_str_at(v, key), ret);
}

static bool read_count(const value *v, const char *key, uint64_t *ret)
{
	const value *n = value_at(v, key);

	if (!n || n->kind != V_INT || n->i < 0)
		return false;
	*ret = (uint64_t)n->i;
	return true;
}

static bool read_bool(const value *v, const char *key, bool *ret)
{
	const value *b = value_at(v, key);

	if (!b || b->kind != V_BOOL)
		return false;
	*ret = b->b;
	return true;
}

static value *parse_object(struct arena *a, str line)
{
	value *v;

	if (json_parse(a, line, NULL, &v, NULL) < 0 || v->kind != V_OBJECT)
		return NULL;
	return v;
}

/* ---- who ---- */

bool identity_read(const value *v, struct identity *ret)
{
	struct identity id = { 0 };
	int64_t pid = value_int_at(v, "pid");
	str boot = value_str_at(v, "boot_id");

	if (pid <= 0 || pid > INT32_MAX || boot.n != sizeof(id.boot_id) - 1 ||
			!read_count(v, "start_time", &id.start_time) || !id.start_time ||
			!read_instance(v, "instance_id", false, id.instance))
		return false;
	id.pid = (int)pid;
	set_text(id.boot_id, sizeof(id.boot_id) - 1, boot);
	*ret = id;
	return true;
}

void identity_put(struct arena *a, value *v, const struct identity *id)
{
	value_put(a, v, "pid", value_int(a, id->pid));
	value_put(a, v, "start_time", value_int(a, (int64_t)id->start_time));
	value_put(a, v, "boot_id", value_str(a, arena_str(a, str_from(id->boot_id))));
	value_put(a, v, "instance_id", value_str(a, arena_str(a, str_from(id->instance))));
}

bool identity_eq(const struct identity *a, const struct identity *b)
{
	return a->pid == b->pid && a->start_time == b->start_time &&
			strcmp(a->boot_id, b->boot_id) == 0 &&
			strcmp(a->instance, b->instance) == 0;
}

/* ---- heartbeat ---- */

void heartbeat_write(const struct heartbeat *h, struct buf *out)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	size_t start = out->n;
	value *v = value_object(&a);

	value_put(&a, v, "instance_id", value_cstr(&a, h->instance));
	value_put(&a, v, "loop", value_int(&a, (int64_t)h->loop));
	value_put(&a, v, "progress", value_int(&a, (int64_t)h->progress));
	value_put(&a, v, "due", value_bool(&a, h->due));
	value_put(&a, v, "degraded", value_bool(&a, h->degraded));
	value_put(&a, v, "time", value_time(&a, h->at));
	json_write(out, v);
	while (out->n < start + HEARTBEAT_BYTES - 1)
		buf_addc(out, ' ');
	buf_addc(out, '\n');
	assert(out->n == start + HEARTBEAT_BYTES);
}

bool heartbeat_read(str text, struct heartbeat *ret)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct heartbeat h = { 0 };
	value *v;

	if (text.n != HEARTBEAT_BYTES)
		return false;
	v = parse_object(&a, str_trim(text));
	if (!v || !read_instance(v, "instance_id", false, h.instance) ||
			!read_count(v, "loop", &h.loop) ||
			!read_count(v, "progress", &h.progress) || !read_bool(v, "due", &h.due) ||
			!read_bool(v, "degraded", &h.degraded) || !read_time(v, "time", &h.at))
		return false;
	*ret = h;
	return true;
}

/* ---- lines ---- */

static void write_line(struct buf *out, const value *v)
{
	json_write(out, v);
	buf_addc(out, '\n');
}

void health_write(const struct health *h, struct buf *out)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *v = value_object(&a);

	value_put(&a, v, "time", value_time(&a, h->at));
	value_put(&a, v, "instance", value_cstr(&a, h->instance));
	value_put(&a, v, "kind", value_cstr(&a, health_names[h->kind]));
	value_put(&a, v, "text", value_cstr(&a, h->text));
	write_line(out, v);
}

bool health_read(str line, struct health *ret)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *v = parse_object(&a, line);
	struct health h = { 0 };
	int kind;

	if (!v || !read_time(v, "time", &h.at) ||
			!read_instance(v, "instance", false, h.instance) ||
			!find_name(health_names, HEALTH_COUNT, value_str_at(v, "kind"), &kind))
		return false;
	h.kind = (enum health_kind)kind;
	set_text(h.text, VITAL_TEXT, value_str_at(v, "text"));
	*ret = h;
	return true;
}

value *act_value(struct arena *a, const struct act *x)
{
	value *v = value_object(a);

	value_put(a, v, "n", value_int(a, x->n));
	value_put(a, v, "time", value_time(a, x->at));
	value_put(a, v, "watch", value_cstr(a, x->watch));
	value_put(a, v, "kind", value_cstr(a, act_names[x->kind]));
	value_put(a, v, "failure", value_cstr(a, failure_names[x->failure]));
	value_put(a, v, "instance", value_cstr(a, x->instance));
	value_put(a, v, "text", value_cstr(a, x->text));
	return v;
}

void act_write(const struct act *x, struct buf *out)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	write_line(out, act_value(&a, x));
}

bool act_read(str line, struct act *ret)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *v = parse_object(&a, line);
	struct act x = { 0 };
	uint64_t n;
	int kind, failure;

	if (!v || !read_count(v, "n", &n) || n == 0 || !read_time(v, "time", &x.at) ||
			!read_instance(v, "watch", false, x.watch) ||
			!read_instance(v, "instance", true, x.instance) ||
			!find_name(act_names, ACT_COUNT, value_str_at(v, "kind"), &kind) ||
			!find_name(failure_names, FAILURE_COUNT, value_str_at(v, "failure"),
					&failure))
		return false;
	x.n = (int64_t)n;
	x.kind = (enum act_kind)kind;
	x.failure = (enum failure)failure;
	set_text(x.text, VITAL_TEXT, value_str_at(v, "text"));
	*ret = x;
	return true;
}
