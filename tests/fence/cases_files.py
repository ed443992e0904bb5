"""Files: ignored ones, links, names, modes, sizes, numbers, and what is no file at all."""

import os
import shutil
import socket
import stat
import subprocess
import unicodedata

from room import case


@case()
def plain_work(r):
    """committed and uncommitted files, nothing else"""
    r.work()
    r.commit()
    r.work()


@case(fails=True)
def plain_work_of_a_failed_task(r):
    """committed, staged and uncommitted files of a failed task"""
    r.work()
    r.commit()
    r.work()
    r.git("add", "-A")
    r.work()


@case(stays=True)
def plain_work_while_it_runs(r):
    """a run that is stopped while it lives"""
    r.work()
    r.commit()
    r.work()


# Ignored files

@case(3, fails=True)
def ignored_by_its_own_rule(r):
    """a failed task leaves .gitignore and ignored files; the next task takes the worktree"""
    r.put(".gitignore", "*.base-ignored\n*.secret\n")
    r.work(f"{r.name}/a.secret")


@case(3, fails=True)
def ignored_by_a_rule_below(r):
    """the same with .gitignore in a folder that ignores itself"""
    r.put(f"{r.name}/.gitignore", "*\n")
    r.work()


@case(3, fails=True)
def ignored_by_a_committed_rule(r):
    """the same with .gitignore in a commit of the failed task"""
    r.put(f"{r.name}/.gitignore", "build/\n")
    r.work()
    r.commit()
    r.work(f"{r.name}/build/result.txt")


@case(3, large=True, fails=True)
def ignored_and_large(r):
    """ignored files of a failed task that are too large to be rescued as a matter of course"""
    r.put(f"{r.name}/.gitignore", "*.bin\n")
    path = r.work(f"{r.name}/large.bin")
    with open(path, "ab") as f:
        for i in range(8 if not r.sized else 128):
            f.write(os.urandom(1 << 20) if i < 4 else bytes(1 << 20))


@case(3, fails=True)
def ignored_many(r):
    """a folder of many ignored files of a failed task"""
    r.put(f"{r.name}/.gitignore", "modules/\n")
    for i in range(300):
        r.put(f"{r.name}/modules/{i % 20}/{i}.js", f"{i}\n")
    r.work(f"{r.name}/modules/patched.js")


@case(3, fails=True)
def ignored_repository(r):
    """an ignored repository with work of a failed task"""
    r.put(f"{r.name}/.gitignore", "repo/\n")
    r.embedded("repo", r.programs())


@case(3, fails=True, alone=True)
def ignored_by_the_repositorys_rule(r):
    """rules in info/exclude that the agent wrote hide its work"""
    with r.attempt("info/exclude", excuse="repo/.git/info"):
        for git in r.gits:
            r.append(os.path.join(git, "info", "exclude"), "*.hidden\n")
    r.work(f"{r.name}/a.hidden")


def users_file(site, name):
    """The user commits a file in the place of one that the base's rules ignore."""
    path = os.path.join(site.site.repo, name, "build.base-ignored")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write("the user's\n")
    site.site.git("add", "-f", path)
    site.site.git("commit", "-qm", "by the user", "--", path)
    site.judge.users.add(site.site.git("rev-parse", "main").strip())


@case(3, alone=True, fails=True, between=users_file)
def ignored_in_the_way(r):
    """an ignored file where the next base has a file of the user's"""
    r.work(f"{r.name}/build.base-ignored")


@case(3)
def ignored_by_the_base(r):
    """what the base's rules ignore stays in place for the next task"""
    r.put(f"{r.name}/cache.base-ignored", "cache\n")
    r.work()


@ignored_by_the_base.second
def cache_is_there(r):
    if not os.path.exists(os.path.join(r.w, r.name, "cache.base-ignored")):
        raise RuntimeError("what the base ignores is gone")
    r.put(f"{r.name}/second.txt", "second\n")


# Links

@case()
def link_loop(r):
    """links that lead to each other and to themselves"""
    r.link("b", f"{r.name}/a")
    r.link("a", f"{r.name}/b")
    r.link(".", f"{r.name}/self")
    r.link("..", f"{r.name}/up")
    r.work()


@case()
def link_to_the_users_folder(r):
    """links to a folder of the user's, to /, to the store and to its token"""
    for name, target in (("victim", f"{r.victim}.d"), ("root", "/"), ("store", f"{r.repo}/.overseer"), ("token", f"{r.repo}/.overseer/token")):
        r.link(target, f"{r.name}/{name}")
    r.work()


