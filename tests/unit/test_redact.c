#include "tests/test.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/command/decide.h"
#include "core/text/redact.h"
#include "data/value/json.h"
#include "tests/rng.h"
#include "tests/unit/core_fixture.h"

/* Made up, and cut in two here so that nobody takes this file for a leak. */
#define SK "sk-"
#define GH "gh"
#define GL "gl"
#define XOX "xox"
#define XA "xa"
#define AK "AK"
#define AS "AS"
#define AI "AI"
#define XAI "xai"
#define GSK "gsk"
#define HF "hf"
#define PPLX "pplx"
#define R8 "r8"
#define FW "fw"
#define SESS "sess"
#define GITHUB "github"
#define SK_ "sk"
#define RK_ "rk"
#define NPM "npm"
#define PY "py"
#define EY "ey"
#define DASHES "-----"
#define A20 "a1b2c3d4e5f6g7h8i9j0"
#define R24 "Zx9" A20 "Q"
#define ANT SK "ant-api03-" R24 "-_" R24 "AA"
#define GHP GH "p_" R24 "0123456789ab"
#define AWS AK "IAIOSFODNN7EXAMPLE"
#define B64 "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
#define BEGIN DASHES "BEGIN PRIVATE KEY-----"
#define END DASHES "END PRIVATE KEY-----"
#define HTTPS "https://"
#define HTTP "http://"
#define RED(kind) "[redacted: " kind "]"

