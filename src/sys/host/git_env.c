#include "sys/host/git_env.h"

#include <string.h>

/*
 * Of our own GIT_ variables only those pass that say where configuration and programs are,
 * and who commits: GIT_DIR and the like would point our commands at another repository.
 */
static const char *const env_kept[] = {
	"GIT_CONFIG_GLOBAL=",
	"GIT_CONFIG_SYSTEM=",
	"GIT_CONFIG_NOSYSTEM=",
	"GIT_EXEC_PATH=",
	"GIT_AUTHOR_NAME=",
	"GIT_AUTHOR_EMAIL=",
	"GIT_COMMITTER_NAME=",
	"GIT_COMMITTER_EMAIL=",
	"GIT_SSL_CAINFO=",
	"GIT_SSH_COMMAND=",
};

static const char *const env_dropped[] = { "GIT_", "LC_", "LANG=", "LANGUAGE=" };

/*
 * Configuration that our bookkeeping does not follow: no hooks and no signatures (both may ask or
 * refuse), nothing in the background, and patience with locks that others hold for a moment.
 */
const char *const git_options[] = {
	"core.hooksPath=/dev/null",
	"commit.gpgSign=false",
	"gc.auto=0",
	"maintenance.auto=false",
	/* git syncs only packs and refs: a ref could outlive its objects */
	"core.fsync=loose-object",
	"core.fsmonitor=false",
	"core.safecrlf=false",
	"submodule.recurse=false",
	"core.filesRefLockTimeout=5000",
	"core.packedRefsTimeout=5000",
	"i18n.commitEncoding=UTF-8",
	"i18n.logOutputEncoding=UTF-8",
	"color.ui=false",
	"advice.addEmbeddedRepo=false",
	"advice.graftFileDeprecated=false",
	"log.showSignature=false",
};
const size_t git_options_n = ARRAY_LEN(git_options);

/* Without its program the filter refuses every file; as it is, a file is better than none. */
const char *const git_no_lfs[] = {
	"filter.lfs.required=false",
	"filter.lfs.process=",
	"filter.lfs.clean=",
	"filter.lfs.smudge=",
};
const size_t git_no_lfs_n = ARRAY_LEN(git_no_lfs);

const char *const git_env_fixed[] = {
	"LC_ALL=C",
	"GIT_TERMINAL_PROMPT=0",
	"GIT_EDITOR=true",
	"GIT_SEQUENCE_EDITOR=true",
	"GIT_PAGER=cat",
	"GIT_MERGE_AUTOEDIT=no",
	"GIT_NO_REPLACE_OBJECTS=1",
	"GIT_GRAFT_FILE=/dev/null",
};
const size_t git_env_fixed_n = ARRAY_LEN(git_env_fixed);

/* Git before 2.45 knows only that no way of fetching is allowed. */
const char *const git_env_no_fetch[] = {
	"GIT_NO_LAZY_FETCH=1",
	"GIT_ALLOW_PROTOCOL=none",
};
const size_t git_env_no_fetch_n = ARRAY_LEN(git_env_no_fetch);

static bool starts_with_any(const char *s, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strncmp(s, list[i], strlen(list[i])) == 0)
			return true;
	return false;
}

bool git_env_passes(const char *entry)
{
	return !starts_with_any(entry, env_dropped, ARRAY_LEN(env_dropped)) ||
			starts_with_any(entry, env_kept, ARRAY_LEN(env_kept));
}