@case()
def link_in_place_of_a_folder(r):
    """a folder of the base is a link to a folder of the user's that has files of the same names"""
    shutil.rmtree(os.path.join(r.w, r.own))
    r.link(f"{r.victim}.d", r.own)
    r.work()
    r.git("add", "-A")
    r.git("commit", "-qm", "a link", "--", r.name)


@case(fails=True)
def link_for_a_folder_then_failed(r):
    """the same in a failed task: the next task checks the folder out again"""
    os.makedirs(os.path.join(r.w, r.name))
    shutil.rmtree(os.path.join(r.w, "d"))
    r.link(f"{r.victim}.d", "d")
    r.link(r.victim, "README")
    r.work()


@case()
def link_with_a_long_target(r):
    """a link whose target is as long as it can be and holds work"""
    r.link((r.token() + "x" * 4000)[:4095], f"{r.name}/long")
    r.work()


@case(fails=True)
def link_in_place_of_gitmodules(r):
    """.gitmodules, .gitignore and .gitattributes of the base are links to a file of the user's"""
    for name in (".gitmodules", ".gitignore", ".gitattributes"):
        r.link(r.victim, name)
    r.work()


# Names

@case()
def names_with_newlines(r):
    """names with newlines, control characters, quotes, spaces and bytes that are no text"""
    for name in (b"new\nline", b"\nREADME", b"tab\there", b"quote\"'`$(x)", b" space ", b"\xff\xfe\xfd", b"\x1b[31m", b"back\\slash",
                 b"\x7f"):
        r.work(os.fsencode(r.name) + b"/" + name)


@case()
def names_that_are_options(r):
    """names that look like options and like magic of git's"""
    for name in ("-rf", "--all", "--", ":(top)x", ":!x", "*", "?", "[a]", "!x", "#x", "@", "HEAD", "~", "$HOME"):
        r.work(f"{r.name}/{name}")
    r.put(f"{r.name}/--help/--exec=x", "x\n")


@case()
def names_that_collide(r):
    """names that differ in case, in normalisation or in what is not seen"""
    for name in ("File", "file", "FILE", unicodedata.normalize("NFC", "é"), unicodedata.normalize("NFD", "é"), "ﬁ", "fi", "a\u200b",
                 "a", "ß", "ss"):
        r.work(f"{r.name}/{name}")


@case()
def names_like_dot_git(r):
    """names that some file systems take for .git, with work in them"""
    for name in (".git ", ".git.", ".GIT", "git~1", ".g\u200cit", ".git\u200b", ".git::$INDEX_ALLOCATION", "CON", "nul.txt"):
        with r.attempt(name):
            r.work(f"{r.name}/{name}/x" if name == ".GIT" else f"{r.name}/{name}")


@case()
def names_that_are_long(r):
    """names of 255 bytes, and a path that is longer than a path can be"""
    r.work(f"{r.name}/{'n' * 255}")
    here = os.open(os.path.join(r.w, r.name), os.O_RDONLY)
    for _ in range(10):
        os.mkdir("d" * 200, dir_fd=here)
        there = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = there
    with os.fdopen(os.open("deep", os.O_WRONLY | os.O_CREAT, dir_fd=here), "w") as f:
        f.write(r.token() + "\n")


@case()
def names_that_are_too_long(r):
    """a path that is longer than the system allows, made step by step"""
    os.makedirs(os.path.join(r.w, r.name))
    here = os.open(os.path.join(r.w, r.name), os.O_RDONLY)
    for _ in range(30):
        os.mkdir("d" * 200, dir_fd=here)
        there = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = there
    os.close(here)
    r.work()


@case()
def names_of_the_stores(r):
    """folders named as ours are: aside, rescue, worktrees"""
    for name in ("work.aside-1/x", "overseer-rescue-1", "worktrees/x", "refs/overseer/rescue/x", ".aside-1"):
        r.work(f"{r.name}/{name}")
    with r.attempt("a folder beside the worktree"):
        os.makedirs(r.w + ".aside-1", exist_ok=True)


# Modes and kinds

@case()
def modes_closed(r):
    """files and folders that may not be read or entered"""
    r.work(f"{r.name}/closed.txt", mode=0)
    r.work(f"{r.name}/folder/inside.txt")
    os.chmod(os.path.join(r.w, r.name, "folder"), 0)