static const struct hit {
	const char *in, *out;
} hits[] = {
	/* keys of model providers */
	{ ANT, RED("anthropic key") },
	{ "use " ANT ", please", "use " RED("anthropic key") ", please" },
	{ "KEY=\"" ANT "\"", "KEY=\"" RED("anthropic key") "\"" },
	{ "{\"k\":\"" ANT "\"}", "{\"k\":\"" RED("anthropic key") "\"}" },
	{ SK "proj-" R24 "-" R24, RED("openai key") },
	{ SK "svcacct-" R24, RED("openai key") },
	{ SK "admin-" R24, RED("openai key") },
	{ "sk-" R24 R24, RED("openai key") },
	{ SK "or-v1-" A20 A20, RED("openrouter key") },
	{ AI "zaSyA-1234567890abcdefghijklmnopqrstu", RED("google key") },
	{ HTTPS "x.example/?key=" AI "zaSyA-1234567890abcdefghijklmnopqrstu&a=b",
			HTTPS "x.example/?key=" RED("google key") "&a=b" },
	{ XAI "-" R24 R24, RED("xai key") },
	{ GSK "_" R24 R24, RED("groq key") },
	{ HF "_abcdefghijklmnopqrstuvwxyzABCDEFGH", RED("hugging face token") },
	{ PPLX "-" R24, RED("provider key") },
	{ R8 "_" R24, RED("provider key") },
	{ FW "_" R24, RED("provider key") },
	{ SESS "-" A20 A20, RED("openai key") },
	/* forges and chat */
	{ GHP, RED("github token") },
	{ GH "o_" R24, RED("github token") },
	{ GH "u_" R24, RED("github token") },
	{ GH "s_" R24, RED("github token") },
	{ GH "r_" R24, RED("github token") },
	{ GITHUB "_pat_11ABCDEFG0_" R24 R24, RED("github token") },
	{ "(" GHP ")", "(" RED("github token") ")" },
	{ HTTPS GHP "@github.com/a/b", HTTPS RED("github token") "@github.com/a/b" },
	{ "GITHUB_TOKEN=" GHP "\nx", "GITHUB_TOKEN=" RED("credential") "\nx" },
	{ GL "pat-" A20, RED("gitlab token") },
	{ GL "rt-" A20, RED("gitlab token") },
	{ GL "dt-" A20, RED("gitlab token") },
	{ XOX "b-123456789012-123456789012-" R24, RED("slack token") },
	{ GL "cbt-" A20, RED("gitlab token") },
	{ GL "ptt-" A20, RED("gitlab token") },
	{ GL "soat-" A20, RED("gitlab token") },
	{ GL "agent-" A20, RED("gitlab token") },
	{ XOX "a-123456789012-" R24, RED("slack token") },
	{ XOX "c-123456789012-" R24, RED("slack token") },
	{ XOX "d-123456789012-" R24, RED("slack token") },
	{ XOX "e-123456789012-" R24, RED("slack token") },
	{ XOX "r-123456789012-" R24, RED("slack token") },
	{ XOX "s-123456789012-" R24, RED("slack token") },
	{ HTTPS "hooks.slack.com/workflows/T00000000/B00000000/" R24, HTTPS RED("slack webhook") },
	{ XOX "p-123456789012-" R24, RED("slack token") },
	{ XA "pp-1-A0123456789-" R24, RED("slack token") },
	{ HTTPS "hooks.slack.com/services/T00000000/B00000000/" R24, HTTPS RED("slack webhook") },
	/* clouds and packages */
	{ AWS, RED("aws access key") },
	{ "id " AWS ".", "id " RED("aws access key") "." },
	{ AS "IAIOSFODNN7EXAMPLE", RED("aws access key") },
	{ "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
			"aws_secret_access_key = " RED("aws secret key") },
	{ "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY x",
			"AWS_SECRET_ACCESS_KEY=" RED("aws secret key") " x" },
	{ "\"SecretAccessKey\": \"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\"",
			"\"SecretAccessKey\": \"" RED("aws secret key") "\"" },
	{ "AWS_SESSION_TOKEN=FwoGZXIvYXdzEBYaDH//////////wEaDK1/" A20 "==",
			"AWS_SESSION_TOKEN=" RED("aws secret key") },
	{ SK_ "_live_" R24, RED("stripe key") },
	{ SK_ "_test_" R24, RED("stripe key") },
	{ "dop_v1_" A20 A20, RED("credential") },
	{ "SG." R24 "." R24, RED("credential") },
	{ RK_ "_live_" R24, RED("stripe key") },
	{ NPM "_" R24 R24, RED("npm token") },
	{ "//registry.example.org/:_authToken=00000000-0000-0000-0000-000000000000\n",
			"//registry.example.org/:_authToken=" RED("npm token") "\n" },
	{ "_auth=dXNlcjpwYXNzd29yZDEyMw==", "_auth=" RED("npm token") },
	{ PY "pi-AgEIcHlwaS5vcmc" R24 R24, RED("package registry token") },
	{ EY "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_X",
			RED("web token") },
	/* keys in PEM */
	{ "a\n" BEGIN "\n" B64 "\n" B64 "\nabc=\n" END "\nb", "a\n" RED("private key") "\nb" },
	{ DASHES "BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES\n\n" B64
		 "\n" DASHES "END RSA PRIVATE KEY-----",
			RED("private key") },
	{ DASHES "BEGIN OPENSSH PRIVATE KEY-----\n" B64, RED("private key") },
	{ DASHES "BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n" B64 "\nabc",
			RED("private key") },
	{ BEGIN "\\n" B64 "\\n" B64 "\"}", RED("private key") "\"}" },
	{ DASHES "BEGIN PGP PRIVATE KEY BLOCK-----\n\n" B64 "\n" DASHES
		 "END PGP PRIVATE KEY BLOCK-----",
			RED("private key") },
	{ "cut: " B64 "\n" B64 "\nab==\n" END " rest", "cut: " RED("private key") " rest" },
	{ "RSt9==\n" B64 "\n" END, RED("private key") },
	{ BEGIN "\n" B64 "\n" END "\n" BEGIN "\n" B64, RED("private key") "\n" RED("private key") },
	/* headers */
	{ "Authorization: Bearer " R24, "Authorization: Bearer " RED("authorization") },
	{ "authorization: basic dXNlcjpwYXNz\r\nx",
			"authorization: basic " RED("authorization") "\r\nx" },
	{ "-H \"Authorization: token 0123456789abcdef\" x",
			"-H \"Authorization: token " RED("authorization") "\" x" },
	{ "Proxy-Authorization: Basic QWxhZGRpbjpvcGVu==",
			"Proxy-Authorization: Basic " RED("authorization") },
	{ "{\"Authorization\": \"Bearer " R24 "\"}",
			"{\"Authorization\": \"Bearer " RED("authorization") "\"}" },
	{ "\\\"Authorization\\\": \\\"" R24 "\\\"",
			"\\\"Authorization\\\": \\\"" RED("authorization") "\\\"" },
	{ "sent bearer abcdef0123456789/+==.", "sent bearer " RED("bearer token") "." },
	{ "Cookie: theme=dark; session=0123456789abcdef\nHost: x",
			"Cookie: " RED("cookie") "\nHost: x" },
	{ "set-cookie: sid=s%3A0123456789; Path=/; HttpOnly\n", "set-cookie: " RED("cookie") "\n" },
	{ "curl -H 'Cookie: id=abcdefgh12' " HTTP "x",
			"curl -H 'Cookie: " RED("cookie") "' " HTTP "x" },
	{ "X-Api-Key: " R24, "X-Api-Key: " RED("credential") },
	/* files */
	{ "machine api.example.com login me password hunter2",
			"machine api.example.com login me "
			"password " RED("netrc password") },
	{ "machine a.b\n  login me\n  password s3\nmachine c.d login x password y\n",
			"machine a.b\n  login me\n  password " RED(
					"netrc password") "\nmachine c.d login x password "
							  "" RED("netrc password") "\n" },
	{ "default login anonymous password me@x",
			"default login anonymous password " RED("netrc password") },
	{ "    client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo=\n",
			"    client-key-data: " RED("kubeconfig key") "\n" },
	{ "    token: " R24 "\n", "    token: " RED("credential") "\n" },
	/* addresses */
	{ HTTPS "user:pass@host/x", HTTPS "user:" RED("url password") "@host/x" },
	{ "git clone " HTTPS "oauth2:s3cret@git.example.com/a.git",
			"git clone " HTTPS "oauth2:" RED("url password") "@git.example.com/a.git" },
	{ "postgres://me:p@ss@db:5432/x", "postgres://me:" RED("url password") "@db:5432/x" },
	{ "redis://:pw@localhost", "redis://:" RED("url password") "@localhost" },
	/* by name */
	{ "api_key: '" R24 "'", "api_key: '" RED("credential") "'" },
	{ "client_secret=" R24 ";", "client_secret=" RED("credential") ";" },
	{ "MY_PASSWORD := \"" R24 "\"", "MY_PASSWORD := \"" RED("credential") "\"" },
	{ "password=" R24 "&x=1", "password=" RED("credential") "&x=1" },
	{ "DB_PASSWD=" R24, "DB_PASSWD=" RED("credential") },
	{ "private_key=" R24, "private_key=" RED("credential") },
	{ "accessKey=" R24, "accessKey=" RED("credential") },
	{ "SECRET_KEY=" R24, "SECRET_KEY=" RED("credential") },
	{ "credential=" R24, "credential=" RED("credential") },
	{ "access-token=" R24, "access-token=" RED("credential") },
	{ "aws_secret_key=" R24, "aws_secret_key=" RED("aws secret key") },
	/* several, and beside other letters */
	{ GHP " and " AWS, RED("github token") " and " RED("aws access key") },
	{ "\xc3\xa9" GHP "\xc3\xa9", "\xc3\xa9" RED("github token") "\xc3\xa9" },
};

