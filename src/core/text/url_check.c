#include "core/text/url_check.h"

#include "base/str.h"

/* What is between "://" and the path. */
static str authority_of(str url)
{
	str rest = str_sub(url, str_find(url, STR("://")) + 3, SIZE_MAX);

	for (size_t i = 0; i < rest.n; i++)
		if (strchr("/?#", rest.p[i]))
			return str_sub(rest, 0, i);
	return rest;
}

/* The host of a URL, brackets of IPv6 included; without the port. */
static str host_of(str url)
{
	str rest = authority_of(url);

	if (str_starts(rest, STR("[")))
		return str_sub(rest, 0, str_find_byte(rest, ']') + 1);
	return str_sub(rest, 0, str_find_byte(rest, ':'));
}

/* Four numbers, the first of them 127; a name that only begins so is somebody else's. */
static bool is_loopback_number(str host)
{
	uint64_t n;
	str part;
	int parts = 0;

	while (str_split(&host, '.', &part)) {
		if (!str_to_u64(part, &n) || n > 255 || (parts == 0 && n != 127))
			return false;
		parts++;
	}
	return parts == 4;
}

bool config_url_local(str url)
{
	str host = host_of(url);

	return str_is(host, "localhost") || str_is(host, "[::1]") || is_loopback_number(host);
}

static bool url_plain(str url, const char *refused)
{
	for (size_t i = 0; i < url.n; i++)
		if ((unsigned char)url.p[i] <= ' ' || strchr(refused, url.p[i]) ||
				(unsigned char)url.p[i] >= 127)
			return false;
	return true;
}

const char *config_url_problem(str url, bool query)
{
	bool tls = str_starts(url, STR("https://"));

	if (!tls && !str_starts(url, STR("http://")))
		return "must begin with https:// or http://";
	if (!url_plain(url, query ? "#\\\"" : "@?#\\\"") || !url_plain(authority_of(url), "@") ||
			host_of(url).n == 0)
		return query ? "must be a host, a port, a path and a query only: no user or "
			       "password"
			     : "must be a host, a port and a path only: no user, password or "
			       "query";
	if (!tls && !config_url_local(url))
		return "http:// is only for this machine (localhost, 127.0.0.1, [::1]); use "
		       "https://";
	return NULL;
}
