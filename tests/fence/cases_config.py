"""Programs that an agent has git run: by configuration, attributes, hooks, and repositories inside the worktree."""

import os

from room import case


def dirty(room, text="*.txt filter=x diff=x merge=x\n"):
    """Attributes and files in the case's own folder that need a filter when they are added."""
    room.put(f"{room.name}/.gitattributes", text)
    room.work()
    room.work()


def repository_config(room, text):
    """Further lines for the configuration of the user's repository, and of the git folder that the agent uses."""
    for git in room.gits:
        room.append(os.path.join(git, "config"), text)


# Repositories inside the worktree

@case(1)
def embedded_filter(r):
    """an embedded repository whose configuration names a filter, not added"""
    r.embedded("repo", r.programs())


@case(1)
def embedded_filter_staged(r):
    """an embedded repository with a filter, as a gitlink in the index, its file changed"""
    r.embedded("repo", r.programs())
    r.gitlink(f"{r.name}/repo")


@case(1, refused=True)
def embedded_filter_committed(r):
    """an embedded repository with a filter, as a gitlink in a commit, its file changed"""
    r.embedded("repo", r.programs())
    r.gitlink(f"{r.name}/repo")
    r.git("commit", "-qm", "a gitlink")


@case(1)
def embedded_filter_process(r):
    """an embedded repository with a filter process, as a gitlink in the index"""
    r.embedded("repo", f'[filter "x"]\n\tprocess = {r.evil("process")}\n\trequired = true\n')
    r.gitlink(f"{r.name}/repo")


@case(1, stays=True)
def embedded_filter_while_it_runs(r):
    """an embedded repository with a filter; the run is stopped, so that it is rescued while it lives"""
    r.embedded("repo", r.programs())
    r.gitlink(f"{r.name}/repo")


@case(1, fails=True)
def embedded_filter_failed(r):
    """an embedded repository with a filter in a failed task: it is rescued when the next one takes the worktree"""
    r.embedded("repo", r.programs())
    r.gitlink(f"{r.name}/repo")
    r.git("commit", "-qm", "a gitlink")


@case(1)
def embedded_fsmonitor(r):
    """an embedded repository whose configuration names an fsmonitor program"""
    r.embedded("repo", f"[core]\n\tfsmonitor = {r.evil('fsmonitor')}\n")
    r.gitlink(f"{r.name}/repo")


@case(1)
def embedded_hooks(r):
    """an embedded repository with all hooks in its folder, and a hooksPath"""
    folder = r.embedded("repo")
    r.hooks(os.path.join(folder, ".git", "hooks"))
    r.hooks(os.path.join(folder, "more"))
    r.append(os.path.join(folder, ".git", "config"), "[core]\n\thooksPath = more\n")
    r.gitlink(f"{r.name}/repo")


@case(1)
def embedded_external_diff(r):
    """an embedded repository with external diff and textconv"""
    r.embedded("repo", f'[diff]\n\texternal = {r.evil("external-diff")}\n[diff "x"]\n\ttextconv = {r.evil("textconv")}\n')
    r.gitlink(f"{r.name}/repo")


@case(1)
def embedded_include(r):
    """an embedded repository whose configuration includes a file of the worktree with a filter"""
    r.put(f"{r.name}/more.config", r.programs())
    r.embedded("repo", f"[include]\n\tpath = {r.w}/{r.name}/more.config\n[includeIf \"gitdir:**\"]\n\tpath = ../../more.config\n")
    r.gitlink(f"{r.name}/repo")


@case(1)
def embedded_config_worktree(r):
    """an embedded repository with the filter in its config.worktree"""
    folder = r.embedded("repo", "[extensions]\n\tworktreeConfig = true\n")
    r.append(os.path.join(folder, ".git", "config.worktree"), r.programs())
    r.gitlink(f"{r.name}/repo")


