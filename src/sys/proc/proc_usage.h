#pragma once
/*
 * What a process and all of its descendants have used so far: CPU time and bytes read and written.
 * Two samples of the same tree tell whether anything happened between them. A table is every
 * process at one moment, so that many trees can be looked at for one walk over /proc; its owner
 * frees it. Loop-free.
 *
 * Children that have ended are counted through the parent that waited for them; what nobody waits
 * for goes to the next subreaper above, which belongs to the tree. Where a parent ignores its
 * children's end their share is gone, so a sample can also be smaller than the one before.
 */
#include "base/ov.h"
#include "sys/proc/proc.h"

struct proc_table;

struct proc_usage {
	uint64_t at_us;    /* monotonic, when it was taken */
	uint64_t cpu_ms;   /* user and system, children that were waited for included */
	uint64_t io_bytes; /* read and written by system calls, files and pipes alike */
	size_t processes;  /* alive or zombies */
	/* Of those that began before a moment, without what they waited for; of the others. */
	uint64_t old_cpu_ms, young_io_bytes;
	size_t young;
	bool io_incomplete; /* of some (another user's) the bytes cannot be read */
};

int proc_table_new(struct proc_table **ret, struct ov_err *err);
/* The same, for whoever cannot wait long: OV_ELIMIT where there are more than so many processes. */
int proc_table_new_max(size_t max, struct proc_table **ret, struct ov_err *err);
struct proc_table *proc_table_free(struct proc_table *t); /* NULL allowed; returns NULL */
uint64_t proc_table_at_us(const struct proc_table *t);
/*
 * The tree below root, root included; OV_ENOTFOUND when it has ended, or began after the table.
 * since_boot_us (clock_boot_us): those that began then or later are young; 0: none is.
 */
int proc_table_usage(const struct proc_table *t, const struct proc *root, uint64_t since_boot_us,
		struct proc_usage *ret, struct ov_err *err);
/*
 * The processes of the tree below root, it included, in the arena; NULL and 0 when it is not in
 * the table.
 */
const int *proc_table_below(const struct proc_table *t, struct arena *a, int root, size_t *ret_n);
