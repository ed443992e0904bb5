#include "data/id/repo_name.h"

#include <string.h>

#include "base/str.h"
#include "base/utf8.h"

enum {
	KEPT = 16, /* no name that is looked for is longer */
	OTHER = 1, /* a character that stands in none of them */
};

/* Code points that a file system may leave out of a name (Default_Ignorable_Code_Point). */
static bool is_ignored(int32_t c)
{
	static const struct {
		int32_t from, to;
	} ignored[] = { { 0x00ad, 0x00ad }, { 0x034f, 0x034f }, { 0x061c, 0x061c },
		{ 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f }, { 0x200b, 0x200f },
		{ 0x202a, 0x202e }, { 0x2060, 0x206f }, { 0x3164, 0x3164 }, { 0xfe00, 0xfe0f },
		{ 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff0, 0xfff8 }, { 0x1bca0, 0x1bca3 },
		{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff } };

	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		if (c >= ignored[i].from && c <= ignored[i].to)
			return true;
	return false;
}

/* Alphabets that are the plain letters by compatibility: where each begins, and how it goes on. */
static int32_t from_alphabets(int32_t c)
{
	static const struct {
		int32_t from, to;
	} alphabets[] = {
		{ 0xff21, 0xff3a },   /* full width, capital */
		{ 0xff41, 0xff5a },   /* and small */
		{ 0x24b6, 0x24e9 },   /* in circles */
		{ 0x1d400, 0x1d6a3 }, /* mathematical, thirteen of both cases */
		{ 0x1f130, 0x1f149 }, /* in squares */
	};

	for (size_t i = 0; i < ARRAY_LEN(alphabets); i++)
		if (c >= alphabets[i].from && c <= alphabets[i].to)
			return 'a' + (c - alphabets[i].from) % 26;
	return c;
}

/*
 * Single ones, of the letters that the names have; by case folding, normalisation or NTFS's table.
 */
static int32_t from_singles(int32_t c)
{
	static const struct {
		int32_t from;
		char to;
	} singles[] = { { 0x00ba, 'o' }, { 0x0130, 'i' }, { 0x0131, 'i' }, { 0x017f, 's' },
		{ 0x02b3, 'r' }, { 0x02e2, 's' }, { 0x1d31, 'e' }, { 0x1d33, 'g' }, { 0x1d35, 'i' },
		{ 0x1d3c, 'o' }, { 0x1d3f, 'r' }, { 0x1d40, 't' }, { 0x1d49, 'e' }, { 0x1d4d, 'g' },
		{ 0x1d52, 'o' }, { 0x1d57, 't' }, { 0x1d5b, 'v' }, { 0x1d62, 'i' }, { 0x1d63, 'r' },
		{ 0x1d65, 'v' }, { 0x2024, '.' }, { 0x2071, 'i' }, { 0x2091, 'e' }, { 0x2092, 'o' },
		{ 0x209b, 's' }, { 0x209c, 't' }, { 0x210a, 'g' }, { 0x2110, 'i' }, { 0x2111, 'i' },
		{ 0x211b, 'r' }, { 0x211c, 'r' }, { 0x211d, 'r' }, { 0x212f, 'e' }, { 0x2130, 'e' },
		{ 0x2134, 'o' }, { 0x2139, 'i' }, { 0x2147, 'e' }, { 0x2148, 'i' }, { 0x2160, 'i' },
		{ 0x2164, 'v' }, { 0x2170, 'i' }, { 0x2174, 'v' }, { 0x2c7d, 'v' }, { 0xfe52, '.' },
		{ 0xff0e, '.' }, { 0xff5e, '~' }, { 0xff11, '1' }, { 0x1f12c, 'r' } };

	for (size_t i = 0; i < ARRAY_LEN(singles); i++)
		if (c == singles[i].from)
			return (unsigned char)singles[i].to;
	return c;
}

/* What one code point is where names are compared: at most two letters, then 0. */
static void repo_name_fold(int32_t c, char to[static 3])
{
	memset(to, 0, 3);
	if (c >= 0 && is_ignored(c))
		return;
	if (c == 0x20a8) { /* the rupee sign */
		memcpy(to, "rs", 3);
		return;
	}
	if (c == 0x3375) { /* square OV */
		memcpy(to, "ov", 3);
		return;
	}
	c = from_singles(from_alphabets(c));
	if (c >= 'A' && c <= 'Z')
		c += 'a' - 'A';
	to[0] = c > 0 && c < 0x80 ? (char)c : OTHER;
}

/* NTFS's short names: of ".overseer" they are OVERSE~1, and where those are taken OV1A2B~1. */
static bool is_short(const char *name, size_t n)
{
	size_t tilde = 6;

	if (n < 8 || name[tilde] != '~' || name[tilde + 1] < '0' || name[tilde + 1] > '9' || n != 8)
		return false;
	if (memcmp(name, "overse", tilde) == 0)
		return true;
	if (memcmp(name, "ov", 2) != 0)
		return false;
	for (size_t i = 2; i < tilde; i++)
		if (!((name[i] >= '0' && name[i] <= '9') || (name[i] >= 'a' && name[i] <= 'f')))
			return false;
	return true;
}

static bool is(const char *name, size_t n, const char *want)
{
	return n == strlen(want) && memcmp(name, want, n) == 0;
}

enum repo_name repo_name_of(str s)
{
	char name[KEPT];
	size_t n = 0, used = 0; /* used: without the dots and spaces at the end, which NTFS drops */
	bool stream = false;

	while (s.n && !stream) {
		char folded[3];

		repo_name_fold(utf8_next(&s), folded);
		for (size_t i = 0; folded[i] && !stream; i++) {
			bool dropped = folded[i] == ' ' || folded[i] == '.';

			/* Behind a colon NTFS has the name of a stream of the same file. */
			stream = folded[i] == ':';
			if (stream)
				break;
			if (n < KEPT)
				name[n] = folded[i];
			else if (!dropped)
				return REPO_NAME_FREE;
			n++;
			if (!dropped)
				used = n;
		}
	}
	if (used > KEPT)
		return REPO_NAME_FREE;
	if (is(name, used, ".git") || is(name, used, "git~1"))
		return REPO_NAME_GIT;
	if (is(name, used, ".overseer") || is_short(name, used))
		return REPO_NAME_OVERSEER;
	return REPO_NAME_FREE;
}

enum repo_name repo_path_of(str path)
{
	size_t at = 0;

	for (size_t i = 0; i <= path.n; i++) {
		enum repo_name x;

		if (i < path.n && path.p[i] != '/' && path.p[i] != '\\')
			continue;
		x = repo_name_of(str_sub(path, at, i - at));
		if (x != REPO_NAME_FREE)
			return x;
		at = i + 1;
	}
	return REPO_NAME_FREE;
}
