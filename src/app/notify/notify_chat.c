/*
 * Slack and Discord: a webhook each, with a shape of their own. What agents wrote is data there: it
 * formats nothing, links nothing and calls nobody. Texts are cut before they are escaped, such that
 * what comes out stays within what the services take.
 */
#include "app/notify/notify_impl.h"

#include "base/utf8.h"

/* Of bytes, where the services count characters; escaped they may be longer, but not that much. */
enum { HEAD_BYTES = 100, REASON_BYTES = 500, FACT_BYTES = 150, FACTS_MAX = 6 };

struct chat_fact {
	const char *name;
	str text;
};

static size_t facts_of(struct arena *a, const struct notice_message *m,
		struct chat_fact ret[static FACTS_MAX])
{
	const struct chat_fact all[FACTS_MAX] = {
		{ "Goal", notify_place(a, m) },
		{ "Task", notify_task(m) },
		{ "Iteration",
				m->iteration ? arena_printf(a, "%lld", (long long)m->iteration)
					     : STR("") },
		{ "Detection", value_str_at(m->detection, "type") },
		{ "Intervention", value_str_at(m->intervention, "level") },
		{ "Answer it with", m->commands_n ? m->commands[0] : STR("") },
	};
	size_t n = 0;

	for (size_t i = 0; i < FACTS_MAX; i++)
		if (all[i].text.n)
			ret[n++] = (struct chat_fact){ all[i].name,
				notify_line(a, all[i].text, FACT_BYTES) };
	return n;
}

static str head_of(struct arena *a, const struct notice_message *m)
{
	return arena_printf(a, "Overseer: " STR_FMT, STR_ARG(notify_loud(a, m->urgency)));
}

/* ---- Slack ---- */

static str entities(struct arena *a, str s)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;

	add_entities(&out, s);
	return arena_str(a, buf_str(&out));
}

/* Text that Slack does not look for mark-up in. */
static value *plain_text(struct arena *a, str s)
{
	value *v = value_object(a);

	value_put(a, v, "type", value_cstr(a, "plain_text"));
	value_put(a, v, "text", value_str(a, entities(a, s)));
	value_put(a, v, "emoji", value_bool(a, false));
	return v;
}

static value *block(struct arena *a, const char *type, const char *key, value *content)
{
	value *v = value_object(a);

	value_put(a, v, "type", value_cstr(a, type));
	value_put(a, v, key, content);
	return v;
}

value *slack_document(struct arena *a, const struct notice_message *m)
{
	value *v = value_object(a), *blocks = value_array(a), *fields = value_array(a);
	str head = head_of(a, m), reason = notify_line(a, m->reason, REASON_BYTES);
	struct chat_fact facts[FACTS_MAX];
	size_t n = facts_of(a, m, facts);

	for (size_t i = 0; i < n; i++)
		value_push(a, fields,
				plain_text(a,
						arena_printf(a, "%s: " STR_FMT, facts[i].name,
								STR_ARG(facts[i].text))));
	value_push(a, blocks,
			block(a, "header", "text", plain_text(a, utf8_truncate(head, HEAD_BYTES))));
	value_push(a, blocks, block(a, "section", "text", plain_text(a, reason)));
	if (n)
		value_push(a, blocks, block(a, "section", "fields", fields));
	value_put(a, v, "text",
			value_str(a,
					entities(a,
							arena_printf(a, STR_FMT ": " STR_FMT,
									STR_ARG(head),
									STR_ARG(reason)))));
	value_put(a, v, "mrkdwn", value_bool(a, false));
	value_put(a, v, "blocks", blocks);
	return v;
}

/* ---- Discord ---- */

static const int64_t colours[] = {
	[URGENCY_INFO] = 0x3498db,
	[URGENCY_WARNING] = 0xf1c40f,
	[URGENCY_CRITICAL] = 0xe74c3c,
	[URGENCY_EMERGENCY] = 0x992d22,
};

/* Who is mentioned is said by allowed_mentions (nobody); this is about what it looks like. */
static str escaped(struct arena *a, str s)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;

	for (size_t i = 0; i < s.n; i++) {
		if (strchr("\\*_~`|>#[]()<@:-", s.p[i]))
			buf_addc(&out, '\\');
		buf_addc(&out, s.p[i]);
	}
	return arena_str(a, buf_str(&out));
}

value *discord_document(struct arena *a, const struct notice_message *m)
{
	value *v = value_object(a), *embeds = value_array(a), *embed = value_object(a),
	      *fields = value_array(a), *mentions = value_object(a);
	struct chat_fact facts[FACTS_MAX];
	size_t n = facts_of(a, m, facts);

	for (size_t i = 0; i < n; i++) {
		value *f = value_object(a);

		value_put(a, f, "name", value_cstr(a, facts[i].name));
		value_put(a, f, "value", value_str(a, escaped(a, facts[i].text)));
		value_put(a, f, "inline", value_bool(a, true));
		value_push(a, fields, f);
	}
	value_put(a, embed, "title", value_str(a, head_of(a, m)));
	value_put(a, embed, "description",
			value_str(a, escaped(a, notify_line(a, m->reason, REASON_BYTES))));
	value_put(a, embed, "color", value_int(a, colours[m->urgency]));
	value_put(a, embed, "timestamp", value_time(a, m->at));
	value_put(a, embed, "fields", fields);
	value_push(a, embeds, embed);
	value_put(a, mentions, "parse", value_array(a));
	value_put(a, v, "content",
			value_strf(a, STR_FMT ": " STR_FMT, STR_ARG(head_of(a, m)),
					STR_ARG(escaped(a,
							notify_line(a, m->reason, REASON_BYTES)))));
	value_put(a, v, "embeds", embeds);
	value_put(a, v, "allowed_mentions", mentions);
	return v;
}