static const char *const misses[] = {
	"",
	"x",
	"-",
	":",
	"=",
	"://",
	"-----",
	"nothing to hide here",
	/* ids and hashes */
	"3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	"commit: 3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
	"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	"goal_01ARZ3NDEKTSV4RRFFQ69G5FAV",
	"A_01ARZ3NDEKTSV4RRFFQ69G5FAV/T1.2.3",
	"3f2504e0-4f89-11d3-9a0c-0305e82c3301",
	"refs/overseer/rescue/goal_01ARZ3NDEKTSV4RRFFQ69G5",
	"client_secret=3f2504e0-4f89-11d3-9a0c-0305e82c3301",
	"instruction_hash=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUA/AKIAIOSFODNN7EXAMPLE+AAHwAAAB",
	"iVBORw0KGgo+AIzaSyA1234567890abcdefghijklmnopqrstuvw/x==",
	/* words that begin like a key */
	"sk- is the prefix of such keys",
	"sk-learn",
	"the sk-ant- prefix",
	"sk-...",
	"sk-ant-...",
	"sk-ant-colony-optimisation-library-version-2",
	"sk-this-is-a-long-hyphenated-name-3",
	"a task-0123456789abcdefghij1234",
	"disk-0123456789abcdefghij",
	"desk-top",
	"ghp_short",
	"ghp_<your token here>",
	"gho_",
	"github_pat_ is a prefix",
	"a github_pat_token_of_somebody",
	"glpat-<token>",
	"glpat-of-somebody-or-other",
	"xoxb-token",
	"xoxb-your-token-goes-here",
	"hooks.slack.com",
	HTTPS "hooks.slack.com/services/",
	"AKIA",
	"AKIA and so on",
	"AKIAIOSFODNN7EXAMPLEX1",
	"XAKIAIOSFODNN7EXAMPLE",
	"ASIAPACIFICREGIONALS",
	"AIza",
	"hf_hub",
	"hf_hub_download",
	"gsk_name",
	"npm_config_registry",
	"npm_package_name",
	"eyJ",
	"eyJhbGci",
	"eyJhbGciOiJIUzI1NiJ9",
	"a.b.c",
	"pypi-server",
	"xai-sdk-python",
	"sess-ion",
	"SG.",
	"r8_x",
	/* code and settings */
	"token: str",
	"token: Optional[str] = None",
	"def f(token: str, secret: bytes) -> None:",
	"token = get_token_from_config2()",
	"token=$(cat /run/token)",
	"TOKEN=${GITHUB_TOKEN}",
	"token: ${{ secrets.GITHUB_TOKEN }}",
	"api_key = os.environ[\"OPENAI_API_KEY\"]",
	"password: string",
	"password = None",
	"passwords: 1234567890123456",
	"max_tokens: 4096",
	"max_token: 12345678901234567890",
	"secret: true",
	"private_key=/srv/me/.ssh/id_ed25519",
	"const authToken: AuthTokenProvider = x",
	"_authToken=${NPM_TOKEN}",
	"authToken: string",
	"needs OPENAI_API_KEY",
	"ANTHROPIC_API_KEY is not set",
	"tokenizer: cl100k_base",
	"SecretAccessKey: string",
	"aws_secret_access_key =",
	"client-key-data: <base64>",
	"client-key: /srv/me/client.key",
	"public_key: none",
	/* headers */
	"Authorization: required",
	"Authorization: Basic authentication is used",
	"Authorization: Bearer <token>",
	"Authorization: Bearer $TOKEN",
	"authorization: see below",
	"a bearer token",
	"Bearer authentication-or-authorization",
	"the bearer of bad news",
	"Cookie: a small file",
	"cookie: Optional[str] = None",
	"Cookie: theme=dark",
	"cookies=12345678",
	"Set-Cookie: none",
	"a cookie",
	/* keys */
	"-----BEGIN CERTIFICATE-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\n-----END CERTIFICATE-----",
	"-----BEGIN PUBLIC KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\n-----END PUBLIC KEY-----",
	"a PEM file starts with " BEGIN " on a line of its own",
	BEGIN,
	END,
	"ends with " END,
	"-----BEGIN",
	"-----BEGIN PRIVATE KEY",
	"----------------",
	"--- a/x\n+++ b/x",
	/* files */
	"machine learning login page password reset",
	"a machine login",
	"machine a.b login me",
	"machine a.b login me password $PW",
	"the default login is admin",
	"default login",
	"default password policy",
	/* addresses */
	HTTPS "example.com/a:b@c",
	HTTP "host:8080/x",
	"ssh://git@github.com:22/a",
	"git@github.com:a/b.git",
	HTTPS "user:${PASS}@host",
	HTTPS "user:$PASS@host",
	HTTPS "user:<password>@host",
	HTTPS "user:{pw}@host",
	HTTPS "user:%s@host",
	HTTPS "user:***@host",
	HTTP "[::1]:80/@x",
	HTTPS "user@host",
	"a://b",
	"mailto:me@example.com",
	/* numbers, outside of addresses for delivery */
	"+49 151 12345678",
	"version 1.2.3-4",
	"+4915112345678",
	"tel:+4915112345678",
	"2024-01-15 10:30:00",
	"192.168.100.200",
};

