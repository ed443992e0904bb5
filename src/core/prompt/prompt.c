#include "core/prompt/prompt.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/life/session.h"
#include "core/model/limits.h"
#include "core/prompt/handoff.h"
#include "data/id/sha256.h"

static void section(struct buf *b, const char *title, str s)
{
	if (s.n)
		buf_addf(b, "\n%s\n" STR_FMT "\n", title, STR_ARG(s));
}

/* Before everything else, the task included: whoever goes in circles has read that often enough. */
static void guidance(struct buf *b, const struct node *n)
{
	if (n->watch.guidance.n)
		buf_addf(b,
				"From the overseer of this task, before everything "
				"else:\n\n" STR_FMT "\n\n",
				STR_ARG(n->watch.guidance));
}

static void bullets(struct buf *b, const char *title, const struct strs *list)
{
	if (list->n)
		buf_addf(b, "\n%s\n", title);
	for (size_t i = 0; i < list->n; i++)
		buf_addf(b, "- " STR_FMT "\n", STR_ARG(list->p[i]));
}

/* The words in angle brackets are ours: a block that repeats them is not taken for an answer. */
#define UPDATE_BLOCK                                                                           \
	"```json\n{\"overseerUpdate\": {\"status\": \"<in_progress, blocked or done>\", "      \
	"\"percentComplete\": <0 to 100>, \"summary\": \"<what changed>\", \"next\": \"<next " \
	"concrete action>\", \"blockers\": "                                                   \
	"[\"<what is needed to go on>\"], \"learnings\": [\"<what you found out>\"], "         \
	"\"evidence\": {\"filesTouched\": [], \"testsRun\": "                                  \
	"[], \"commits\": []}}}\n```\n"

static const char update_contract[] =
		"\nWhen you finish, when you are blocked, and when you are asked, report in a "
		"block "
		"like this (leave out what you have nothing to say about):\n" UPDATE_BLOCK;

str prompt_nudge(struct arena *a, const struct assignment *as, str advice)
{
	return arena_printf(a,
			STR_FMT
			"%s"
			"Nothing has been heard of task " STR_FMT " (" STR_FMT
			") for a while. Please report now. Status: what changed since the last "
			"instruction. Next: the next concrete action. Blockers: what you need to "
			"go "
			"on. If you are finished: status done, with a short summary and evidence. "
			"Answer with one block like this, then go on with the task:\n" UPDATE_BLOCK,
			STR_ARG(advice), advice.n ? "\n\n" : "", STR_ARG(as->node->id),
			STR_ARG(as->node->def.name));
}

str prompt_interrupted(struct arena *a, const char *why, str text)
{
	return arena_printf(a,
			"You were interrupted: %s. If something that you had started hung, do not "
			"start it again as it was.\n\n" STR_FMT,
			why, STR_ARG(text));
}

str prompt_with_nonce(struct arena *a, str text, str nonce)
{
	return arena_printf(a,
			STR_FMT "\nRequest " STR_FMT ": mention this number in your answer.\n",
			STR_ARG(text), STR_ARG(nonce));
}

/* Of those who had this node before, or the whole that it was split from. */
static void former_work(struct buf *b, struct arena *a, const struct assignment *as)
{
	const struct node *n = as->node, *p = n->parent;

	if (as->epoch > 1) {
		section(b, "What was done before you",
				handoff_text(a, n->handoff, n->next.handover));
		return;
	}
	if (!p || !p->handoff || !p->handoff->run_id.n)
		return;
	section(b, "What was done before this was split off", handoff_text(a, p->handoff, STR("")));
	if (p->next.handover.n)
		buf_addf(b,
				"What it left is commit " STR_FMT
				": take over from there what belongs to your part.\n",
				STR_ARG(p->next.handover));
}

/* Why a person reopened or unblocked it, then what people said since that no agent has taken. */
static str person_says(struct arena *a, const struct node *n)
{
	str said = said_text(a, n);
	bool both = n->told.words.n && said.n;

	return arena_printf(a, STR_FMT "%s" STR_FMT, STR_ARG(n->told.words), both ? "\n\n" : "",
			STR_ARG(said));
}

/* What does not fit is left out at the end, and whoever reads it is told so. */
static str fit(struct arena *a, const struct buf *b)
{
	enum { NOTE_BYTES = 120 };
	str whole = buf_str(b), cut;

	if (whole.n <= LIMIT_INSTRUCTION)
		return arena_str(a, whole);
	cut = utf8_truncate(whole, LIMIT_INSTRUCTION - NOTE_BYTES);
	return arena_printf(a,
			STR_FMT
			"\n[This instruction is cut here: %zu of its %zu bytes are shown.]\n",
			STR_ARG(cut), cut.n, whole.n);
}

