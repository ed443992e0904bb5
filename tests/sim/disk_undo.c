/*
 * What a power cut takes. Between two syncs of a file the disk may have written any of the versions
 * that a sector had, and any of the file's sizes; so each change first keeps the sector as it was.
 * Only truncating ties the two together: a sector beyond the end comes with the size that has it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/sim/disk_impl.h"

enum {
	KEPT_IMAGES = 1 << 20, /* bytes of memory that a sync leaves for the next writes */
	PAGE_SECTORS = 4096 / DISK_SECTOR,
};

static uint64_t sector_of(int64_t at)
{
	return (uint64_t)at / DISK_SECTOR;
}

/* The bytes as they are, zeros beyond the end. */
static uint32_t add_image(struct disk_file *f, const uint8_t *p, size_t n)
{
	size_t at = f->images.n, need = at + DISK_SECTOR;

	if (need > f->images.cap) {
		f->images.cap = MAX(need, f->images.cap * 2);
		f->images.p = mem_realloc(f->images.p, f->images.cap);
	}
	memcpy(f->images.p + at, p, n);
	memset(f->images.p + at + n, 0, DISK_SECTOR - n);
	f->images.n = need;
	return (uint32_t)(need / DISK_SECTOR);
}

/* Sectors from first up to last, which is included; bytes holds what the file has of them. */
static void add_versions(struct disk_file *f, uint64_t first, uint64_t last, const uint8_t *bytes,
		size_t n, bool cut)
{
	for (uint64_t sector = first; sector <= last; sector++) {
		size_t from = (size_t)(sector - first) * DISK_SECTOR;
		size_t have = from < n ? MIN(n - from, (size_t)DISK_SECTOR) : 0;
		struct disk_version v = {
			.sector = sector,
			.op = f->ops,
			.image = have ? add_image(f, bytes + from, have) : 0,
			.cut = cut,
		};

		vec_push(&f->versions, v);
	}
}

static void keep(struct disk_file *f, sqlite3_file *real, int64_t from, int64_t to, bool cut)
{
	int64_t start = from / DISK_SECTOR * DISK_SECTOR;
	int64_t end = MIN((int64_t)(sector_of(to - 1) + 1) * DISK_SECTOR, f->size);
	uint8_t small[8192], *bytes = small;
	size_t n = end > start ? (size_t)(end - start) : 0;

	if (n > sizeof(small))
		bytes = mem_alloc(n);
	if (n && real->pMethods->xRead(real, bytes, (int)n, start) != SQLITE_OK) {
		fprintf(stderr, "disk: cannot read %s\n", f->path);
		abort();
	}
	add_versions(f, sector_of(from), sector_of(to - 1), bytes, n, cut);
	if (bytes != small)
		mem_free(bytes);
}

static void set_size(struct disk_file *f, int64_t size)
{
	struct disk_size s = { .op = f->ops, .size = size };

	vec_push(&f->sizes, s);
	f->size = size;
}

void disk_undo_write(struct disk_file *f, sqlite3_file *real, int64_t at, int64_t n)
{
	if (n == 0)
		return;
	keep(f, real, at, at + n, false);
	if (at + n > f->size)
		set_size(f, at + n);
	f->ops++;
}

void disk_undo_truncate(struct disk_file *f, sqlite3_file *real, int64_t size)
{
	if (size == f->size)
		return;
	if (size < f->size)
		keep(f, real, size, f->size, true);
	set_size(f, size);
	f->ops++;
}

/* By sector, and in the order of time. */
static int compare_versions(const void *a, const void *b)
{
	const struct disk_version *x = a, *y = b;

	if (x->sector != y->sector)
		return x->sector < y->sector ? -1 : 1;
	return x->op < y->op ? -1 : x->op > y->op;
}

static void sort_versions(struct disk_file *f)
{
	if (f->versions.n)
		qsort(f->versions.p, f->versions.n, sizeof(f->versions.p[0]), compare_versions);
}

static const uint8_t *image_of(const struct disk_file *f, const struct disk_version *v)
{
	static const uint8_t zeros[DISK_SECTOR];

	return v->image ? f->images.p + (v->image - 1) * (size_t)DISK_SECTOR : zeros;
}

/* The versions, sorted, of one page of the system: those from i on up to the returned one. */
static size_t page_end(const struct disk_file *f, size_t i)
{
	uint64_t page = f->versions.p[i].sector / PAGE_SECTORS;

	while (i < f->versions.n && f->versions.p[i].sector / PAGE_SECTORS == page)
		i++;
	return i;
}

static bool is_forgotten(const struct disk_file *f, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (f->versions.p[i].op >= f->failed_ops || f->versions.p[i].cut)
			return false;
	return true;
}

