/*
 * What a person is told, in words. Much of it quotes agents, so every text that goes into a form
 * with mark-up is written such that it means only itself: no heading, link, mention or reference
 * comes out of what an agent wrote.
 */
#include "app/notify/notify_impl.h"

#include "base/duration.h"
#include "base/str.h"
#include "base/utf8.h"
#include "data/value/json.h"

enum { TITLE_BYTES = 200, TEXT_BYTES = 2000, EVIDENCE_BYTES = 16 * 1024, LIST_MAX = 20 };

str notify_loud(struct arena *a, enum urgency u)
{
	char *s = arena_cstr(a, str_from(status_name(&urgencies, (int)u)));

	for (char *p = s; *p; p++)
		if (*p >= 'a' && *p <= 'z')
			*p = (char)(*p - 'a' + 'A');
	return str_from(s);
}

str notify_line(struct arena *a, str s, size_t max)
{
	str whole = str_trim(s);
	str cut = utf8_truncate(whole, max);
	char *line = arena_cstr(a, cut);

	for (char *p = line; p < line + cut.n; p++)
		if ((unsigned char)*p < ' ' || *p == 127)
			*p = ' ';
	if (cut.n == whole.n)
		return (str){ line, cut.n };
	cut = utf8_truncate(cut, max > 3 ? max - 3 : 0);
	return arena_printf(a, STR_FMT "...", STR_ARG(((str){ line, cut.n })));
}

str notify_place(struct arena *a, const struct notice_message *m)
{
	return m->node_id.n ? arena_printf(a, STR_FMT "/" STR_FMT, STR_ARG(m->goal_id),
					      STR_ARG(m->node_id))
			    : m->goal_id;
}

str notify_task(const struct notice_message *m)
{
	return m->node_name.n ? m->node_name : m->goal_title;
}

void add_entities(struct buf *out, str s)
{
	for (size_t i = 0; i < s.n; i++)
		switch (s.p[i]) {
		case '&': buf_adds(out, STR("&amp;")); break;
		case '<': buf_adds(out, STR("&lt;")); break;
		case '>': buf_adds(out, STR("&gt;")); break;
		default: buf_addc(out, s.p[i]);
		}
}

/*
 * A backslash takes the meaning of mark-up, but not that of a mention or a reference, which are
 * looked for in the text that comes out: a space of no width parts those.
 */
static void add_markdown(struct buf *out, str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c < ' ' || c == 127) {
			buf_addc(out, ' ');
		} else if (c == '<' || c == '>' || c == '&') {
			add_entities(out, str_sub(s, i, 1));
		} else if (c == '@' || c == '#') {
			buf_addf(out, "%s%c\u200b", c == '#' ? "\\" : "", c);
		} else {
			if (strchr("\\`*_{}[]()~|!", c))
				buf_addc(out, '\\');
			buf_addc(out, (char)c);
		}
	}
}

/* Nothing in it can end the comment that it stands in. */
static str plain_word(struct arena *a, str s)
{
	char *p = arena_cstr(a, utf8_truncate(s, 200));
	size_t n = strlen(p);

	for (size_t i = 0; i < n; i++)
		if (!((p[i] >= 'a' && p[i] <= 'z') || (p[i] >= 'A' && p[i] <= 'Z') ||
				    (p[i] >= '0' && p[i] <= '9') || strchr("_.:/", p[i])))
			p[i] = '_';
	return (str){ p, n };
}

str notify_mark_same(struct arena *a, const struct notice_message *m)
{
	return arena_printf(a, "<!-- overseer:" STR_FMT " ",
			STR_ARG(plain_word(a, m->fingerprint)));
}

str notify_mark(struct arena *a, const struct notice_message *m)
{
	return arena_printf(a, STR_FMT "notice:" STR_FMT " -->", STR_ARG(notify_mark_same(a, m)),
			STR_ARG(plain_word(a, m->id)));
}

str notify_issue_title(struct arena *a, const struct notice_message *m)
{
	return arena_printf(a, "Overseer: " STR_FMT ": " STR_FMT,
			STR_ARG(notify_loud(a, m->urgency)),
			STR_ARG(notify_line(a, m->reason, TITLE_BYTES)));
}

static void add_named(struct buf *out, const char *before, const char *name, str s,
		const char *after)
{
	if (!s.n)
		return;
	buf_addf(out, "%s**%s:** ", before, name);
	add_markdown(out, utf8_truncate(s, TEXT_BYTES));
	buf_adds(out, str_from(after));
}

/* Two spaces at the end of a line break it. */
static void add_fact(struct buf *out, const char *name, str s)
{
	add_named(out, "", name, s, "  \n");
}

static void add_item(struct buf *out, const char *name, str s)
{
	add_named(out, "- ", name, s, "\n");
}