@case(fails=True)
def modes_closed_failed(r):
    """the same in a failed task, with the base's own files and folders closed, too"""
    r.work(f"{r.name}/folder/inside.txt", mode=0)
    os.chmod(os.path.join(r.w, r.name, "folder"), 0o100)
    os.chmod(os.path.join(r.w, "README"), 0)
    os.chmod(os.path.join(r.w, "d"), 0o500)


def close_folders(r):
    """Git passes over these with a warning, and nothing else is closed that would tell."""
    for name, mode in (("a", 0), ("b", 0o300), ("c", 0o400), ("d/e", 0)):
        r.work(f"{r.name}/{name}/inside.txt")
        os.chmod(os.path.join(r.w, r.name, name), mode)
    os.chmod(os.path.join(r.w, r.name, "d"), 0)
    r.work(f"{r.own}/new.txt")
    os.chmod(os.path.join(r.w, r.own), 0)


@case()
def modes_closed_folder(r):
    """folders, one of the base's too, that may not be read or searched, beside files that may"""
    r.work()
    close_folders(r)


@case(fails=True)
def modes_closed_folder_failed(r):
    """the same in a failed task"""
    r.work()
    close_folders(r)


def mode_lost(site, name, how):
    return [] if site.judge.git("ls-tree", "main", f"{name}/run").startswith("100755") else [f"the program lost its mode ({how})"]


@case(judge=mode_lost)
def modes_of_programs(r):
    """programs, setuid and sticky bits, a program of the base that no longer is one"""
    r.work(f"{r.name}/run", mode=0o755)
    r.work(f"{r.name}/setuid", mode=0o4755)
    r.work(f"{r.name}/world", mode=0o666)
    os.chmod(os.path.join(r.w, r.name), 0o1777)


@case()
def fifo_and_socket(r):
    """FIFOs and sockets beside work, also where the base has a file"""
    r.work()
    os.mkfifo(os.path.join(r.w, r.name, "fifo"))
    os.unlink(os.path.join(r.w, r.own, "2"))
    os.mkfifo(os.path.join(r.w, r.own, "2"))
    with socket.socket(socket.AF_UNIX) as s, r.attempt("socket"):
        os.chdir(os.path.join(r.w, r.name))
        s.bind("socket")


@case(fails=True, alone=True)
def fifo_as_dot_files(r):
    """.gitattributes, .gitignore and .gitmodules are FIFOs that git would wait for"""
    r.work()
    for name in (".gitattributes", ".gitignore", ".gitmodules", f"{r.name}/.gitignore", f"{r.name}/.gitattributes"):
        path = os.path.join(r.w, name)
        if os.path.lexists(path):
            os.unlink(path)
        os.mkfifo(path)


@case(root=True)
def devices(r):
    """devices beside work, also where the base has a file"""
    r.work()
    with r.attempt("mknod"):
        os.mknod(os.path.join(r.w, r.name, "zero"), stat.S_IFCHR | 0o666, os.makedev(1, 5))
        os.unlink(os.path.join(r.w, r.own, "3"))
        os.mknod(os.path.join(r.w, r.own, "3"), stat.S_IFCHR | 0o666, os.makedev(1, 5))
        os.mknod(os.path.join(r.w, r.name, "disk"), stat.S_IFBLK | 0o600, os.makedev(7, 200))


@case()
def hard_link_to_the_users_file(r):
    """hard links to files of the user's, in place of the base's files, too"""
    os.makedirs(os.path.join(r.w, r.name))
    with r.attempt("hard links"):
        os.link(r.victim, os.path.join(r.w, r.name, "linked"))
        os.unlink(os.path.join(r.w, r.own, "3"))
        os.link(r.victim, os.path.join(r.w, r.own, "3"))
    r.work()


@case(fails=True)
def hard_link_to_a_closed_file(r):
    """a hard link to a file of the user's that may not be read: opening it would change the user's"""
    os.makedirs(os.path.join(r.w, r.name))
    with r.attempt("hard links"):
        os.link(r.victim + ".closed", os.path.join(r.w, r.name, "linked"))
    r.work()
    r.work(f"{r.name}/folder/closed.txt", mode=0)