/*
 * After a sync that failed the system takes the pages for written, and the next one does not write
 * them again: only those that changed since.
 */
static void keep_forgotten(struct disk_file *f)
{
	struct disk_file old = *f;

	sort_versions(&old);
	memset(&f->versions, 0, sizeof(f->versions));
	memset(&f->images, 0, sizeof(f->images));
	for (size_t i = 0, end; i < old.versions.n; i = end) {
		end = page_end(&old, i);
		if (!is_forgotten(&old, i, end))
			continue;
		for (size_t j = i; j < end; j++) {
			struct disk_version v = old.versions.p[j];

			if (v.image)
				v.image = add_image(f, image_of(&old, &v), DISK_SECTOR);
			vec_push(&f->versions, v);
		}
	}
	vec_done(&old.versions);
	vec_done(&old.images);
}

static void forget_all(struct disk_file *f)
{
	vec_clear(&f->versions);
	vec_clear(&f->images);
	if (f->images.cap > KEPT_IMAGES) {
		vec_done(&f->images);
		vec_done(&f->versions);
	}
	f->ops = f->failed_ops = 0;
}

void disk_undo_sync(struct disk_file *f)
{
	vec_clear(&f->sizes);
	f->durable_size = f->size;
	if (f->failed_ops)
		keep_forgotten(f);
	if (!f->failed_ops || !f->versions.n)
		forget_all(f);
}

void disk_undo_sync_failed(struct disk_file *f)
{
	f->failed_ops = f->ops;
}

void disk_undo_reset(struct disk_file *f, int64_t size)
{
	vec_clear(&f->sizes);
	forget_all(f);
	f->size = f->durable_size = size;
}

size_t disk_undo_bytes(const struct disk_file *f)
{
	return f->versions.n * sizeof(f->versions.p[0]) + f->sizes.n * sizeof(f->sizes.p[0]) +
			f->images.n;
}

/* How much of this file the disk had written: some files all or nothing, most in between. */
static bool is_kept(struct rng *rng, size_t kept_of_8)
{
	return rng_below(rng, 8) < kept_of_8;
}

/* Any of n + 1 states, the newest more often. */
static size_t draw_state(struct rng *rng, size_t kept_of_8, size_t from, size_t to)
{
	if (is_kept(rng, kept_of_8))
		return to;
	return from + rng_below(rng, to - from + 1);
}

/*
 * One sector of n versions. Number i is what it held before change i, n what it holds now. A
 * truncate that happened is behind us, one that did not is ahead.
 */
static uint64_t cut_sector(int fd, const struct disk_file *f, const struct disk_version *v,
		size_t n, int64_t last_op, size_t kept_of_8, struct rng *rng)
{
	size_t from = 0, to = n, state;

	for (size_t i = 0; i < n; i++) {
		if (!v[i].cut)
			continue;
		if (v[i].op <= last_op)
			from = i + 1;
		else
			to = MIN(to, i);
	}
	state = draw_state(rng, kept_of_8, from, to);
	if (state == n)
		return 0;
	if (pwrite(fd, image_of(f, &v[state]), DISK_SECTOR, (off_t)(v[0].sector * DISK_SECTOR)) !=
			DISK_SECTOR)
		abort();
	return 1;
}

static uint64_t cut_sectors(int fd, struct disk_file *f, int64_t last_op, size_t kept_of_8,
		struct rng *rng)
{
	uint64_t lost = 0;

	sort_versions(f);
	for (size_t i = 0, n; i < f->versions.n; i += n) {
		for (n = 1; i + n < f->versions.n; n++)
			if (f->versions.p[i + n].sector != f->versions.p[i].sector)
				break;
		lost += cut_sector(fd, f, f->versions.p + i, n, last_op, kept_of_8, rng);
	}
	return lost;
}

uint64_t disk_undo_cut(struct disk_file *f, struct rng *rng)
{
	static const size_t kept[] = { 0, 1, 4, 7, 8 };
	size_t kept_of_8, size;
	int64_t last_op;
	uint64_t lost;
	int fd;

	if (!f->ops)
		return 0;
	fd = open(f->path, O_RDWR | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0; /* removed, and not through us */
	if (fd < 0)
		abort();
	kept_of_8 = kept[rng_below(rng, ARRAY_LEN(kept))];
	size = draw_state(rng, kept_of_8, 0, f->sizes.n);
	last_op = size ? (int64_t)f->sizes.p[size - 1].op : -1;
	lost = cut_sectors(fd, f, last_op, kept_of_8, rng);
	disk_undo_reset(f, size ? f->sizes.p[size - 1].size : f->durable_size);
	if (ftruncate(fd, f->size) < 0)
		abort();
	close(fd);
	return lost;
}