@case(1)
def embedded_twice(r):
    """an embedded repository in an embedded repository, both as gitlinks, both with filters"""
    folder = r.embedded("repo", r.programs())
    inner = os.path.join(folder, "inner")
    os.makedirs(inner)
    r.git("init", "-q", "--template=", ".", at=inner)
    r.put(f"{r.name}/repo/inner/.gitattributes", "* filter=x\n")
    r.put(f"{r.name}/repo/inner/deep.txt", "old\n")
    r.git("add", "-A", at=inner)
    r.git("commit", "-qm", "deep", at=inner)
    r.append(os.path.join(inner, ".git", "config"), r.programs())
    r.work(f"{r.name}/repo/inner/deep.txt")
    r.git("-c", "advice.addEmbeddedRepo=false", "add", "inner", at=folder, env={"GIT_CONFIG_GLOBAL": "/dev/null"})
    r.gitlink(f"{r.name}/repo")


@case(1)
def embedded_without_commit(r):
    """an embedded repository that has no commit, which git refuses to add"""
    r.embedded("repo", r.programs(), commit=False)
    r.work()


@case(1)
def embedded_elsewhere(r):
    """a folder whose .git file names a git folder in another folder of the worktree, with a filter"""
    folder = r.embedded("repo", r.programs())
    os.rename(os.path.join(folder, ".git"), os.path.join(r.w, r.name, "gitfolder"))
    r.put(f"{r.name}/repo/.git", "gitdir: ../gitfolder\n")
    r.gitlink(f"{r.name}/repo")


@case(1)
def bare_repository_in_a_folder(r):
    """a bare repository with programs in its configuration as ordinary files of the worktree"""
    r.git("init", "-q", "--bare", "--template=", os.path.join(r.w, r.name, "bare"))
    r.append(os.path.join(r.w, r.name, "bare", "config"), r.programs())
    r.hooks(os.path.join(r.w, r.name, "bare", "hooks"))
    r.work(f"{r.name}/bare/work.txt")


@case(1, fails=True)
def bare_repository_at_the_root(r):
    """the root of the worktree looks like a bare repository with programs in its configuration"""
    r.put("HEAD", "ref: refs/heads/main\n")
    r.put("config", "[core]\n\trepositoryformatversion = 0\n\tbare = true\n" + r.programs())
    for name in ("objects", "refs"):
        r.put(f"{name}/kept", "")
    r.hooks(os.path.join(r.w, "hooks"))
    dirty(r)


@case(1)
def gitlink_without_a_folder(r):
    """a gitlink in the index for which there is no folder"""
    r.gitlink(f"{r.name}/nothing", "1" * 40)
    r.work()


@case(1)
def gitlink_over_a_folder_of_files(r):
    """a gitlink in the index where an ordinary folder with work lies"""
    r.work(f"{r.name}/folder/work.txt")
    r.gitlink(f"{r.name}/folder", "1" * 40)


@case(1)
def gitlink_over_a_file(r):
    """a gitlink in the index where a file with work lies"""
    r.work(f"{r.name}/file")
    r.gitlink(f"{r.name}/file", "1" * 40)


def link_gone(site, name, how):
    return [f"main has the link ({how})"] if "160000" in site.judge.git("ls-tree", "-r", "main", f"{name}/") else []


@case(1, alone=True, judge=link_gone)
def gitlink_to_the_repository_itself(r):
    """a commit with a gitlink and .gitmodules that names the user's repository"""
    more = f'[submodule "x"]\n\tpath = {r.name}/sub\n\turl = {r.repo}\n\tupdate = !{r.evil("update")}\n'
    r.put(".gitmodules", r.git("show", "HEAD:.gitmodules") + more)
    r.work()
    r.git("add", "-A")
    r.gitlink(f"{r.name}/sub", r.base)
    r.git("commit", "-qm", "a submodule")


