#include "net/httpd_impl.h"

#include "base/str.h"

#include <stdio.h>
#include <strings.h>

/*
 * The names of the loopback interface; a page of another site cannot make the browser send these.
 */
static const char *const own_hosts[] = { "127.0.0.1", "localhost", "[::1]" };

static bool host_is_ours(uint16_t port, const char *host)
{
	char want[32];

	for (size_t i = 0; i < ARRAY_LEN(own_hosts); i++) {
		snprintf(want, sizeof(want), "%s:%u", own_hosts[i], (unsigned)port);
		if (strcasecmp(host, want) == 0)
			return true;
	}
	return false;
}

unsigned http_check_host(uint16_t port, const char *host, const char *origin, struct ov_err *err)
{
	static const char scheme[] = "http://";

	if (!host || !host_is_ours(port, host)) {
		ov_fail(err, OV_EUNAUTHORIZED,
				"the Host header must be 127.0.0.1:%u or localhost:%u",
				(unsigned)port, (unsigned)port);
		return MHD_HTTP_FORBIDDEN;
	}
	if (origin &&
			(strncasecmp(origin, scheme, sizeof(scheme) - 1) != 0 ||
					!host_is_ours(port, origin + sizeof(scheme) - 1))) {
		ov_fail(err, OV_EUNAUTHORIZED, "requests from pages of another origin are refused");
		return MHD_HTTP_FORBIDDEN;
	}
	return 0;
}

/* The time depends on the length of the guess only. */
static bool same_secret(str want, str guess)
{
	volatile unsigned char diff = want.n != guess.n;

	for (size_t i = 0; i < guess.n; i++)
		diff |= (unsigned char)(guess.p[i] ^ want.p[i % want.n]);
	return diff == 0;
}

unsigned http_check_token(str token, const char *authorization, struct ov_err *err)
{
	static const char scheme[] = "Bearer ";

	if (authorization && strncasecmp(authorization, scheme, sizeof(scheme) - 1) == 0 &&
			same_secret(token, str_trim(str_from(authorization + sizeof(scheme) - 1))))
		return 0;
	ov_fail(err, OV_EUNAUTHORIZED, "send the header Authorization: Bearer TOKEN");
	(void)ov_next(err, "the token is in the file `token` of the store's directory");
	return MHD_HTTP_UNAUTHORIZED;
}

static bool path_matches(const struct httpd_route *r, str path)
{
	str pattern = str_from(r->path);

	if (str_ends(pattern, STR("*")))
		return str_starts(path, str_sub(pattern, 0, pattern.n - 1));
	return str_eq(path, pattern);
}

static bool method_matches(const struct httpd_route *r, str method)
{
	return str_is(method, r->method) ||
			(str_is(method, "HEAD") && strcmp(r->method, "GET") == 0);
}

unsigned http_check_route(const struct httpd_options *o, str method, str path,
		const struct httpd_route **ret, char *ret_allow, size_t allow_size,
		struct ov_err *err)
{
	size_t n = 0;

	ret_allow[0] = '\0';
	for (size_t i = 0; i < o->route_count; i++) {
		const struct httpd_route *r = &o->routes[i];

		if (!path_matches(r, path))
			continue;
		if (method_matches(r, method)) {
			*ret = r;
			return 0;
		}
		n += (size_t)snprintf(ret_allow + n, allow_size - n, "%s%s%s", n ? ", " : "",
				r->method, strcmp(r->method, "GET") == 0 ? ", HEAD" : "");
		n = MIN(n, allow_size - 1);
	}
	if (n == 0) {
		ov_fail(err, OV_ENOTFOUND, "there is nothing at " STR_FMT, STR_ARG(path));
		return MHD_HTTP_NOT_FOUND;
	}
	ov_fail(err, OV_EINVALID, "the method " STR_FMT " is not one of: %s", STR_ARG(method),
			ret_allow);
	return MHD_HTTP_METHOD_NOT_ALLOWED;
}