@case()
def hard_link_to_the_store(r):
    """hard links to the store's configuration, database and token"""
    os.makedirs(os.path.join(r.w, r.name))
    for name in ("config.toml", "token", "store.db"):
        with r.attempt(name):
            os.link(os.path.join(r.repo, ".overseer", name), os.path.join(r.w, r.name, name))
    r.put(f"{r.name}/.gitignore", "token\nstore.db\n")
    r.work()


@case(fails=True)
def hard_link_into_the_git_folder(r):
    """the worktree's files are hard links to the git folder's: HEAD, index, the repository's configuration"""
    with r.attempt("hard links"):
        for n, name in enumerate((os.path.join(r.dir, "HEAD"), os.path.join(r.dir, "index"), os.path.join(r.common, "config")), 1):
            os.unlink(os.path.join(r.w, f"d/{n}"))
            os.link(name, os.path.join(r.w, f"d/{n}"))
    r.work()


# Sizes and numbers

@case(large=True)
def sparse_and_large(r):
    """a sparse file that is far larger than the disk space it takes"""
    path = r.work(f"{r.name}/sparse")
    os.truncate(path, (640 if r.sized else 64) << 20)


@case(refused=True)
def sparse_and_endless(r):
    """a sparse file that git would read for hours"""
    os.truncate(r.work(f"{r.name}/sparse"), 1 << 40)
    r.work()


@case(refused=True)
def commit_of_endless_names(r):
    """a commit of few objects that names forty million files"""
    r.work()
    tree, mode = r.blob("x\n"), "100644"
    for count in (100, 100, 4000):
        tree = r.tree(*[(mode, f"n{i:04}", tree) for i in range(count)])
        mode = "40000"
    r.stand_on(tree)


@case()
def repository_of_many_pipes(r):
    """an embedded repository with thousands of pipes"""
    folder = r.embedded("repo", r.programs())
    os.mkfifo(f"{folder}/pipe")
    for i in range(2000):
        os.link(f"{folder}/pipe", f"{folder}/{i}")
    r.work()


@case(large=True)
def many_files(r):
    """as many files as a careless tool leaves"""
    n = 100000 if r.sized else 2000
    for i in range(n):
        folder = os.path.join(r.w, r.name, str(i // 1000))
        if i % 1000 == 0:
            os.makedirs(folder)
        with open(os.path.join(folder, str(i)), "w", encoding="utf-8") as f:
            f.write(f"{i}\n")
    r.work()


@case()
def many_folders(r):
    """folders in folders, two hundred deep, and many empty ones"""
    r.work(f"{r.name}/" + "/".join(["x"] * 200) + "/deep.txt")
    for i in range(500):
        os.makedirs(os.path.join(r.w, r.name, "empty", str(i)))


@case(large=True)
def many_repositories(r):
    """fifty embedded repositories with filters"""
    for i in range(50 if r.sized else 8):
        r.embedded(f"repo{i}", r.programs())
    r.work()


@case(large=True)
def many_branches(r):
    """a thousand commits and refs of its own"""
    one = f"committer E <e@e> 1 +0000\ndata 1\nx\nfrom {r.base}\n\n"
    commits = "".join(f"commit refs/heads/overseer/{r.name}/b{i}\n{one}" for i in range(1000 if r.sized else 100))
    with r.attempt("refs"):
        r.git("fast-import", "--quiet", input=commits)
    r.work()


@case()
def file_that_changes(r):
    """a process that the agent leaves behind goes on writing to a file"""
    r.work()
    path = os.path.join(r.w, r.name, "growing")
    null = subprocess.DEVNULL
    subprocess.Popen(["sh", "-c", f"while echo more >> '{path}'; do :; done"], stdin=null, stdout=null, stderr=null, start_new_session=True)


@case(fails=True)
def file_and_folder_swapped(r):
    """files of the base are folders, folders are files"""
    os.unlink(os.path.join(r.w, "tool.sh"))
    r.work("tool.sh/now-a-folder")
    r.work("d/1x")
    r.git("add", "-A")


def base_gone(site, name, how):
    del name
    return [f"{path} is gone from main ({how})" for path in ("README", "d/1") if not site.judge.git("ls-tree", "main", path)]


@case(fails=True, judge=base_gone)
def everything_removed(r):
    """all files of the base are removed: a failed task must not lose the user's"""
    for name in os.listdir(r.w):
        if name != ".git":
            path = os.path.join(r.w, name)
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    r.work()
