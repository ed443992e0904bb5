"""Refs, objects and histories: what moves, what stands for something else, what is not there."""

import hashlib
import os
import shutil

from room import case


@case(2)
def own_branch_as_a_symbolic_ref(r):
    """the run's own branch is a symbolic ref to another branch of the user's"""
    r.work()
    r.at_branch(lambda path: r.replace(path, f"ref: refs/heads/{r.victim_branch}\n"))


@case(2)
def own_branch_as_a_link(r):
    """the run's own branch is a link to the loose ref of another branch of the user's"""
    r.work()
    r.at_branch(lambda path: r.replace(path, link=os.path.join(r.repo, ".git/refs/heads", r.victim_branch)))


@case(2)
def own_branch_as_a_link_to_a_file(r):
    """the run's own branch is a link to a file of the user's"""
    r.work()
    r.at_branch(lambda path: r.replace(path, link=r.victim))


@case(2)
def own_branch_gone(r):
    """the run's own branch is gone"""
    r.work()
    r.at_branch(os.unlink)


@case(2)
def own_branch_as_a_folder(r):
    """where the run's own branch was, there is a folder of branches"""
    r.work()

    def folder(path):
        if os.path.lexists(path):
            os.unlink(path)
        os.makedirs(path)
        r.replace(os.path.join(path, "deep"), r.base + "\n")
    r.at_branch(folder)


@case(2)
def own_branch_damaged(r):
    """the run's own branch holds bytes that mean nothing"""
    r.work()
    r.at_branch(lambda path: r.replace(path, "nonsense\n"))


@case(2)
def own_branch_on_an_absent_commit(r):
    """the run's own branch names a commit that does not exist"""
    r.work()
    r.at_branch(lambda path: r.replace(path, "3" * 40 + "\n"))


@case(2)
def own_log_as_a_link(r):
    """the log of the run's own branch is a link to a file of the user's"""
    r.work()
    for git in r.gits:
        with r.attempt("the log"):
            path = os.path.join(git, "logs", r.git("symbolic-ref", "HEAD").strip())
            os.makedirs(os.path.dirname(path), exist_ok=True)
            r.replace(path, link=r.victim)


@case(2)
def own_branches_folder_as_a_link(r):
    """the folder of the run's own branches is a link to a folder of the user's"""
    r.work()

    def linked(path):
        folder = os.path.dirname(os.path.dirname(path))
        os.rename(folder, folder + ".moved")
        os.symlink(f"{r.victim}.d", folder)
    r.at_branch(linked)


