#pragma once
/*
 * Inside the rooms of git only: a look at everything in a worktree that an agent may have prepared.
 */
#include "drive/git/git_call.h"

struct git_walk {
	struct git_call *c;
	size_t entries;  /* at most; 0: as many as there are, down to some depth */
	int64_t time_ms; /* no new folder is begun after this; 0: as long as it takes */
	/*
	 * One entry: the folder that it is in, open, and its path below the worktree ("": that
	 * itself); its name there and its type (DT_*). False ends the walk. Folders come before
	 * what is in them.
	 */
	bool (*each)(struct git_walk *w, int dir, const char *folder, const char *name, int type);
	void *user;
	bool cut;    /* answer: it came to an end before all was seen */
	bool closed; /* answer: a folder cannot be opened: it is somebody else's */
	bool opened; /* answer: some were closed, and are open now */
};

/*
 * Below `from` ("": all of c->path), nearest first; links are not followed, .git folders not
 * entered. Folders that their owner cannot read, search or write are opened, unless the call
 * only peeks.
 */
void git_walk(struct git_walk *w, const char *from);
const char *git_walk_name(struct arena *a, const char *folder, const char *name); /* its path */

/*
 * Before git reads the files that it reads for itself (.gitignore and the like): pipes and devices
 * in their place, for which it would wait for ever, are put aside. Once for each call, and
 * within bounds.
 */
void git_unblock_ahead(struct git_call *c);
/* The same with wider bounds, once, after a command took too long: true when there were some. */
bool git_unblock(struct git_call *c);

/* Opens what is closed, within the same bounds: true when there was some. */
bool git_open_closed(struct git_call *c);
/*
 * Git passes over a folder that it cannot open, with a warning and status 0. True: it can be opened
 * now, or is put aside, being too deep, and the command is to run again. What still cannot be makes
 * c->closed, so that it is never removed.
 */
bool git_passed_over(struct git_call *c, const struct git_out *o);
