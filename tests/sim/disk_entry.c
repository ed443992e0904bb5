/*
 * The folder of the disk: which files are there, which of them would vanish or come back with the
 * power. Changes of a folder become durable in their order, as journaling file systems have it: a
 * sync of one that is new makes all before it durable.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "tests/sim/disk_impl.h"

struct disk_file *disk_file_find(struct disk *d, const char *path)
{
	for (size_t i = 0; i < d->files.n; i++)
		if (!strcmp(d->files.p[i]->path, path))
			return d->files.p[i];
	return NULL;
}

struct disk_file *disk_file_add(struct disk *d, const char *path, int64_t size)
{
	struct disk_file *f = mem_zalloc(1, sizeof(*f));

	f->path = mem_dup(path, strlen(path));
	f->refs = 1;
	f->size = f->durable_size = size;
	vec_push(&d->files, f);
	return f;
}

void disk_file_unref(struct disk_file *f)
{
	assert(f->refs > 0);
	if (--f->refs)
		return;
	vec_done(&f->versions);
	vec_done(&f->sizes);
	vec_done(&f->images);
	mem_free(f->path);
	mem_free(f);
}

/* Out of the list, whose reference the caller gets. */
static void take_out(struct disk *d, const struct disk_file *f)
{
	for (size_t i = 0; i < d->files.n; i++) {
		if (d->files.p[i] == f) {
			vec_remove(&d->files, i);
			return;
		}
	}
	abort();
}

void disk_entry_created(struct disk *d, struct disk_file *f)
{
	struct disk_entry e = { .file = f };

	f->refs++;
	f->entry_pending = true;
	vec_push(&d->entries, e);
}

void disk_entry_deleted(struct disk *d, struct disk_file *f)
{
	struct disk_entry e = { .file = f };
	struct buf name = BUF_INIT;

	buf_addf(&name, "%s/.gone-%llu", d->dir, (unsigned long long)d->gone++);
	e.gone = mem_dup(name.p, name.n);
	buf_done(&name);
	if (rename(f->path, e.gone) < 0)
		abort();
	take_out(d, f);
	vec_push(&d->entries, e);
}

/* The change stays. */
static void settle(const struct disk_entry *e)
{
	if (e->gone)
		unlink(e->gone);
	else
		e->file->entry_pending = false;
	mem_free(e->gone);
	disk_file_unref(e->file);
}

void disk_entries_sync(struct disk *d)
{
	for (size_t i = 0; i < d->entries.n; i++)
		settle(&d->entries.p[i]);
	vec_clear(&d->entries);
}

static void take_back(struct disk *d, struct disk_entry *e)
{
	if (e->gone) {
		if (rename(e->gone, e->file->path) < 0)
			abort();
		vec_push(&d->files, e->file);
		mem_free(e->gone);
		return;
	}
	unlink(e->file->path);
	take_out(d, e->file);
	disk_file_unref(e->file);
	disk_file_unref(e->file);
}

void disk_entries_cut(struct disk *d)
{
	size_t stay = rng_below(&d->rng, d->entries.n + 1);

	while (d->entries.n > stay)
		take_back(d, &d->entries.p[--d->entries.n]);
	disk_entries_sync(d);
}
