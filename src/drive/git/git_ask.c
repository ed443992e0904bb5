#include "drive/git/git_ask.h"

#include "drive/git/git_call.h"
#include "sys/host/git_env.h"

enum { ASK_TIMEOUT_MS = 5 * 60 * 1000 };

int git_ask(struct arena *a, const char *repo, const char *const *args, size_t max,
		struct git_answer *ret, struct ov_err *err)
{
	VEC(const char *) argv = { 0 };
	struct git g = { 0 };
	struct git_child ch;
	struct git_out o;
	int r;

	git_env_init(&g);
	vec_push(&g.env, "GIT_OPTIONAL_LOCKS=0");
	vec_push(&g.env, NULL);
	vec_push(&argv, "git");
	for (size_t i = 0; i < git_options_n; i++) {
		vec_push(&argv, "-c");
		vec_push(&argv, git_options[i]);
	}
	for (; *args; args++)
		vec_push(&argv, *args);
	vec_push(&argv, NULL);
	r = git_child_start(argv.p, g.env.p, repo, &ch, err);
	if (r == 0) {
		r = git_child_wait(&ch, ASK_TIMEOUT_MS, err);
		if (r < 0)
			git_child_done(&ch);
		else
			r = git_child_collect_some(&ch, a, max + 1, &o, err);
	}
	vec_done(&argv);
	vec_done(&g.env);
	arena_done(&g.arena);
	if (r < 0)
		return r;
	*ret = (struct git_answer){ .code = o.code,
		.out = str_sub(o.out, 0, max),
		.err = o.err,
		.cut = o.out.n > max };
	return 0;
}