str prompt_build(struct arena *a, const struct assignment *as)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	const struct node *n = as->node;
	const struct goal *g = n->goal;

	guidance(&b, n);
	buf_addf(&b, "Task " STR_FMT ": " STR_FMT "\n", STR_ARG(n->id), STR_ARG(n->def.name));
	buf_addf(&b, "Goal: " STR_FMT "\n", STR_ARG(g->title));
	/* What must be said is said first: a long description is what gets cut. */
	buf_addf(&b,
			"\nWork in the current directory, a git worktree of your own on "
			"branch " STR_FMT ". Commit what you want to hand in. Your result is "
			"checked and merged for you: do not merge or push.\n",
			STR_ARG(as->branch));
	section(&b, "A person answered", n->told.answer);
	section(&b, "A person says", person_says(a, n));
	buf_adds(&b, str_from(update_contract));
	former_work(&b, a, as);
	section(&b, "Since your last attempt", as->feedback);
	bullets(&b, "Accepted when", &n->def.acceptance);
	bullets(&b, "Constraints", &g->constraints);
	bullets(&b, "Work only beneath", &n->def.scope_paths);
	section(&b, "Definition of done", n->def.definition_of_done);
	section(&b, "Objective", n->def.objective);
	section(&b, "Expected outcome", n->def.outcome);
	section(&b, "Background", g->problem_statement);
	return fit(a, &b);
}

str prompt_resume(struct arena *a, const struct assignment *as)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	const struct node *n = as->node;

	guidance(&b, n);
	buf_addf(&b,
			"Go on with task " STR_FMT ": " STR_FMT
			". You are where you were: in your worktree, on branch " STR_FMT
			". Commit what you want to hand in; do not merge or push.\n",
			STR_ARG(n->id), STR_ARG(n->def.name), STR_ARG(as->branch));
	section(&b, "A person answered", n->told.answer);
	section(&b, "A person says", person_says(a, n));
	section(&b, "Since your last turn", as->feedback);
	/* A request for a status says how to answer. */
	if (!str_is(as->purpose, "nudge"))
		buf_adds(&b, str_from(update_contract));
	bullets(&b, "Accepted when", &n->def.acceptance);
	bullets(&b, "Work only beneath", &n->def.scope_paths);
	section(&b, "Objective", n->def.objective);
	return fit(a, &b);
}

str prompt_conflict(struct arena *a, str target, str files)
{
	return arena_printf(a,
			"Your work conflicts with what others have merged to " STR_FMT
			" meanwhile. Rebase your branch onto " STR_FMT
			", resolve the conflicts so that both changes keep their purpose, and "
			"commit. Files:\n" STR_FMT,
			STR_ARG(target), STR_ARG(target), STR_ARG(files));
}

str prompt_no_effect(struct arena *a, str target)
{
	return arena_printf(a,
			"On top of " STR_FMT " as it is now, your work changes nothing: somebody "
			"else may have done the same meanwhile. Look at what is there, and make "
			"the change that is still missing. If nothing is missing, report that you "
			"are done and say why.",
			STR_ARG(target));
}

str prompt_gate(struct arena *a, str target, str output)
{
	return arena_printf(a,
			"Your work was put on top of " STR_FMT
			" as it is now (your branch stands there), and the command that it has to "
			"pass before it is accepted failed. Make it pass, and commit. What it "
			"said:\n" STR_FMT,
			STR_ARG(target), STR_ARG(output));
}

str prompt_refused(struct arena *a, str why)
{
	return arena_printf(a,
			"Your work cannot be accepted: " STR_FMT
			". Your work is kept on your branch.",
			STR_ARG(why));
}

str prompt_post(struct arena *a, str target, str output)
{
	return arena_printf(a,
			"Your change was accepted to " STR_FMT
			", the command that runs after that failed, and so the change was taken "
			"back. Your branch has it; correct it, and commit. What the command "
			"said:\n" STR_FMT,
			STR_ARG(target), STR_ARG(output));
}

str prompt_rejected(struct arena *a, str reason)
{
	return arena_printf(a,
			"A person reviewed your work and did not accept it. Correct it, and "
			"commit. What they say:\n" STR_FMT,
			STR_ARG(reason));
}

str prompt_commit_message(struct arena *a, const struct node *n)
{
	str body = n->def.outcome.n ? n->def.outcome : n->def.objective;

	return arena_printf(a, STR_FMT "\n%s" STR_FMT "%s\nTask " STR_FMT " of \"" STR_FMT "\".\n",
			STR_ARG(n->def.name), body.n ? "\n" : "", STR_ARG(body), body.n ? "\n" : "",
			STR_ARG(n->id), STR_ARG(n->goal->title));
}

str prompt_revert_message(struct arena *a, const struct node *n)
{
	return arena_printf(a,
			"Revert \"" STR_FMT "\"\n\nThis takes back commit " STR_FMT
			": the command that runs after an accept failed.\n\nTask " STR_FMT
			" of \"" STR_FMT "\".\n",
			STR_ARG(n->def.name), STR_ARG(n->work.commit), STR_ARG(n->id),
			STR_ARG(n->goal->title));
}
