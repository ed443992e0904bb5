"""Repositories inside the worktree that the base does not have, and links to them: refused, kept, never entered."""

import os

from room import case


def links_on_the_target(site, name):
    return [f"main has a link at {line}" for line in site.judge.git("ls-tree", "-r", "main", f"{name}/").splitlines() if line.startswith("160000")]


def rescued(*names):
    """These files of an embedded repository are under a rescue ref, and the target has no link."""
    def judge(site, name, how):
        del how
        refs = site.judge.git("for-each-ref", "--format=%(refname)", f"refs/overseer/rescue/{name}").split()
        trees = [site.judge.git("log", "--format=%H", ref, "--not", "main").split() for ref in refs]
        found = {path for tree in trees for commit in tree for path in site.judge.git("ls-tree", "-r", "-z", "--name-only", commit).split("\0")}
        return [f"{path} is under no rescue ref" for path in names if f"{name}/{path}" not in found] + links_on_the_target(site, name)
    return judge


@case(1, refused=True, judge=rescued("repo/inner.txt"))
def link_hidden_by_gitmodules(r):
    """a committed link to an embedded repository that .gitmodules has git ignore"""
    r.put(".gitmodules", r.git("show", "HEAD:.gitmodules") + f'[submodule "x"]\n\tpath = {r.name}/repo\n\turl = ../x\n\tignore = all\n')
    r.embedded("repo", r.programs())
    r.work()
    r.git("add", "-A", ":(exclude)*/repo")
    r.gitlink(f"{r.name}/repo")
    r.git("commit", "-qm", "hidden")


@case(1, refused=True, judge=rescued("folder/work.txt"))
def link_over_committed_files(r):
    """a committed link at a folder of ordinary files, which git then does not look into"""
    r.work(f"{r.name}/folder/work.txt")
    r.gitlink(f"{r.name}/folder", "1" * 40)
    r.git("commit", "-qm", "link over files")


@case(1, fails=True, judge=rescued("repo/inner.txt"))
def embedded_then_failed(r):
    """an embedded repository in a failed task, not added: the next task begins without it"""
    r.embedded("repo", r.programs())


@embedded_then_failed.second
def embedded_then_failed_second(r):
    if os.path.lexists(os.path.join(r.w, r.name, "repo")):
        raise RuntimeError("the embedded repository of the task before is there")
    r.work()


def file_of_its_name(site, name):
    site.site.write(f"{name}/repo", "a file of the user's\n")
    site.site.git("add", f"{name}/repo")
    site.site.git("commit", "-qm", "a file where a repository is", "--", f"{name}/repo")
    site.judge.users.add(site.site.git("rev-parse", "main").strip())


@case(1, fails=True, between=file_of_its_name)
def embedded_where_a_file_comes(r):
    """an embedded repository where the next task's base has a file: git would remove the repository"""
    r.embedded("repo", r.programs())
    r.work(f"{r.name}/repo/.git/only-here.txt")


@case(1, judge=lambda site, name, how: [] if how == "done" else [f"it is {how}: the work itself is good"])
def embedded_where_a_file_was(r):
    """an embedded repository in the place of a file of the base"""
    os.unlink(os.path.join(r.w, r.own, "1"))
    r.embedded("repo", r.programs())
    os.rename(os.path.join(r.w, r.name, "repo"), os.path.join(r.w, r.own, "1"))
    r.work()


@case(1)
def embedded_and_large(r):
    """an embedded repository with more than a rescue ref should hold"""
    folder = r.embedded("repo", r.programs())
    with open(os.path.join(folder, "large"), "wb") as f:
        f.truncate(70 << 20)
    r.work()


def add_worktree(r):
    """Two commits in a worktree of the agent's own, named by nothing but its entry in the git folder."""
    at = os.path.join(r.w, r.name, "wt")
    r.git("worktree", "add", "-q", "--detach", at, "HEAD")
    for _ in range(2):
        r.work(f"{r.name}/wt/f")
        r.git("add", "f", at=at)
        r.git("commit", "-qm", "in another worktree", at=at)
    r.work(f"{r.name}/wt/loose")


@case(1, judge=rescued("wt/f", "wt/loose"))
def linked_worktree(r):
    """commits in a worktree that the agent added to its own repository, inside of the one that it was given"""
    add_worktree(r)
    r.work()


@case(1, fails=True, judge=rescued("wt/f", "wt/loose"))
def linked_worktree_failed(r):
    """the same in a failed task"""
    add_worktree(r)


@case(1, judge=rescued("repo/inner.txt", "repo/more/link"))
def embedded_with_odd_files(r):
    """an embedded repository with links to the user's files, pipes, names like .git, newlines and closed folders"""
    folder = r.embedded("repo", r.programs())
    r.link(r.victim, f"{r.name}/repo/more/link")
    r.link(f"{r.victim}.d", f"{r.name}/repo/folder-link")
    os.mkfifo(os.path.join(folder, "pipe"))
    for name in (".GIT/config", "GIT~1/config", ".git /config", "a\nb/\"c\\", "sp ace/d"):
        r.work(f"{r.name}/repo/{name}")
    r.work(f"{r.name}/repo/closed/work.txt")
    os.chmod(os.path.join(folder, "closed"), 0)


@case(1)
def embedded_as_a_link_elsewhere(r):
    """a folder whose .git is a link to the user's own git folder, not added"""
    r.work(f"{r.name}/repo/work.txt")
    r.link(os.path.join(r.repo, ".git"), f"{r.name}/repo/.git")


@case(1)
def embedded_names_the_own_folder(r):
    """a folder whose .git file names the worktree's own git folder, and one that names the user's"""
    r.work(f"{r.name}/own/work.txt")
    r.put(f"{r.name}/own/.git", f"gitdir: {r.dir}\n")
    r.work(f"{r.name}/users/work.txt")
    r.put(f"{r.name}/users/.git", f"gitdir: {r.repo}/.git\n")


@case(1, alone=True)
def base_submodule_with_files(r):
    """files in the folder of the base's submodule, which is not set up: git does not see them"""
    r.work("base-sub/notes.txt")
    r.work()


def file_where_a_folder_is(site, name):
    site.site.write(f"{name}/folder", "a file of the user's\n")
    site.site.git("add", f"{name}/folder")
    site.site.git("commit", "-qm", "a file where a folder is", "--", f"{name}/folder")
    site.judge.users.add(site.site.git("rev-parse", "main").strip())


@case(3, fails=True, between=file_where_a_folder_is)
def ignored_where_a_file_comes(r):
    """files that the base ignores, in a folder where the next task's base has a file"""
    r.work(f"{r.name}/folder/a.base-ignored")
    r.work(f"{r.name}/folder/deep/b.base-ignored")
    r.work(f"{r.name}/folder/new.txt")