TEST(every_secret_is_hidden)
{
	for (size_t i = 0; i < ARRAY_LEN(hits); i++) {
		struct arena a = ARENA_INIT;
		str out = redact(&a, str_from(hits[i].in));

		if (!str_is(out, hits[i].out))
			fail_msg("%s\ngives    %.*s\nnot      %s", hits[i].in, STR_ARG(out),
					hits[i].out);
		assert_non_null(redact_first_kind(str_from(hits[i].in)));
		arena_done(&a);
	}
}

TEST(ordinary_text_stays_itself)
{
	for (size_t i = 0; i < ARRAY_LEN(misses); i++) {
		struct arena a = ARENA_INIT;
		str in = str_from(misses[i]), out = redact(&a, in);

		if (out.p != in.p || out.n != in.n)
			fail_msg("%s\ngives %.*s", misses[i], STR_ARG(out));
		assert_null(redact_first_kind(in));
		assert_int_equal(a.used, 0);
		arena_done(&a);
	}
}

TEST(phone_numbers_in_addresses_for_delivery)
{
	static const struct hit phones[] = {
		{ "+49 151 12345678", RED("phone number") },
		{ "+1 (555) 010-9999", RED("phone number") },
		{ "whatsapp:+15550109999", "whatsapp:" RED("phone number") },
		{ "tel:5550109", "tel:" RED("phone number") },
		{ "0049 151 12345678", RED("phone number") },
		{ "call (0151) 1234 5678 now", "call " RED("phone number") " now" },
		{ "0151 1234 5678", RED("phone number") },
		{ "15550109999@s.whatsapp.net", RED("phone number") "@s.whatsapp.net" },
		{ "15550109999@c.us", RED("phone number") "@c.us" },
		{ "slack #ops, " GHP, "slack #ops, " RED("github token") },
		{ "+12", NULL },
		{ "version 1.2.3", NULL },
		{ "-1001234567890", NULL },
		{ "1234567890", NULL },
		{ "123456789012345678", NULL },
		{ "01ARZ3NDEKTSV4RRFFQ69G5FAV", NULL },
		{ "+1234567890123456789", NULL },
		{ "C012345678", NULL },
		{ "x+4915112345678", NULL },
		{ "tel:", NULL },
		{ "0", NULL },
		{ "192.168.100.200", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(phones); i++) {
		struct arena a = ARENA_INIT;
		str in = str_from(phones[i].in), out = redact_delivery(&a, in);
		const char *expected = phones[i].out ? phones[i].out : phones[i].in;

		if (!str_is(out, expected))
			fail_msg("%s\ngives %.*s", phones[i].in, STR_ARG(out));
		arena_done(&a);
	}
}

TEST(every_kind_is_found_somewhere_and_says_where_it_belongs)
{
	size_t n;
	const struct redact_kind *kinds = redact_kinds(&n);

	for (size_t k = 0; k < n; k++) {
		bool found = str_is(str_from(kinds[k].name), "phone number");

		for (size_t i = 0; i < ARRAY_LEN(hits) && !found; i++)
			found = redact_first_kind(str_from(hits[i].in)) == &kinds[k];
		if (!found)
			fail_msg("no hit for %s", kinds[k].name);
		assert_true(strlen(kinds[k].where) > 5);
	}
}

/* Pieces of secrets and of text at random: hidden once is hidden for good, and it stays text. */
TEST(redacting_twice_is_redacting_once)
{
	static const char *const glue[] = { " ", "\n", ":", "=", "-", "\"", "'", "[", "]", "@",
		"//", "a", "0", "token", "Cookie: ", "://u:", "-----", "\xc3\xa9",
		"[redacted: credential]", "machine a.b password ", "Authorization: ", "bearer ",
		"password", "\\n", ";" };
	struct rng rng = { 5 };
	size_t hidden = 0;

	for (int i = 0; i < 20000; i++) {
		struct arena a = ARENA_INIT;
		struct buf text = BUF_INIT;
		str once, twice;

		for (size_t k = rng_below(&rng, 12); k > 0; k--) {
			str piece = rng_below(&rng, 3)
					? str_from(glue[rng_below(&rng, ARRAY_LEN(glue))])
					: rng_below(&rng, 2)
					? str_from(hits[rng_below(&rng, ARRAY_LEN(hits))].in)
					: str_from(misses[rng_below(&rng, ARRAY_LEN(misses))]);

			buf_adds(&text,
					rng_below(&rng, 4) ? piece
							   : utf8_truncate(piece,
									     rng_below(&rng, 40)));
		}
		once = redact_delivery(&a, buf_str(&text));
		twice = redact_delivery(&a, once);
		hidden += once.p != text.p;
		if (!str_eq(once, twice))
			fail_msg("%s\nonce:  %.*s\ntwice: %.*s", buf_cstr(&text), STR_ARG(once),
					STR_ARG(twice));
		assert_true(utf8_valid(once));
		assert_true(once.n <= 40 * (text.n + 1));
		buf_done(&text);
		arena_done(&a);
	}
	assert_true(hidden > 1000);
}

/* Texts made to be slow: the time must not grow with the square of the length. */
TEST(long_texts_take_no_longer_per_byte)
{
	static const char *const units[] = { "sk-ant-", "token=", "cookie:", "://a:", "-----",
		BEGIN, END, "machine a.b ", "aA0=", "bearer ", "authorization:", "eyJ.",
		"Cookie: a=b;" };

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		struct arena a = ARENA_INIT;
		struct buf text = BUF_INIT;

		while (text.n < 400000)
			buf_adds(&text, str_from(units[i]));
		(void)redact_delivery(&a, buf_str(&text));
		buf_done(&text);
		arena_done(&a);
	}
}

