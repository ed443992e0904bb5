#pragma once
/*
 * A short summary of the repository for a planner: branch and head, what lies at the top, how many
 * files of which kind, the first lines of the README. At most 4 KiB. It is untrusted text.
 */
#include "base/ov.h"
#include "sys/loop/job.h"

enum { REPO_CONTEXT_BYTES = 4 * 1024 };

/* The job whose output repo_context_summary reads; repo must live until job_start. */
struct job_spec repo_context_job(const char *repo);
/* Pure. cut: the output was longer than what was kept of it. */
str repo_context_summary(struct arena *a, str output, bool cut);
