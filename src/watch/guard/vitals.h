#pragma once
/*
 * The vital signs of the daemon that is watched, as they are read from its files: the heartbeat,
 * when its deadline comes; health.jsonl and the registration, when the kernel says that they
 * changed. Only what the instance in question wrote counts. Time is that of our own clock, and time
 * during which we did not run ourselves (a suspended machine) does not count.
 */
#include "base/ov.h"
#include "data/message/vital.h"

struct vitals {
	const char *dir, *heartbeat, *health; /* paths */
	int notify;                           /* inotify, or -1 */
	int folder_wd, health_wd;
	bool told; /* of changes; otherwise somebody has to ask again and again */
	/* health.jsonl, up to where it was read */
	int health_fd;
	int64_t health_at;
	/* Since vitals_begin: */
	char instance[VITAL_INSTANCE + 1]; /* empty: whoever it is */
	bool requested;                    /* a person asked it to end */
	int stopped;                       /* exit status that it wrote down, or -1 */
	bool failed, degraded;
	char text[VITAL_TEXT + 1]; /* of that */
	bool beats;                /* there was a beat */
	struct heartbeat beat;     /* the last one */
	int64_t begun_ms;
	int64_t check_ms;    /* of the last check */
	int64_t beat_ms;     /* when the loop was last seen to have turned */
	int64_t alive_ms;    /* at least until then it certainly turned */
	int64_t progress_ms; /* when nothing was due, or something had moved */
};

/* What the kernel told. */
struct vitals_news {
	bool registration, health;
};

void vitals_init(struct vitals *v, struct arena *a, const char *dir);
void vitals_done(struct vitals *v);
/* Looks at the folder, again if it is another one by now. */
int vitals_watch(struct vitals *v, struct ov_err *err);
/* Reads what inotify has to say. */
struct vitals_news vitals_hear(struct vitals *v);

/*
 * From now on the signs are those of this instance, from the beginning of its life; of whoever
 * comes next when it is empty.
 */
void vitals_begin(struct vitals *v, const char *instance, int64_t now_ms);
/* Reads the new lines of health.jsonl. */
void vitals_read_health(struct vitals *v);
/*
 * What is wrong, FAILURE_NONE for nothing; the text says more. slept_ms: how much later it is
 * than meant.
 */
enum failure vitals_check(struct vitals *v, int64_t now_ms, int64_t slept_ms, int64_t beat_timeout,
		int64_t stall_timeout, char *ret_text, size_t size);
/* When to check next: twice in beat_timeout, and sooner only while there is reason to. */
int64_t vitals_due_ms(const struct vitals *v, int64_t now_ms, int64_t beat_timeout,
		int64_t stall_timeout);
/* For how long it was healthy, when it failed in this way just now. */
int64_t vitals_healthy_ms(struct vitals *v, enum failure f, int64_t now_ms, int64_t beat_timeout);