@case(1, fails=True)
def submodule_with_hostile_names(r):
    """.gitmodules with options for urls, names that lead outside, and transports that are commands"""
    r.put(".gitmodules", r.git("show", "HEAD:.gitmodules") + f"""[submodule "../../../../victims/{r.name}.d"]
	path = {r.name}/a
	url = -u{r.evil('url')}
[submodule "b"]
	path = {r.name}/b
	url = ext::sh -c {r.evil('ext')}
[submodule "c"]
	path = -c
	url = --upload-pack={r.evil('upload')}
""")
    for name in "ab":
        r.gitlink(f"{r.name}/{name}", r.base)
    r.work()


@case(1, alone=True)
def base_submodule_with_programs(r):
    """the base's own submodule, checked out, with programs in its configuration, hooks and a changed file"""
    with r.attempt("check the submodule out", excuse="repo/.git/(modules|config)"):
        r.git("submodule", "--quiet", "update", "--init", "base-sub")
        folder = os.path.join(r.w, "base-sub")
        own = r.git("rev-parse", "--absolute-git-dir", at=folder).strip()
        r.append(os.path.join(own, "config"), r.programs())
        r.hooks(os.path.join(own, "hooks"))
        r.append(os.path.join(own, "config"), f"[core]\n\thooksPath = {own}/hooks\n")
        os.makedirs(os.path.join(own, "info"), exist_ok=True)
        r.append(os.path.join(own, "info", "attributes"), "* filter=x\n")
        r.work("base-sub/base-sub.txt")
    r.work()


@case(1, alone=True)
def base_submodule_replaced(r):
    """the base's submodule replaced by a repository of the agent's with a filter"""
    r.put("base-sub/.gitattributes", "* filter=x\n")
    folder = os.path.join(r.w, "base-sub")
    r.git("init", "-q", "--template=", ".", at=folder)
    r.put("base-sub/file.txt", "old\n")
    r.git("add", "-A", at=folder)
    r.git("commit", "-qm", "x", at=folder)
    r.append(os.path.join(folder, ".git", "config"), r.programs())
    r.work("base-sub/file.txt")


@case(1, alone=True)
def submodule_update_by_config(r):
    """the repository's configuration has a program update the base's submodule"""
    with r.attempt("configure the submodule", excuse="repo/.git/(config|modules)"):
        repository_config(r, f"""[submodule]
	recurse = true
[submodule "base-sub"]
	update = !{r.evil('update')}
	active = true
	url = {r.site}/sub
""")
    r.work()


# Attributes

@case(1, refused=True)
def attributes_users_filter(r):
    """new .gitattributes name the user's own filter for files that the base does not name"""
    dirty(r, "*.txt filter=user\n")


@case(1, fails=True)
def attributes_macro_users_filter(r):
    """a macro in the root's .gitattributes names the user's own filter and diff"""
    r.append(os.path.join(r.w, ".gitattributes"), f"[attr]every filter=user diff=user merge=user\n{r.name}/* every\n")
    r.work()


@case(1, fails=True)
def attributes_filter_in_the_tree(r):
    """the user's filter is a program of the repository, which the run has changed"""
    r.put("tree-filter.sh", f"#!/bin/sh\n{r.evil('tree')}\nexec cat\n", 0o755)
    r.work(f"{r.name}/a.by-tree")


@case(1, refused=True)
def attributes_macro_committed(r):
    """a macro that is used before it is defined names the user's own filter, in a commit of the run's"""
    r.append(os.path.join(r.w, ".gitattributes"), f"{r.name}/* one\n[attr]one two\n[attr]two filter=user\n")
    r.work()
    r.git("-c", "filter.user.clean=cat", "add", "-A")
    r.git("-c", "filter.user.clean=cat", "commit", "-qm", "attributes")


@case(1)
def attributes_users_textconv(r):
    """new .gitattributes name the user's own textconv, for whoever looks at what was kept"""
    dirty(r, "*.txt diff=user\n")


