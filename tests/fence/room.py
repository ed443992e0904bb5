"""What a case of the table is given: its worktree, its git folder, and ways to declare what it does.

A case is a function `prepare(room)` that the agent of the tests executes in its run. It may write
whatever an agent may write; what it declares is what the judge asks about afterwards.
"""

import contextlib
import hashlib
import os
import struct
import subprocess

CASES = {}


class Case:
    """One row of the table.

    fails     the run ends with status 1: its work is kept, but never accepted
    alone     it changes what others use (as far as it may): its site is its own
    refused   it must not get onto the target branch; there is a reason that a person can read
    root      only root can prepare it
    stays     the run goes on until it is stopped, so that it is rescued while it lives
    large     in its full size it takes longer than others
    between   what the user does before the next task
    judge     a further question, asked after the next task: what is allowed has to work
    """

    def __init__(self, prepare, line, **more):
        self.prepare, self.name, self.text = prepare, prepare.__name__.replace("_", "-"), prepare.__doc__.strip()
        self.line, self.then, self.fails, self.alone, self.refused = line, None, False, False, False
        self.root, self.stays, self.large, self.between, self.judge = False, False, False, None, None
        for key, value in more.items():
            assert hasattr(self, key), key
            setattr(self, key, value)

    def second(self, function):
        """Decorates what the next task in the same worktree does."""
        self.then = function
        return function


def case(line=0, **more):
    """Puts a function into the table. line: of the list of what has to be closed; 0: a further case."""
    def add(prepare):
        made = Case(prepare, line, **more)
        assert made.name not in CASES and len(made.name) <= 32, made.name  # it is a worker's name, too
        CASES[made.name] = made
        return made
    return add


