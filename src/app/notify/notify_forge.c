/*
 * Issues of a forge. The first line of what we write is a comment that names the fingerprint and
 * the notice: by it a second alarm about the same becomes a comment on the first one's issue, and a
 * notice that was sent by a daemon which died before it could say so is not sent twice. One request
 * after the other; where Gitea and GitHub differ is a table.
 */
#include "app/notify/notify_impl.h"

#include "base/duration.h"
#include "base/str.h"
#include "core/model/limits.h"
#include "data/value/json.h"

enum { LABEL_PAGES = 20, HEADERS = 6 };

struct forge {
	const char *suffix; /* of the address, where it is not there */
	const char *token;  /* how it is named in the header */
	const char *accept;
	const char *version; /* of the API; NULL: none is asked for */
	const char *newest;  /* the newest issues, whatever their state */
	bool ids;            /* an issue's labels are numbers */
};

static const struct forge gitea = { "/api/v1", "token", "application/json", NULL,
	"issues?state=all&type=issues&page=1&limit=20", true };
static const struct forge github = { "", "Bearer", "application/vnd.github+json", "2022-11-28",
	"issues?state=all&sort=created&direction=desc&per_page=20", false };

struct forge_work {
	const struct forge *forge;
	const char *base; /* of addresses: ".../repos/owner/name" */
	const char *authorization;
	str issue;   /* the number of the one that is commented on; empty: none */
	bool looked; /* for an issue about the same */
	str labels[LIMIT_LIST];
	int64_t ids[LIMIT_LIST]; /* 0: not known */
	size_t labels_n, label;  /* label: the next one to be made */
	int64_t page;
};

static void find_issue(struct notify_job *j);
static void find_comment(struct notify_job *j);
static void make_labels(struct notify_job *j);
static void make_issue(struct notify_job *j);

static void forge_ask(struct notify_job *j, const char *method, str path, const value *body,
		notify_answer_fn *then)
{
	struct arena *a = &j->arena;
	const struct forge_work *w = j->forge;
	struct http_field headers[HEADERS] = { { "Authorization", w->authorization },
		{ "Accept", w->forge->accept }, { "User-Agent", "overseer" } };
	struct http_request rq = { .method = method, .headers = headers, .headers_n = 3 };

	if (w->forge->version)
		headers[rq.headers_n++] = (struct http_field){ "X-GitHub-Api-Version",
			w->forge->version };
	if (body) {
		headers[rq.headers_n++] = (struct http_field){ "Content-Type", "application/json" };
		rq.body = json_text(a, body);
	}
	rq.url = arena_printf(a, "%s/" STR_FMT, w->base, STR_ARG(path)).p;
	notify_request(j, &rq, then);
}

/* A list, or the attempt has failed: what answers there is no such API. */
static bool read_list(struct notify_job *j, const struct http_result *r, value **ret)
{
	struct arena *a = &j->arena;

	if (!notify_accepted(j, r))
		return false;
	if (json_parse(a, arena_str(a, r->body), NULL, ret, NULL) == 0 && (*ret)->kind == V_ARRAY)
		return true;
	notify_failed(j, NOTIFY_NEVER,
			"what answers for \"" STR_FMT
			"\" is not the API of a %s server: no list; is its url right?",
			STR_ARG(j->ch.name), status_name(&channel_types, (int)j->ch.type));
	return false;
}

static str number_of(struct notify_job *j, const value *issue)
{
	int64_t n = value_int_at(issue, "number");

	return n > 0 ? arena_printf(&j->arena, "%lld", (long long)n) : STR("");
}

/* ---- is there one already? ---- */

static void found_issues(struct notify_job *j, const struct http_result *r)
{
	struct arena *a = &j->arena;
	str mark = notify_mark(a, &j->m), same = notify_mark_same(a, &j->m);
	value *list;

	if (!read_list(j, r, &list))
		return;
	for (size_t i = 0; i < value_count(list); i++) {
		const value *issue = value_item(list, i);
		str body = value_str_at(issue, "body"), number = number_of(j, issue);

		if (!number.n)
			continue;
		if (str_starts(body, mark)) {
			notify_sent(j, number);
			return;
		}
		if (!j->forge->issue.n && str_starts(body, same) &&
				str_is(value_str_at(issue, "state"), "open"))
			j->forge->issue = number;
	}
	if (j->forge->issue.n)
		find_comment(j);
	else
		make_labels(j);
}

static void find_issue(struct notify_job *j)
{
	j->forge->looked = true;
	forge_ask(j, "GET", str_from(j->forge->forge->newest), NULL, found_issues);
}

static void commented(struct notify_job *j, const struct http_result *r)
{
	if (notify_accepted(j, r))
		notify_sent(j, j->forge->issue);
}

static str comments_path(struct notify_job *j)
{
	return arena_printf(&j->arena, "issues/" STR_FMT "/comments", STR_ARG(j->forge->issue));
}

static void found_comments(struct notify_job *j, const struct http_result *r)
{
	struct arena *a = &j->arena;
	str mark = notify_mark(a, &j->m);
	value *list, *body;

	/* The issue was taken away: look for another one, and then make one. */
	if (r->status == 404 || r->status == 410) {
		j->forge->issue = STR("");
		if (j->forge->looked)
			make_labels(j);
		else
			find_issue(j);
		return;
	}
	if (!read_list(j, r, &list))
		return;
	for (size_t i = 0; i < value_count(list); i++)
		if (str_starts(value_str_at(value_item(list, i), "body"), mark)) {
			notify_sent(j, j->forge->issue);
			return;
		}
	body = value_object(a);
	value_put(a, body, "body", value_str(a, notify_issue_body(a, &j->m, true)));
	forge_ask(j, "POST", comments_path(j), body, commented);
}

