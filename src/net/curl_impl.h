#pragma once
/*
 * libcurl, loaded when somebody first needs it: with TLS and all that it brings along it would
 * otherwise be a third of an idle daemon's memory, and most of those that start it never ask a
 * model over HTTP. Once loaded it stays until the process ends: its threads may outlive a client.
 * Private to net.
 */
#include <curl/curl.h>

#include "base/ov.h"

#define CURL_FUNCTIONS(X)      \
	X(easy_cleanup)        \
	X(easy_getinfo)        \
	X(easy_header)         \
	X(easy_init)           \
	X(easy_setopt)         \
	X(easy_strerror)       \
	X(global_cleanup)      \
	X(global_init)         \
	X(multi_add_handle)    \
	X(multi_assign)        \
	X(multi_cleanup)       \
	X(multi_info_read)     \
	X(multi_init)          \
	X(multi_remove_handle) \
	X(multi_setopt)        \
	X(multi_socket_action) \
	X(slist_append)        \
	X(slist_free_all)

struct curl_api {
#define CURL_MEMBER(name) __typeof__(&curl_##name) name;
	CURL_FUNCTIONS(CURL_MEMBER)
#undef CURL_MEMBER
};

/* OV_EUNAVAILABLE when it is not installed, or too old. */
int curl_api_load(struct curl_api *ret, struct ov_err *err);