TEST(a_document_is_walked)
{
	struct fixture f;
	value *v, *out, *same;

	fixture_init(&f);
	v = json(&f,
			"{'a': ['x', 1, '" GHP "'], 'b': {'c': '" AWS "', 'd': null}, 'e': 'ok',"
			" 'phone': '+49 151 12345678', 'delivery_context': {'to': '+49 151 "
			"12345678'},"
			" 'originDeliveryContext': {'to': ['+49 151 12345678']}}");
	same = value_copy(&f.arena, v);
	out = redact_value(&f.arena, v);
	assert_true(value_equal(v, same));
	assert_true(value_equal(out,
			json(&f,
					"{'a': ['x', 1, '" RED(
							"github token") "'],"
									" 'b': {'c': '" RED(
											"aws "
											"access "
											"key") "', "
											       "'d'"
											       ": "
											       "nul"
											       "l},"
											       " '"
											       "e':"
											       " '"
											       "ok'"
											       ","
											       " '"
											       "pho"
											       "ne'"
											       ": "
											       "'+"
											       "49 "
											       "151"
											       " 12"
											       "345"
											       "678"
											       "',"
											       " '"
											       "del"
											       "ive"
											       "ry_"
											       "con"
											       "tex"
											       "t':"
											       " {'"
											       "to'"
											       ": "
											       "'" RED("phone number") "'},"
														       " 'originDeliveryContext': {'to': ['" RED(
																       "phone number") "']}}")));
	v = json(&f, "{'a': ['x', {'y': 'z'}]}");
	assert_ptr_equal(redact_value(&f.arena, v), v);
	fixture_done(&f);
}