/* No line of JSON begins with a fence, so none can end it. */
static void add_evidence(struct buf *out, const value *evidence)
{
	_cleanup_(buf_done) struct buf json = BUF_INIT;
	str cut;

	if (!value_count(evidence))
		return;
	json_write_pretty(&json, evidence);
	cut = utf8_truncate(buf_str(&json), EVIDENCE_BYTES);
	buf_addf(out, "\n**Evidence:**\n\n```json\n" STR_FMT "%s\n```\n", STR_ARG(cut),
			cut.n < json.n ? "\n..." : "");
}

static void add_detection(struct buf *out, const value *d)
{
	const value *list = value_at(d, "recommendations");

	buf_adds(out, STR("\n### Detection\n\n"));
	add_item(out, "Type", value_str_at(d, "type"));
	add_item(out, "Severity", value_str_at(d, "severity"));
	add_item(out, "Message", value_str_at(d, "message"));
	add_evidence(out, value_at(d, "evidence"));
	if (value_count(list))
		buf_adds(out, STR("\n**Recommendations:**\n\n"));
	for (size_t i = 0; i < MIN(value_count(list), (size_t)LIST_MAX); i++) {
		buf_addf(out, "%zu. ", i + 1);
		add_markdown(out,
				utf8_truncate(value_str_or(value_item(list, i), STR("")),
						TEXT_BYTES));
		buf_addc(out, '\n');
	}
}

/* A block that is indented has no end that a text could write. */
static void add_commands(struct buf *out, const struct notice_message *m)
{
	if (m->commands_n)
		buf_adds(out, STR("\nWhat to type where the daemon runs:\n\n"));
	for (size_t i = 0; i < m->commands_n && i < LIST_MAX; i++) {
		buf_adds(out, STR("    "));
		for (size_t k = 0; k < m->commands[i].n; k++) {
			char c = m->commands[i].p[k];

			buf_addc(out, (unsigned char)c < ' ' ? ' ' : c);
		}
		buf_addc(out, '\n');
	}
}

str notify_issue_body(struct arena *a, const struct notice_message *m, bool again)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;

	buf_addf(&out, STR_FMT "\n## Agent Loop Overseer Alert%s\n\n", STR_ARG(notify_mark(a, m)),
			again ? ": again" : "");
	add_fact(&out, "Goal", notify_place(a, m));
	add_fact(&out, "Task", notify_task(m));
	if (m->iteration)
		add_fact(&out, "Iteration", arena_printf(a, "%lld", (long long)m->iteration));
	add_fact(&out, "Timestamp", time_format(a, m->at));
	buf_adds(&out, STR("\n### Issue\n\n"));
	add_markdown(&out, utf8_truncate(m->reason, TEXT_BYTES));
	buf_addc(&out, '\n');
	if (m->detection)
		add_detection(&out, m->detection);
	if (m->intervention) {
		buf_adds(&out, STR("\n### Intervention\n\n"));
		add_item(&out, "Level", value_str_at(m->intervention, "level"));
		add_item(&out, "Reason", value_str_at(m->intervention, "reason"));
		add_item(&out, "Done", value_str_at(m->intervention, "did"));
	}
	buf_adds(&out,
			STR("\n### Actions Required\n\n"
			    "- [ ] Review the goal's state and its iterations\n"
			    "- [ ] Determine whether it should continue or be aborted\n"
			    "- [ ] Provide guidance on how to proceed\n"));
	add_commands(&out, m);
	buf_adds(&out,
			STR("\n---\n*Automated escalation from Overseer. Closing this issue does "
			    "not resume anything.*\n"));
	return arena_str(a, buf_str(&out));
}

value *notify_document(struct arena *a, const struct notice_message *m)
{
	value *v = value_object(a), *context = value_object(a), *commands = value_array(a);

	for (size_t i = 0; i < m->commands_n; i++)
		value_push(a, commands, value_str(a, m->commands[i]));
	value_put(a, context, "loopId", value_str(a, notify_place(a, m)));
	value_put(a, context, "taskDescription", value_str(a, notify_task(m)));
	value_put(a, context, "iterationNumber",
			m->iteration ? value_int(a, m->iteration) : value_null(a));
	value_put(a, context, "reason", value_str(a, m->reason));
	value_put(a, context, "detection",
			m->detection ? value_share(m->detection) : value_null(a));
	value_put(a, context, "intervention",
			m->intervention ? value_share(m->intervention) : value_null(a));
	value_put(a, context, "goal", value_str(a, m->goal_id));
	value_put(a, context, "goalTitle", value_str(a, m->goal_title));
	value_put(a, context, "node", value_str(a, m->node_id));
	value_put(a, context, "inbox", m->escalation ? value_int(a, m->escalation) : value_null(a));
	value_put(a, context, "commands", commands);
	value_put(a, v, "id", value_str(a, m->id));
	value_put(a, v, "fingerprint", value_str(a, m->fingerprint));
	value_put(a, v, "level", value_cstr(a, status_name(&urgencies, (int)m->urgency)));
	value_put(a, v, "context", context);
	value_put(a, v, "timestamp", value_time(a, m->at));
	return v;
}