class Room:
    def __init__(self, name, site, worktree, which=""):
        self.name, self.site, self.w, self.which = name, site, worktree, which
        self.works, self.excused, self.could_not = [], [], []
        self.sized = int(os.environ.get("FENCE_FULL", "0"))
        # A private home has no name to commit with.
        self.env = {**os.environ, **{f"GIT_{who}_{what}": f"agent@{who}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}}
        self.dir = self.git("rev-parse", "--absolute-git-dir").strip()
        self.common = os.path.realpath(os.path.join(worktree, self.git("rev-parse", "--git-common-dir").strip()))
        self.repo = os.path.join(site, "repo")
        self.victim = os.path.join(site, "victims", name)  # a file of the user's; NAME.d is a folder
        self.victim_branch = f"victim/{name}"
        self.own = f"own/{name}"  # a folder of the base with files 1, 2 and 3 that no other case touches
        self.base = self.git("rev-parse", "HEAD").strip()
        self.other = self.git("rev-parse", "HEAD~1", check=False).strip()  # where the victim's branch stands
        # The git folder that the agent uses, and the user's, which may be another one.
        self.gits = list(dict.fromkeys([self.common, os.path.join(self.repo, ".git")]))

    # Writing

    def path(self, name):
        return os.path.join(os.fsencode(self.w), os.fsencode(name))

    def put(self, name, text, mode=None):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        if mode is not None:
            os.chmod(path, mode)
        return path

    def token(self):
        """Words that are nowhere else: what must not be lost."""
        words = f"{self.which}work {len(self.works) + 1} of {self.name}: "
        self.works.append(words + hashlib.sha1(words.encode()).hexdigest())
        return self.works[-1]

    def work(self, name=None, before="", mode=None):
        """Writes a file with work of the agent's that must not be lost; in the case's own folder unless named."""
        name = name if name is not None else f"{self.name}/work-{len(self.works) + 1}.txt"
        return self.put(name, f"{before}{self.token()}\n", mode)

    def link(self, target, name):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        os.symlink(target, path)

    def git(self, *args, at=None, input=None, env=None, check=True, raw=False):
        done = subprocess.run(["git", *args], cwd=at or self.w, env={**self.env, **(env or {})}, capture_output=True,
                              input=input.encode() if isinstance(input, str) else input)
        if check and done.returncode:
            raise RuntimeError(f"git {' '.join(map(str, args))}: {done.stderr.decode(errors='replace')}")
        return done.stdout if raw else done.stdout.decode(errors="surrogateescape")

    def commit(self, message="work"):
        self.git("add", "-A")
        self.git("commit", "-qm", message)

    @contextlib.contextmanager
    def attempt(self, what, excuse=None):
        """What a sandbox forbids is left out. excuse: the agent itself changes that (where no sandbox hinders it)."""
        try:
            yield
            if excuse:
                self.excused.append(excuse)
        except (OSError, RuntimeError) as e:
            self.could_not.append(f"{what}: {e}"[:200])

    # Planting

    def evil(self, kind):
        """A command that tells where it ran; harmless inside of a run."""
        return f"{self.site}/evil.sh {self.name} {kind}"

    def programs(self, name="x"):
        """Configuration that has git run a program wherever git runs one."""
        evil = self.evil
        return f"""
[core]
	fsmonitor = {evil('fsmonitor')}
	hooksPath = {self.site}/hooks-{self.name}
	sshCommand = {evil('ssh')}
	pager = {evil('pager')}
	editor = {evil('editor')}
	askPass = {evil('askpass')}
	gitProxy = {evil('proxy')}
	alternateRefsCommand = {evil('alternate-refs')}
[filter "{name}"]
	clean = {evil('clean')}
	smudge = {evil('smudge')}
[filter "y"]
	clean = {evil('clean')}
	smudge = {evil('smudge')}
[diff]
	external = {evil('external-diff')}
[diff "{name}"]
	textconv = {evil('textconv')}
	command = {evil('diff')}
[merge]
	default = {name}
[merge "{name}"]
	driver = {evil('merge')}
[credential]
	helper = !{evil('credential')}
[gpg]
	program = {evil('gpg')}
[commit]
	gpgSign = true
[sequence]
	editor = {evil('sequence-editor')}
[interactive]
	diffFilter = {evil('diff-filter')}
[uploadpack]
	packObjectsHook = {evil('pack-objects')}
[protocol "ext"]
	allow = always
[alias]
	status = !{evil('alias')}
	add = !{evil('alias')}
[include]
	path = {self.site}/include-{self.name}
"""

    def hooks(self, folder):
        """A program for each hook that git knows of."""
        os.makedirs(folder, exist_ok=True)
        for hook in ("pre-commit", "post-commit", "commit-msg", "prepare-commit-msg", "pre-rebase", "post-checkout", "post-merge", "post-index-change",
                     "pre-merge-commit", "post-rewrite", "reference-transaction", "fsmonitor-watchman", "pre-auto-gc", "update", "pre-push"):
            with open(os.path.join(folder, hook), "w", encoding="utf-8") as f:
                f.write(f"#!/bin/sh\n{self.evil('hook-' + hook)}\n")
            os.chmod(os.path.join(folder, hook), 0o755)

    def append(self, path, text):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "a", encoding="utf-8") as f:
            f.write(text)

    def replace(self, path, text=None, link=None):
        """Puts a file or a link in the place of what is there."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        if link is not None:
            os.symlink(link, path)
        else:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)

    def embedded(self, name, config="", commit=True):
        """A repository inside the worktree with its own configuration, and work in it that it has not committed."""
        folder = os.path.join(self.w, self.name, name)
        os.makedirs(folder)
        self.git("init", "-q", "-b", "main", "--template=", ".", at=folder)
        self.git("config", "user.name", "E", at=folder)
        self.git("config", "user.email", "e@e", at=folder)
        self.put(f"{self.name}/{name}/.gitattributes", "*.txt filter=x diff=x merge=x\n")
        # As long as what it becomes: git has to run the filter to see whether it changed.
        self.put(f"{self.name}/{name}/inner.txt", "-" * len(self.token()) + "\n")
        token = self.works[-1]
        if commit:
            self.git("add", "-A", at=folder)
            self.git("commit", "-qm", "inner", at=folder)
        if config:
            self.append(os.path.join(folder, ".git", "config"), config)
        self.put(f"{self.name}/{name}/inner.txt", token + "\n")
        return folder

    def gitlink(self, name, commit=None):
        """An entry of the index for a folder that is a repository, as git add would make it."""
        commit = commit or self.git("rev-parse", "HEAD", at=os.path.join(self.w, name)).strip()
        self.git("update-index", "--add", "--cacheinfo", f"160000,{commit},{name}")

    def tree(self, *entries):
        """A tree with these (mode, name, object): also names and orders that git itself refuses."""
        raw = b"".join(mode.encode() + b" " + os.fsencode(name) + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries)
        return self.git("hash-object", "-t", "tree", "--literally", "-w", "--stdin", input=raw).strip()

    def blob(self, text):
        return self.git("hash-object", "-w", "--stdin", input=text).strip()

    def stand_on(self, tree, message="forged"):
        """Moves the branch to a commit of this tree."""
        commit = self.git("commit-tree", "-p", "HEAD", "-m", message, tree).strip()
        self.git("update-ref", "HEAD", commit)
        return commit

    def base_entries(self):
        for line in self.git("ls-tree", "HEAD").splitlines():
            mode, _, rest = line.split(" ", 2)
            oid, name = rest.split("\t")
            yield mode.lstrip("0"), name, oid

    def at_branch(self, change):
        """Changes the loose ref of the run's own branch, in each git folder that may have it."""
        branch = self.git("symbolic-ref", "HEAD").strip()
        for git in self.gits:
            with self.attempt(f"the branch in {git}"):
                path = os.path.join(git, branch)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                change(path)

    def missing_object(self):
        """A commit that lacks an object, which a promisor remote would be asked for."""
        tree = f"100644 blob {'1' * 40}\tabsent\n"
        tree = self.git("mktree", "--missing", input=tree).strip()
        commit = self.git("commit-tree", "-p", "HEAD", "-m", "lacks", tree).strip()
        return commit

    def forge_index(self, name, path=None):
        """Has the index say that this file is unchanged: the times and sizes of what lies there now."""
        path = path or os.path.join(self.dir, "index")
        os.utime(self.path(name), (1, 1))  # long before the index was written: otherwise git looks at the file
        with open(path, "rb") as f:
            data = bytearray(f.read()[:-20])
        at, st = 12, os.lstat(self.path(name))
        for _ in range(struct.unpack(">I", data[8:12])[0]):
            end = data.index(b"\0", at + 62)
            if data[at + 62:end] == os.fsencode(name):
                struct.pack_into(">10I", data, at, int(st.st_ctime_ns // 10**9), st.st_ctime_ns % 10**9, int(st.st_mtime_ns // 10**9),
                                 st.st_mtime_ns % 10**9, st.st_dev & 0xffffffff, st.st_ino & 0xffffffff,
                                 struct.unpack(">I", data[at + 24:at + 28])[0], st.st_uid, st.st_gid, st.st_size & 0xffffffff)
            at += (62 + end - at - 62 + 8) // 8 * 8
        with open(path, "wb") as f:
            f.write(bytes(data) + hashlib.sha1(data).digest())