@case(1, alone=True)
def attributes_users_merge(r):
    """new .gitattributes name the user's own merge driver for a file that both sides changed"""
    r.git("reset", "-q", "--hard", "HEAD~1")
    r.append(os.path.join(r.w, ".gitattributes"), "merge.txt merge=user\n")
    r.append(os.path.join(r.w, "merge.txt"), r.token() + "\n")
    r.commit()


@case(1, alone=True)
def attributes_for_the_next_merge(r):
    """attributes that were accepted name the user's merge driver when the next task is merged"""
    r.append(os.path.join(r.w, ".gitattributes"), "merge.txt merge=user\n")
    r.work()


@attributes_for_the_next_merge.second
def merges_next(r):
    r.git("reset", "-q", "--hard", "HEAD~2")
    r.append(os.path.join(r.w, "merge.txt"), r.token() + "\n")
    r.git("commit", "-qam", "both changed it")


@case(1)
def attributes_as_a_link(r):
    """.gitattributes and .gitignore are links to files of the user's"""
    r.link(r.victim, f"{r.name}/.gitattributes")
    r.link(r.victim, f"{r.name}/.gitignore")
    r.work()


@case(1)
def attributes_for_lfs(r):
    """attributes of git-lfs, with a filter of that name in the configuration of the worktree"""
    with r.attempt("config.worktree"):
        r.append(os.path.join(r.dir, "config.worktree"), r.programs("lfs"))
    dirty(r, "*.txt filter=lfs diff=lfs merge=lfs -text\n")


@case(1, alone=True)
def attributes_in_info(r):
    """info/attributes and the repository's configuration name a filter"""
    with r.attempt("write info and configuration", excuse="repo/.git/(info|config)"):
        for git in r.gits:
            r.append(os.path.join(git, "info", "attributes"), "* filter=x diff=x merge=x\n")
        repository_config(r, r.programs())
    dirty(r)


@case(1)
def attributes_by_configuration(r):
    """core.attributesFile in the worktree's own configuration names the filter for everything"""
    r.put(f"{r.name}/attributes", "* filter=x\n")
    with r.attempt("config.worktree"):
        r.append(os.path.join(r.dir, "config.worktree"), r.programs() + f"[core]\n\tattributesFile = {r.w}/{r.name}/attributes\n")
    r.work()


# Configuration of the worktree: where the repository uses config.worktree, as sparse checkouts do

def worktree_config(room, text):
    with room.attempt("config.worktree"):
        room.append(os.path.join(room.dir, "config.worktree"), text)
    with room.attempt("config of a git folder of its own"):
        if room.dir == room.common:
            room.append(os.path.join(room.dir, "config"), text)


@case(1)
def worktree_config_filter(r):
    """the worktree's own configuration names programs for everything"""
    worktree_config(r, r.programs())
    dirty(r)


@case(1)
def worktree_config_filter_required(r):
    """a required filter that fails: nothing can be added, nothing may be lost"""
    worktree_config(r, '[filter "x"]\n\tclean = false\n\tsmudge = false\n\trequired = true\n')
    dirty(r)


@case(1)
def worktree_config_hooks(r):
    """the worktree's own configuration names a folder of hooks in the worktree"""
    r.hooks(os.path.join(r.w, r.name, "hooks"))
    worktree_config(r, f"[core]\n\thooksPath = {r.w}/{r.name}/hooks\n")
    r.work()


@case(1)
def worktree_config_fsmonitor(r):
    """the worktree's own configuration names an fsmonitor that says that nothing changed"""
    worktree_config(r, f"[core]\n\tfsmonitor = {r.evil('fsmonitor')}\n\tuntrackedCache = true\n")
    r.work()


@case(1)
def worktree_config_include(r):
    """the worktree's own configuration includes a file of the worktree"""
    r.put(f"{r.name}/more.config", r.programs())
    worktree_config(r, f"[include]\n\tpath = {r.w}/{r.name}/more.config\n")
    dirty(r)