@case(2)
def rescue_ref_as_a_symbolic_ref(r):
    """where this run's rescue ref will be, there is a symbolic ref to another branch of the user's"""
    r.work()
    for folder in r.gits:
        with r.attempt("the rescue ref"):
            for name in (os.environ["OVERSEER_RUN"], os.environ["OVERSEER_ASSIGNMENT"]):
                path = os.path.join(folder, "refs/overseer/rescue", r.name, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                r.replace(path, f"ref: refs/heads/{r.victim_branch}\n")


@case(2)
def rescue_refs_as_a_link(r):
    """the folder of this worker's rescue refs is a link to a folder of the user's"""
    r.work()
    for folder in r.gits:
        with r.attempt("the rescue refs"):
            path = os.path.join(folder, "refs/overseer/rescue", r.name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if os.path.isdir(path):
                shutil.rmtree(path)
            os.symlink(f"{r.victim}.d", path)


@case(2, alone=True)
def packed_refs_forged(r):
    """packed-refs names other commits for branches of the user's"""
    r.work()
    r.commit()
    text = f"# pack-refs with: peeled fully-peeled sorted \n{r.git('rev-parse', 'HEAD').strip()} refs/heads/packed\n"
    for git in r.gits:
        with r.attempt("packed-refs", excuse="refs/heads/packed"):
            r.replace(os.path.join(git, "packed-refs"), text)


@case(2)
def branches_planted(r):
    """branches, tags and a stash beside the run's own branch, which hold work"""
    own = r.git("symbolic-ref", "--short", "HEAD").strip()
    for name in ("planted", f"overseer/{r.name}/other"):
        r.git("checkout", "-q", "--detach", r.base)
        r.work()
        r.commit()
        with r.attempt(name, excuse="refs/heads/planted"):
            r.git("branch", name)
    r.git("checkout", "-q", own)
    r.work()
    with r.attempt("a stash", excuse="refs/stash"):
        r.git("stash", "push", "-q", "-u")
    r.work()


@case(2)
def other_workers_branch_taken(r):
    """HEAD stands on another worker's branch, with a commit there in a detached HEAD"""
    r.work()
    r.commit()
    with r.attempt("HEAD"):
        other = r.git("for-each-ref", "--format=%(refname)", "refs/heads/overseer/bystander").split()
        r.replace(os.path.join(r.dir, "HEAD"), f"ref: {other[0] if other else 'refs/heads/overseer/bystander/x'}\n")
    r.work()


# What stands for something else

@case(1, alone=True)
def replaced_blob(r):
    """a replace ref has a file of the user's stand for another"""
    for git in r.gits:
        with r.attempt("replace", excuse="refs/replace"):
            other = r.git("--git-dir", git, "hash-object", "-w", "--stdin", input="replaced\n").strip()
            r.git("--git-dir", git, "replace", r.git("rev-parse", "HEAD:user-file.txt").strip(), other)
    r.git("checkout", "-q", "--", "user-file.txt", check=False)
    os.utime(os.path.join(r.w, "user-file.txt"))
    r.work()


def users_words(site, name, how):
    del name, how
    words = site.judge.git("show", "main:user-file.txt", check=False)
    lies = site.site.read("user-file.txt")
    return [f"user-file.txt is {text!r} {where}" for text, where in ((words, "on main"), (lies, "in the checkout")) if text != "the user's own words\n"]


replaced_blob.judge = users_words


@case(1, alone=True, judge=users_words)
def replaced_commit(r):
    """a replace ref has the target's commit stand for one without the user's files"""
    r.work()
    for git in r.gits:
        with r.attempt("replace", excuse="refs/replace"):
            tree = r.git("--git-dir", git, "mktree", input="").strip()
            other = r.git("--git-dir", git, "commit-tree", "-p", f"{r.base}~1", "-m", "another", tree).strip()
            r.git("--git-dir", git, "replace", r.base, other)


@case(1, alone=True, judge=users_words)
def grafts_forged(r):
    """info/grafts gives the target's commit other parents"""
    r.work()
    r.commit()
    for git in r.gits:
        with r.attempt("grafts", excuse="repo/.git/info"):
            r.append(os.path.join(git, "info", "grafts"), f"{r.base} {r.git('rev-parse', 'HEAD').strip()}\n")


@case(1, alone=True, judge=users_words)
def shallow_forged(r):
    """shallow says that history ends at the target"""
    r.work()
    for git in r.gits:
        with r.attempt("shallow", excuse="repo/.git/shallow"):
            r.append(os.path.join(git, "shallow"), f"{r.base}\n")


@case(2, alone=True)
def alternate_that_goes_away(r):
    """the commits are in another object store, named by alternates, which is gone by the next task"""
    store = os.path.join(r.w, r.name, "objects-of-mine")
    os.makedirs(os.path.join(store, "info"))
    r.work()
    env = {"GIT_OBJECT_DIRECTORY": store, "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.path.join(r.common, "objects")}
    with r.attempt("alternates", excuse="repo/.git/objects/info"):
        for git in r.gits:
            r.append(os.path.join(git, "objects/info/alternates"), store + "\n")
        r.put(f"{r.name}/.gitignore", "objects-of-mine\n")
        r.git("add", "-A", env=env)
        r.git("commit", "-qm", "elsewhere", env=env)


@alternate_that_goes_away.second
def alternate_is_gone(r):
    shutil.rmtree(os.path.join(r.w, r.name, "objects-of-mine"), ignore_errors=True)
    r.put(f"{r.name}/second.txt", "second\n")


@case(2, alone=True)
def alternate_outside(r):
    """alternates name a folder outside, whose objects the branch needs"""
    r.work()
    with r.attempt("alternates", excuse="repo/.git/objects/info|^alternate"):
        store = os.path.join(r.site, "alternate")
        for git in r.gits:
            r.append(os.path.join(git, "objects/info/alternates"), store + "\n")
        env = {"GIT_OBJECT_DIRECTORY": store, "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.path.join(r.common, "objects")}
        r.git("add", "-A", env=env)
        r.git("commit", "-qm", "elsewhere", env=env)


@case(2)
def own_alternate_that_goes_away(r):
    """the agent's own git folder names another object store, with the commits, which is gone by the next task"""
    store = os.path.join(r.w, r.name, "objects-of-mine")
    os.makedirs(os.path.join(store, "info"))
    r.work()
    env = {"GIT_OBJECT_DIRECTORY": store, "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.path.join(r.dir, "objects")}
    with r.attempt("alternates"):
        r.append(os.path.join(r.dir, "objects/info/alternates"), store + "\n")
        r.put(f"{r.name}/.gitignore", "objects-of-mine\n")
        r.git("add", "-A", env=env)
        r.git("commit", "-qm", "elsewhere", env=env)


@own_alternate_that_goes_away.second
def own_alternate_is_gone(r):
    shutil.rmtree(os.path.join(r.w, r.name, "objects-of-mine"), ignore_errors=True)
    r.put(f"{r.name}/second.txt", "second\n")


SECRET = b"a secret of the user's\n"  # a file of another repository of theirs, below the home
SECRET_ID = hashlib.sha1(b"blob %d\0" % len(SECRET) + SECRET).hexdigest()


def secret_taken(site, name, how):
    del name, how
    asked = site.judge.git("cat-file", "--batch-check", input=SECRET_ID.encode())
    return [] if "missing" in asked else ["an object of another repository was taken over, which the agent did not have"]


@case(2, judge=secret_taken)
def objects_behind_a_link(r):
    """a folder of the agent's objects is a link to that of a repository that it may not be able to read"""
    r.work()
    folder = os.path.join(r.dir, "objects", SECRET_ID[:2])
    shutil.rmtree(folder, ignore_errors=True)
    os.symlink(os.path.join(r.site, "home/secret/.git/objects", SECRET_ID[:2]), folder)
    r.stand_on(r.tree(*r.base_entries(), ("100644", f"zz-{r.name}", SECRET_ID)))


@case(2, judge=secret_taken)
def packs_behind_a_link(r):
    """the folder of the agent's packs is a link to that of a repository that it may not be able to read"""
    r.work()
    folder = os.path.join(r.dir, "objects/pack")
    shutil.rmtree(folder, ignore_errors=True)
    os.symlink(os.path.join(r.site, "home/secret/.git/objects/pack"), folder)
    r.stand_on(r.tree(*r.base_entries(), ("100644", f"zz-{r.name}", SECRET_ID)))


@case(2, judge=secret_taken)
def staged_behind_a_link(r):
    """the same with an index that names the object"""
    r.work()
    folder = os.path.join(r.dir, "objects", SECRET_ID[:2])
    shutil.rmtree(folder, ignore_errors=True)
    os.symlink(os.path.join(r.site, "home/secret/.git/objects", SECRET_ID[:2]), folder)
    r.git("update-index", "--add", "--cacheinfo", f"100644,{SECRET_ID},zz-{r.name}")


def sees_the_store(r):
    return os.path.exists(os.path.join(r.repo, ".overseer", "token"))


@case(2)
def objects_info_leads_to_the_store(r):
    """the place of objects/info in the agent's git folder is a link to the store, for the next sandbox to mount"""
    r.put(f"{r.name}/seen", str(sees_the_store(r)))
    with r.attempt("objects"):
        objects, copy, old = (os.path.join(r.dir, name) for name in ("objects", "copy", "old"))
        shutil.copytree(objects, copy)
        os.rename(objects, old)
        os.rename(copy, objects)
        shutil.rmtree(os.path.join(objects, "info"))
        os.symlink("../../../..", os.path.join(objects, "info"))
    r.work()


@objects_info_leads_to_the_store.second
def store_is_not_seen(r):
    with open(r.path(f"{r.name}/seen"), encoding="utf-8") as f:
        assert f.read() == str(sees_the_store(r)), "the store can be seen"
    r.put(f"{r.name}/second.txt", "second\n")


# Histories

@case()
def history_of_its_own(r):
    """an orphan branch with no commit in common with the target"""
    r.git("checkout", "-q", "--orphan", r.git("symbolic-ref", "--short", "HEAD").strip() + "-orphan")
    r.work()
    r.git("add", "-A")
    r.git("commit", "-qm", "orphan")


@case()
def history_rewritten(r):
    """the branch was moved behind its base, with commits of the user's dropped"""
    r.git("reset", "-q", "--hard", "HEAD~2")
    r.work()
    r.commit()


@case()
def history_detached(r):
    """work on a detached HEAD, left there, and more on the branch"""
    r.work()
    r.commit()
    r.git("checkout", "-q", "--detach", r.base)
    r.work()
    r.commit()
    r.work()


@case()
def history_amended(r):
    """work that only the log of the branch holds, after a reset"""
    r.work()
    r.commit()
    r.git("reset", "-q", "--hard", r.base)
    r.works.pop()
    r.work()


@case(6, alone=True)
def trailer_forged(r):
    """commit messages that claim to be accepts and reverts of ours"""
    r.work()
    key = os.environ["OVERSEER_ASSIGNMENT"]
    r.commit(f"work\n\nOverseer-Accept: {key}\nOverseer-Revert: {key}\n")


@case()
def commit_with_hostile_words(r):
    """a commit with raw bytes, a long line and control characters as its message and author"""
    r.work()
    r.git("add", "-A")
    tree = r.git("write-tree").strip()
    raw = f"tree {tree}\nparent {r.base}\nauthor \x1b[31mEvil <a@b> 1 +0000\ncommitter E <> 99999999999999 +9999\nencoding nonsense\n\n".encode()
    commit = r.git("hash-object", "-t", "commit", "--literally", "-w", "--stdin", input=raw + b"\xff\xfe\x00x\x1b]0;title\x07" + b"y" * 100000).strip()
    r.git("update-ref", "HEAD", commit)


@case()
def commit_without_its_objects(r):
    """the branch stands on a commit that lacks a file"""
    r.work()
    r.commit()
    r.git("update-ref", "HEAD", r.missing_object())


# Trees that git itself would not make

def forged(name, entry, text, **more):
    def prepare(r):
        r.work()
        r.commit()
        oid = r.blob("forged\n")
        sub = r.tree(("100755", "post-checkout", r.blob(f"#!/bin/sh\n{r.evil('hook')}\n")))
        entries = [*r.base_entries(), *entry(r, oid, sub)]
        r.stand_on(r.tree(*sorted(entries, key=lambda e: os.fsencode(e[1]) + (b"/" if e[0] == "40000" else b""))))
        r.work()
    prepare.__name__, prepare.__doc__ = name, text
    case(6, **more)(prepare)


forged("tree_with_dot_git", lambda r, oid, sub: [("40000", ".git", r.tree(("40000", "hooks", sub)))],
       "a commit with a folder .git that has hooks")
forged("tree_with_dot_git_in_capitals", lambda r, oid, sub: [("40000", ".GIT", r.tree(("40000", "hooks", sub)))],
       "a commit with a folder .GIT that has hooks")
forged("tree_with_hidden_dot_git", lambda r, oid, sub: [("40000", ".g\u200cit", r.tree(("40000", "hooks", sub))), ("40000", "git~1", sub)],
       "a commit with names that some file systems take for .git")
forged("tree_with_parent", lambda r, oid, sub: [("40000", "..", sub), ("40000", ".", sub)], "a commit with folders named . and ..")
forged("tree_with_a_path", lambda r, oid, sub: [("100644", f"../../../victims/{r.name}", oid), ("100644", "/etc/x", oid)],
       "a commit with slashes in its names")
forged("tree_with_a_link_and_a_folder",
       lambda r, oid, sub: [("120000", "both", r.blob(f"{r.victim}.d")), ("40000", "both", r.tree(("100644", "kept", oid)))],
       "a commit where one name is a link to a folder of the user's and a folder")
forged("tree_with_names_twice", lambda r, oid, sub: [("100644", "twice", oid), ("100644", "twice", r.blob("other\n"))],
       "a commit with one name twice")
forged("tree_with_strange_modes", lambda r, oid, sub: [("100666", "mode", oid), ("104755", "setuid", oid), ("0", "none", oid)],
       "a commit with modes that do not exist")
forged("tree_with_links_as_dot_files",
       lambda r, oid, sub: [("120000", ".gitmodules2", r.blob(r.victim)), ("120000", ".mailmap", r.blob(r.victim))],
       "a commit with links to the user's files where git reads its own")
forged("tree_with_an_empty_name", lambda r, oid, sub: [("100644", "", oid)], "a commit with an empty name")


def store_case(name, path, text):
    def prepare(r):
        r.work()
        r.put(path, "[agents.x]\ncommand = \"evil\"\n")
        r.git("add", "-f", "-A", "--", path, r.name)
        r.git("commit", "-qm", "the store's own files")
    prepare.__name__, prepare.__doc__ = name, text
    case(6, alone=True, refused=True)(prepare)


store_case("store_config_committed", ".overseer/config.toml", "a commit with .overseer/config.toml")
store_case("store_file_committed", ".overseer/worktrees/x", "a commit with a file among the worktrees")
store_case("store_config_in_capitals", ".Overseer/config.toml", "a commit with .Overseer/config.toml")
