#pragma once
/* What the redact*.c files share. Private to core. */
#include "base/ov.h"
#include "core/text/redact.h"

#define SECRETS(X)                                                                               \
	X(SECRET_ANTHROPIC, "anthropic key", "ANTHROPIC_API_KEY in the agent's environment")     \
	X(SECRET_OPENAI, "openai key", "OPENAI_API_KEY in the agent's environment")              \
	X(SECRET_OPENROUTER, "openrouter key", "OPENROUTER_API_KEY in the agent's environment")  \
	X(SECRET_GOOGLE, "google key", "GEMINI_API_KEY in the agent's environment")              \
	X(SECRET_XAI, "xai key", "XAI_API_KEY in the agent's environment")                       \
	X(SECRET_GROQ, "groq key", "GROQ_API_KEY in the agent's environment")                    \
	X(SECRET_HUGGINGFACE, "hugging face token", "HF_TOKEN in the agent's environment")       \
	X(SECRET_PROVIDER, "provider key", "the provider's variable in the agent's environment") \
	X(SECRET_GITHUB, "github token", "gh auth login, or GITHUB_TOKEN in the environment")    \
	X(SECRET_GITLAB, "gitlab token", "glab auth login, or GITLAB_TOKEN in the environment")  \
	X(SECRET_SLACK, "slack token", "SLACK_TOKEN in the environment")                         \
	X(SECRET_SLACK_HOOK, "slack webhook", "the webhook's variable in the environment")       \
	X(SECRET_AWS_ID, "aws access key", "aws configure, or AWS_ACCESS_KEY_ID")                \
	X(SECRET_AWS, "aws secret key", "aws configure, or AWS_SECRET_ACCESS_KEY")               \
	X(SECRET_STRIPE, "stripe key", "the service's variable in the environment")              \
	X(SECRET_PACKAGES, "package registry token", "the registry's own log-in command")        \
	X(SECRET_NPM, "npm token", "npm login, or the user's own .npmrc")                        \
	X(SECRET_JWT, "web token", "the service's own log-in")                                   \
	X(SECRET_PEM, "private key", "a key file outside the repository")                        \
	X(SECRET_BEARER, "bearer token", "the environment of the program that sends it")         \
	X(SECRET_AUTH, "authorization", "the environment of the program that sends it")          \
	X(SECRET_COOKIE, "cookie", "the program's own cookie file")                              \
	X(SECRET_NETRC, "netrc password", "the user's own .netrc")                               \
	X(SECRET_KUBE, "kubeconfig key", "the user's own kubeconfig")                            \
	X(SECRET_URL, "url password", "a credential helper, or the user's own .netrc")           \
	X(SECRET_OTHER, "credential", "the environment of the program that needs it")            \
	X(SECRET_PHONE, "phone number", "the channel's own configuration")

#define SECRET_ENUM(sym, name, where) sym,
enum secret { SECRETS(SECRET_ENUM) SECRET_COUNT };
#undef SECRET_ENUM

/* A decision never looks further than this from where it began. */
enum { REDACT_REACH = 512 };

struct secret_span {
	size_t from, to; /* to > from */
	enum secret kind;
};

/* One text under way. */
struct redact_scan {
	str s;
	size_t begin;   /* end of the last secret: nothing before it may be taken again */
	size_t pem_end; /* where the next END of a private key is; valid from pem_seen on */
	bool pem_known;
	bool phones;
};

/* Sets of bytes. */
enum {
	C_UPPER = 1,
	C_LOWER = 2,
	C_DIGIT = 4,
	C_UNDER = 8,  /* _ */
	C_DASH = 16,  /* - */
	C_DOT = 32,   /* . */
	C_SLASH = 64, /* / and + */
	C_TILDE = 128,
	C_ALPHA = C_UPPER | C_LOWER,
	C_ALNUM = C_ALPHA | C_DIGIT,
	C_WORD = C_ALNUM | C_UNDER,
	C_URL64 = C_WORD | C_DASH,
	C_BASE64 = C_ALNUM | C_SLASH,
	C_VALUE = C_URL64 | C_DOT | C_SLASH | C_TILDE,
};

extern const unsigned char byte_classes[256];
static inline bool byte_in(char c, unsigned set)
{
	return byte_classes[(unsigned char)c] & set;
}
/* The bytes from at on that are in the set, at most max of them. */
size_t run_length(str s, size_t at, unsigned set, size_t max) _pure_;
/* Does s at `at` start with this, letters of any case when lower-case is given? */
bool text_at(str s, size_t at, const char *lower) _pure_;

/* Each is asked at a byte that may begin (or, at : = and -, sit beside) its secrets. */
bool secret_by_prefix(const struct redact_scan *r, size_t at, struct secret_span *ret);
bool secret_by_name(const struct redact_scan *r, size_t at, struct secret_span *ret);
bool secret_in_url(const struct redact_scan *r, size_t at, struct secret_span *ret);
bool secret_in_pem(struct redact_scan *r, size_t at, struct secret_span *ret);
bool secret_in_netrc(const struct redact_scan *r, size_t at, struct secret_span *ret);
bool secret_phone(const struct redact_scan *r, size_t at, struct secret_span *ret);