@case(2)
def worktree_config_other_folder(r):
    """core.worktree says that the files are in a folder of the user's"""
    worktree_config(r, f"[core]\n\tworktree = {r.victim}.d\n")
    r.work()


@case(1)
def worktree_config_bare(r):
    """core.bare in the worktree's own configuration"""
    worktree_config(r, "[core]\n\tbare = true\n")
    r.work()


@case(3)
def worktree_config_excludes(r):
    """core.excludesFile in the worktree's own configuration hides all that is new"""
    r.put(f"{r.name}/excludes", "*\n")
    worktree_config(r, f"[core]\n\texcludesFile = {r.w}/{r.name}/excludes\n")
    r.work()


@case(1)
def worktree_config_modes(r):
    """core.fileMode, core.symlinks, core.ignoreCase and the like against what lies there"""
    worktree_config(r, "[core]\n\tfileMode = false\n\tsymlinks = false\n\tignoreCase = true\n\tprecomposeUnicode = true\n"
                       "\ttrustctime = false\n\tcheckStat = minimal\n")
    r.work(mode=0o755)
    r.link(r.token(), f"{r.name}/link")
    r.work(f"{r.name}/CASE")
    r.work(f"{r.name}/case")


@case(1, alone=True)  # what it has accepted would fail other cases' git add
def worktree_config_conversion(r):
    """core.autocrlf, core.eol and an encoding that does not exist"""
    worktree_config(r, "[core]\n\tautocrlf = true\n\teol = crlf\n\tsafecrlf = true\n")
    r.put(f"{r.name}/.gitattributes", "*.bad text working-tree-encoding=nonsense\n")
    r.work(f"{r.name}/mixed.txt", before="a\r\nb\nc\r\n")
    r.work(f"{r.name}/file.bad")


@case(1)
def worktree_config_promisor(r):
    """a promisor remote whose command is a program, and a commit that lacks an object"""
    worktree_config(r, promisor(r))
    r.work()
    r.commit()
    r.git("update-ref", "HEAD", r.missing_object(), check=False)


def promisor(room):
    return f"""[extensions]
	partialClone = x
[core]
	sshCommand = {room.evil('ssh')}
[remote "x"]
	url = {room.site}/sub
	promisor = true
	partialCloneFilter = blob:none
	uploadpack = {room.evil('uploadpack')}
[remote "y"]
	url = ssh://localhost/x
	promisor = true
"""


@case(1)
def worktree_config_signing(r):
    """signing, editors and pagers in the worktree's own configuration"""
    worktree_config(r, f"""[commit]
	gpgSign = true
	template = {r.victim}
[gpg]
	program = {r.evil('gpg')}
[gpg "ssh"]
	defaultKeyCommand = {r.evil('key')}
[core]
	editor = {r.evil('editor')}
	pager = {r.evil('pager')}
[trailer "x"]
	key = X
	command = {r.evil('trailer')}
	ifmissing = add
[rebase]
	updateRefs = true
	autoStash = true
[merge]
	ff = false
""")
    r.work()


@case(1)
def worktree_config_broken(r):
    """a configuration of the worktree that git cannot read"""
    worktree_config(r, "[core\n= = =\n")
    r.work()


@case(1)
def worktree_config_as_a_link(r):
    """config.worktree is a link to a file of the user's"""
    with r.attempt("config.worktree"):
        r.replace(os.path.join(r.dir, "config.worktree"), link=r.victim)
    r.work()


@case(1)
def worktree_config_format(r):
    """the worktree's own configuration claims another format and another object store"""
    worktree_config(r, "[core]\n\trepositoryformatversion = 9\n[extensions]\n\tobjectFormat = sha256\n\tnonsense = true\n")
    r.work()


# The repository's configuration: without a sandbox the agent writes it as the user does

