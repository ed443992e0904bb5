#include "app/notify/notify_impl.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/config/command_env.h"
#include "core/text/redact.h"
#include "core/text/url_check.h"
#include "sys/file/file.h"
#include "sys/loop/bus.h"
#include "sys/loop/job.h"
#include "sys/loop/loop.h"

enum { SECRET_BYTES = 8 * 1024, ERROR_BYTES = 500, TELLING_BYTES = 8 };

static void (*const channels[CHANNEL_TYPE_COUNT])(struct notify_job *j) = {
	[CHANNEL_DESKTOP] = desktop_begin,
	[CHANNEL_GITEA] = forge_begin,
	[CHANNEL_GITHUB] = forge_begin,
	[CHANNEL_WEBHOOK] = web_begin,
	[CHANNEL_SLACK] = web_begin,
	[CHANNEL_DISCORD] = web_begin,
	[CHANNEL_HOOK] = hook_begin,
};

struct notifier *notify_new(const struct notify_options *o)
{
	struct notifier *n = mem_zalloc(1, sizeof(*n));

	n->o = *o;
	return n;
}

void notify_free(struct notifier *n)
{
	if (!n)
		return;
	http_client_free(n->http);
	mem_free(n);
}

static void job_free(struct notify_job *j)
{
	loop_source_free(j->later);
	arena_done(&j->arena);
	mem_free(j);
}

void notify_cancel(struct notify_job *j)
{
	if (j->call)
		http_cancel(j->call);
	if (j->command)
		job_abandon(j->command);
	if (j->bus)
		bus_cancel(j->bus);
	job_free(j);
}

/* ---- the end ---- */

static void notify_notify_tell(void *user)
{
	struct notify_job *j = user;

	j->done(j->user, &j->outcome);
	job_free(j);
}

static void tell_later(struct notify_job *j)
{
	assert(!j->later);
	j->later = loop_defer(j->n->o.loop, notify_notify_tell, j);
}

void notify_sent(struct notify_job *j, str ref)
{
	j->outcome.ok = true;
	j->outcome.ref = arena_str(&j->arena, ref);
	tell_later(j);
}

static str replaced(struct arena *a, str s, str secret, str shown)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;

	while (s.n) {
		size_t at = str_find(s, secret);

		buf_adds(&out, str_sub(s, 0, at));
		if (at < s.n)
			buf_adds(&out, shown);
		s = str_sub(s, at + secret.n, SIZE_MAX);
	}
	return arena_str(a, buf_str(&out));
}

/* What we know to be secret is taken out by what it is, anything else by its shape. */
static str hide(struct notify_job *j, str s)
{
	for (size_t i = 0; i < ARRAY_LEN(j->secrets); i++)
		if (j->secrets[i].text.n)
			s = replaced(&j->arena, s, j->secrets[i].text,
					j->secrets[i].shown.n ? j->secrets[i].shown
							      : STR("[redacted]"));
	return redact(&j->arena, s);
}

void notify_failed(struct notify_job *j, enum notify_again again, const char *fmt, ...)
{
	va_list ap;
	str s;

	va_start(ap, fmt);
	s = arena_vprintf(&j->arena, fmt, ap);
	va_end(ap);
	s = hide(j, utf8_clean(&j->arena, s));
	j->outcome.error = utf8_truncate(s, ERROR_BYTES);
	j->outcome.permanent = again == NOTIFY_NEVER;
	tell_later(j);
}

/* ---- secrets ---- */

static const char *home_path(struct arena *a, str file)
{
	const char *home = getenv("HOME");

	if (!str_starts(file, STR("~/")) || !home)
		return arena_cstr(a, file);
	return path_join(a, home, arena_cstr(a, str_sub(file, 2, SIZE_MAX)));
}

static int read_secret_file(struct arena *a, const char *what, str file, str *ret,
		struct ov_err *err)
{
	const char *path = home_path(a, file);
	struct stat st;
	int r;

	if (stat(path, &st) < 0)
		return ov_fail(err, OV_ENOTFOUND, "the %s cannot be read: there is no %s", what,
				path);
	if (!S_ISREG(st.st_mode))
		return ov_fail(err, OV_EINVALID, "the %s cannot be read: %s is no file", what,
				path);
	if (st.st_mode & S_IROTH)
		return ov_fail(err, OV_EUNAUTHORIZED,
				"the %s is not used: everybody can read %s (chmod 600 it)", what,
				path);
	r = file_read(a, path, SECRET_BYTES, ret, err);
	return r < 0 ? ov_wrap(err, r, "reading the %s", what) : 0;
}