/* Among those since it was raised, with room for clocks that differ. */
static void find_comment(struct notify_job *j)
{
	struct arena *a = &j->arena;
	ov_time since = MAX(j->m.at - OV_DAY, (ov_time)0);

	forge_ask(j, "GET",
			arena_printf(a, STR_FMT "?since=" STR_FMT "&per_page=50",
					STR_ARG(comments_path(j)), STR_ARG(time_format(a, since))),
			NULL, found_comments);
}

/* ---- labels: an alarm matters more than they do, so one that cannot be had is left out ---- */

static void made_label(struct notify_job *j, const struct http_result *r)
{
	struct forge_work *w = j->forge;
	value *doc;

	if (r->status == 401 || r->status >= 500) {
		notify_refused(j, r);
		return;
	}
	if (r->status == 201 &&
			json_parse(&j->arena, arena_str(&j->arena, r->body), NULL, &doc, NULL) == 0)
		w->ids[w->label] = value_int_at(doc, "id");
	w->label++;
	make_labels(j);
}

static void make_label(struct notify_job *j)
{
	struct arena *a = &j->arena;
	const struct forge_work *w = j->forge;
	value *body = value_object(a);

	value_put(a, body, "name", value_str(a, w->labels[w->label]));
	value_put(a, body, "color", value_cstr(a, w->forge->ids ? "#b60205" : "b60205"));
	forge_ask(j, "POST", STR("labels"), body, made_label);
}

static void found_labels(struct notify_job *j, const struct http_result *r)
{
	struct forge_work *w = j->forge;
	size_t known = 0;
	value *list;

	if (!read_list(j, r, &list))
		return;
	for (size_t k = 0; k < w->labels_n; k++) {
		for (size_t i = 0; i < value_count(list); i++)
			if (str_eq(value_str_at(value_item(list, i), "name"), w->labels[k]))
				w->ids[k] = value_int_at(value_item(list, i), "id");
		known += w->ids[k] != 0;
	}
	/* A server may give fewer than were asked for: only an empty page is the last one. */
	if (known == w->labels_n || value_count(list) == 0)
		w->page = LABEL_PAGES;
	make_labels(j);
}

/* Those that there are, page by page; then those that there are not, one by one; then the issue. */
static void make_labels(struct notify_job *j)
{
	struct forge_work *w = j->forge;

	if (w->forge->ids && w->labels_n && w->page < LABEL_PAGES) {
		forge_ask(j, "GET",
				arena_printf(&j->arena, "labels?page=%lld&limit=50",
						(long long)++w->page),
				NULL, found_labels);
		return;
	}
	while (w->label < w->labels_n && w->ids[w->label])
		w->label++;
	if (w->label < w->labels_n)
		make_label(j);
	else
		make_issue(j);
}

/* ---- the issue ---- */

static void made_issue(struct notify_job *j, const struct http_result *r)
{
	value *doc;

	if (!notify_accepted(j, r))
		return;
	if (json_parse(&j->arena, arena_str(&j->arena, r->body), NULL, &doc, NULL) < 0)
		notify_sent(j, STR(""));
	else
		notify_sent(j, number_of(j, doc));
}

static void make_issue(struct notify_job *j)
{
	struct arena *a = &j->arena;
	const struct forge_work *w = j->forge;
	value *body = value_object(a), *labels = value_array(a);

	for (size_t i = 0; i < w->labels_n; i++)
		if (!w->forge->ids)
			value_push(a, labels, value_str(a, w->labels[i]));
		else if (w->ids[i])
			value_push(a, labels, value_int(a, w->ids[i]));
	value_put(a, body, "title", value_str(a, notify_issue_title(a, &j->m)));
	value_put(a, body, "body", value_str(a, notify_issue_body(a, &j->m, false)));
	value_put(a, body, "labels", labels);
	forge_ask(j, "POST", STR("issues"), body, made_issue);
}

/* ---- the beginning ---- */

static const char *base_of(struct notify_job *j)
{
	const char *suffix = j->forge->forge->suffix;
	str url = j->ch.url;

	while (str_ends(url, STR("/")))
		url = str_sub(url, 0, url.n - 1);
	return arena_printf(&j->arena, STR_FMT "%s/repos/" STR_FMT, STR_ARG(url),
			str_ends(url, str_from(suffix)) ? "" : suffix, STR_ARG(j->ch.repo))
			.p;
}

static void name_labels(struct notify_job *j)
{
	struct forge_work *w = j->forge;
	str level = str_from(status_name(&urgencies, (int)j->m.urgency));

	w->labels_n = MIN(j->ch.labels_n, ARRAY_LEN(w->labels));
	for (size_t i = 0; i < w->labels_n; i++)
		w->labels[i] = str_is(j->ch.labels[i], "<level>") ? level : j->ch.labels[i];
}

void forge_begin(struct notify_job *j)
{
	struct arena *a = &j->arena;
	struct forge_work *w = arena_new(a, struct forge_work);
	struct ov_err err = { 0 };
	uint64_t number;
	str token;

	if (notify_secret(j, "token", j->ch.token_file, j->ch.token_env, &token, &err) < 0) {
		notify_failed(j, NOTIFY_NEVER, "%s", err.msg);
		return;
	}
	j->secrets[0].text = token;
	j->forge = w;
	w->forge = j->ch.type == CHANNEL_GITEA ? &gitea : &github;
	w->base = base_of(j);
	w->authorization = arena_printf(a, "%s " STR_FMT, w->forge->token, STR_ARG(token)).p;
	name_labels(j);
	if (!str_to_u64(j->m.again, &number)) {
		find_issue(j);
		return;
	}
	w->issue = j->m.again;
	find_comment(j);
}