static void holds_no_secret(struct fixture *f)
{
	str all = snapshot_of(f, f->state);

	assert_null(redact_first_kind(all));
	assert_false(str_contains(all, STR("hunter2")));
	for (size_t i = 0; i < f->log.n; i++) {
		str body = json_text(&f->arena, event_body(&f->arena, f->log.p[i]));

		if (redact_first_kind(body) || str_contains(body, STR("hunter2")))
			fail_msg(STR_FMT, STR_ARG(body));
	}
}

/* However a text comes in, the log and the state have it without its secrets. */
TEST(nothing_that_is_decided_holds_a_secret)
{
	struct fixture f;
	char padding[4096];
	value *plan;

	fixture_init(&f);
	memset(padding, 'x', sizeof(padding));
	plan = json(&f,
			"{'phases': [{'id': 'P1', 'name': 'use " GHP "', 'tasks': [{'id': 'T1',"
			" 'name': 't', 'objective': '" HTTPS "me:hunter2@host/',"
			" 'acceptance': ['" AWS
			"'], 'checkCommand': 'curl -H \\'Cookie: a=hunter2hunter2\\''}]}]}");
	submit(&f, "goal.create",
			json(&f,
					"{'title': 'fix " GHP "', 'problem_statement': 'Key: " ANT
					"',"
					" 'success_criteria': ['" AWS
					"'], 'constraints': ['machine a.b "
					"login me password hunter2'], 'plan': %s}",
					json_text(&f.arena, plan).p));
	assert_true(str_is(f.state->goals.p[0]->title, "fix " RED("github token")));
	assert_true(str_is(f.state->goals.p[0]->problem_statement, "Key: " RED("anthropic key")));
	settle(&f);
	bring_to(&f, "T1", STAGE_CHECK);
	settle(&f);
	/* over the border at which notes are cut */
	effect_end(&f, "T1", FX_CHECK, "failed",
			arena_printf(&f.arena, "%.*s " GHP, 4096 - 30, padding).p, "");
	settle(&f);
	submit(&f, "work.update",
			json(&f,
					"{'node': 'T1', 'status': 'blocked', 'reason': 'needs " GHP
					"',"
					" 'unblock_when': '" ANT " works'}"));
	assert_true(str_is(node_of(&f, "T1")->status_reason, "needs " RED("github token")));
	holds_no_secret(&f);
	for (size_t i = 0; i < f.log.n; i++)
		assert_false(str_contains(json_text(&f.arena, event_body(&f.arena, f.log.p[i])),
				str_sub(STR(GHP), 0, 10)));
	fixture_done(&f);
}

TEST(an_id_that_is_a_secret_is_refused)
{
	struct fixture f;
	const char *said;

	fixture_init(&f);
	said = refused(&f, "goal.create",
			json(&f,
					"{'title': 't', 'plan': {'phases': [{'id': 'P1', 'name': "
					"'p', 'tasks': "
					"[{'id': '" GHP
					"', 'name': 't', 'acceptance': ['a']}]}]}}"),
			OV_EINVALID_PLAN);
	assert_true(str_contains(str_from(said), STR("looks like a secret (github token)")));
	fixture_done(&f);
}

TEST_MAIN