@case(1, alone=True)
def repository_config_programs(r):
    """the repository's configuration names programs for everything"""
    with r.attempt("write the configuration", excuse="repo/.git/config"):
        repository_config(r, r.programs())
    dirty(r)


@case(1, alone=True)
def repository_config_include(r):
    """the repository's configuration includes a file of the worktree"""
    r.put(f"{r.name}/more.config", r.programs())
    with r.attempt("write the configuration", excuse="repo/.git/config"):
        repository_config(r, f"[include]\n\tpath = {r.w}/{r.name}/more.config\n")
    dirty(r)


@case(1, alone=True)
def repository_config_promisor(r):
    """the repository's configuration has missing objects fetched by a program"""
    with r.attempt("write the configuration", excuse="repo/.git/config"):
        repository_config(r, promisor(r) + "[core]\n\trepositoryformatversion = 1\n")
    r.work()
    r.commit()
    r.git("update-ref", "HEAD", r.missing_object(), check=False)


@case(1, alone=True)
def repository_hooks(r):
    """all hooks in the repository's own folder"""
    with r.attempt("write hooks", excuse="repo/.git/hooks"):
        for git in r.gits:
            r.hooks(os.path.join(git, "hooks"))
    r.work()


@case(1, alone=True)
def repository_hooks_by_config(r):
    """the repository's configuration names a folder of hooks relative to where git runs"""
    r.hooks(os.path.join(r.w, "hooks-of-mine"))
    with r.attempt("write the configuration", excuse="repo/.git/config"):
        repository_config(r, "[core]\n\thooksPath = hooks-of-mine\n")
    r.work()


@case(2, alone=True)
def repository_config_other_folder(r):
    """the repository's configuration says that the files are in a folder of the user's"""
    with r.attempt("write the configuration", excuse="repo/.git/config"):
        repository_config(r, f"[core]\n\tworktree = {r.victim}.d\n")
    r.work()


@case(1, alone=True)
def users_config_programs(r):
    """the user's own ~/.gitconfig names programs, where the home is not private"""
    home = os.path.join(r.site, "home", ".gitconfig")
    with r.attempt("write the user's configuration", excuse="home/.gitconfig"):
        r.append(home, r.programs() + f"[core]\n\tattributesFile = {r.w}/{r.name}/attributes\n")
    r.put(f"{r.name}/attributes", "* filter=x diff=x merge=x\n")
    dirty(r)


# What is allowed has to work

def stored(site, name, path):
    return site.judge.git("show", f"main:{name}/{path}", raw=True, check=False)


def not_stored(**files):
    """Which files are not on main as they should be: they begin with these bytes there."""
    def ask(site, name, how):
        found = {path: stored(site, name, path.replace("_", ".", 1).replace("_", "-")) for path in files}
        return [f"{path} was stored as {found[path][:20]!r} ({how})" for path, want in files.items() if not found[path].startswith(want)]
    return ask


@case(1, judge=not_stored(a_by_user=b"stored: "))
def the_users_filter_works(r):
    """the user's filter stores what the base's attributes name"""
    r.work(f"{r.name}/a.by-user", before="plain: ")


@case(1, judge=not_stored(a_lf=b"a\nb\n", a_crlf=b"a\nb\n", a_utf16=b"a\nb\n"))
def conversions_work(r):
    """git's own conversions of line ends and encodings, as the base's attributes say"""
    r.work(f"{r.name}/a.lf", before="a\r\nb\r\n")
    r.work(f"{r.name}/a.crlf", before="a\r\nb\r\n")
    r.put(f"{r.name}/a.utf16", f"a\nb\n{r.token()}\n".encode("utf-16-le"))


def submodule_gone(site, name, how):
    del name
    return [] if site.judge.git("ls-tree", "main", "base-sub").startswith("160000 commit") else [f"the base's submodule is gone ({how})"]


@case(1, judge=submodule_gone, alone=True)
def the_bases_submodule_stays(r):
    """the base's submodule, not checked out, stays as it is"""
    r.work()
