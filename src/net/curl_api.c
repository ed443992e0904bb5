#include "net/curl_impl.h"

#include <dlfcn.h>

#include "base/err.h"

#define LIBRARY "libcurl.so.4"

static int curl_api_find(void *library, const char *name, void *ret, struct ov_err *err)
{
	void *found = dlsym(library, name);

	if (!found)
		return ov_fail(err, OV_EUNAVAILABLE, LIBRARY " has no %s: it is too old", name);
	memcpy(ret, &found, sizeof(found));
	return 0;
}

int curl_api_load(struct curl_api *ret, struct ov_err *err)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	struct curl_api api;
	int r = 0;

	if (!library)
		return ov_fail(err, OV_EUNAVAILABLE, "models are asked by means of libcurl: %s",
				dlerror());
#define FIND(name)  \
	if (r == 0) \
		r = curl_api_find(library, "curl_" #name, &api.name, err);
	CURL_FUNCTIONS(FIND)
#undef FIND
	dlclose(library); /* the reference only: it stays */
	if (r == 0)
		*ret = api;
	return r;
}