/* It goes into a header or an address as it is. */
static bool is_word(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] == 127)
			return false;
	return s.n > 0;
}

int notify_secret(struct notify_job *j, const char *what, str file, str env, str *ret,
		struct ov_err *err)
{
	struct arena *a = &j->arena;
	str s = STR("");
	int r = 0;

	if (file.n)
		r = read_secret_file(a, what, file, &s, err);
	else if (env.n)
		s = arena_str(a, str_from(getenv(arena_cstr(a, env))));
	if (r < 0)
		return r;
	s = str_trim(s);
	if ((file.n || env.n) && s.n == 0)
		return ov_fail(err, OV_ENOTFOUND, "there is no %s: " STR_FMT " %s", what,
				STR_ARG(file.n ? file : env),
				file.n ? "is empty" : "is not set where the daemon was started");
	if (s.n && !is_word(s))
		return ov_fail(err, OV_EINVALID, "the %s in " STR_FMT " is not one word", what,
				STR_ARG(file.n ? file : env));
	*ret = s;
	return 0;
}

/* Where it leads may be seen; what follows lets whoever knows it write there. */
static void hide_address(struct notify_job *j, str url)
{
	size_t host = str_find(url, STR("://")) + 3;
	size_t path = host + str_find_byte(str_sub(url, host, SIZE_MAX), '/') + 1;
	str rest = str_sub(url, path, SIZE_MAX), part;

	if (!rest.n)
		return;
	j->secrets[1].text = url;
	j->secrets[1].shown = arena_printf(&j->arena, STR_FMT "...",
			STR_ARG(str_sub(url, 0, path)));
	while (str_split(&rest, '/', &part))
		if (part.n >= TELLING_BYTES)
			j->secrets[2].text = part;
}

int notify_url(struct notify_job *j, str *ret, struct ov_err *err)
{
	str url = j->ch.url;
	const char *why;
	int r = 0;

	if (!url.n)
		r = notify_secret(j, "address", j->ch.url_file, j->ch.url_env, &url, err);
	if (r < 0)
		return r;
	hide_address(j, url);
	why = config_url_problem(url, true);
	if (why)
		return ov_fail(err, OV_EINVALID, "the address of \"" STR_FMT "\" %s",
				STR_ARG(j->ch.name), why);
	*ret = url;
	return 0;
}

/* ---- the beginning ---- */

static const str *copied_list(struct arena *a, const str *p, size_t n)
{
	str *list = arena_array(a, str, n + 1);

	for (size_t i = 0; i < n; i++)
		list[i] = arena_str(a, p[i]);
	return list;
}

static void copy_message(struct arena *a, struct notice_message *m)
{
	str *const texts[] = { &m->id, &m->channel, &m->goal_id, &m->goal_title, &m->node_id,
		&m->node_name, &m->reason, &m->fingerprint, &m->again };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		*texts[i] = arena_str(a, *texts[i]);
	m->detection = m->detection ? value_copy(a, m->detection) : NULL;
	m->intervention = m->intervention ? value_copy(a, m->intervention) : NULL;
	m->commands = copied_list(a, m->commands, m->commands_n);
}

static void copy_channel(struct arena *a, struct config_channel *ch)
{
	str *const texts[] = { &ch->name, &ch->url, &ch->url_file, &ch->url_env, &ch->repo,
		&ch->token_file, &ch->token_env, &ch->secret_file, &ch->secret_env, &ch->command };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		*texts[i] = arena_str(a, *texts[i]);
	ch->labels = copied_list(a, ch->labels, ch->labels_n);
}

struct notify_job *notify_start(struct notifier *n, const struct config *c,
		const struct notice_message *m, notify_done_fn *done, void *user)
{
	const struct config_channel *ch = config_channel(c, m->channel);
	struct notify_job *j = mem_zalloc(1, sizeof(*j));

	j->n = n;
	j->done = done;
	j->user = user;
	j->m = *m;
	copy_message(&j->arena, &j->m);
	if (!ch) {
		notify_failed(j, NOTIFY_NEVER, "there is no channel \"" STR_FMT "\" any more",
				STR_ARG(m->channel));
		return j;
	}
	j->ch = *ch;
	copy_channel(&j->arena, &j->ch);
	j->env = command_env(&j->arena, c, environ, NULL, 0);
	j->deadline_us = loop_mono_us(n->o.loop) + (uint64_t)ch->timeout * 1000;
	channels[ch->type](j);
	return j;
}
