"""The three questions, asked of a site: what ran outside, what changed outside, what was lost."""

import contextlib
import hashlib
import os
import re
import stat
import subprocess

TOKEN = re.compile(rb"(?:second )?work \d+ of [a-z0-9-]+: [0-9a-f]{40}")
LARGE = 1 << 20
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # git knows it without having it
NO_OBJECT = "0" * 40  # a file among the refs that is none
# Of the user's git folder; the rest of it changes with every accept.
GIT_FILES = ("config", "config.worktree", "HEAD", "description", "shallow", "hooks", "info", "objects/info", "modules", "packed-refs.lock",
             "rr-cache")
# Of the store: what agents and git have no business with.
STORE_FILES = ("config.toml", "token")
USER_FILES = ("user-dirty.txt", "user-untracked.txt", "user.ignored", "user-folder")


def look(path):
    """What can be told of a file without changing it."""
    try:
        st = os.lstat(path)
    except OSError:
        return "absent"
    kind = stat.S_IFMT(st.st_mode)
    if kind == stat.S_IFLNK:
        return "link to " + os.readlink(path)
    if kind == stat.S_IFDIR:
        return f"folder {st.st_mode & 0o7777:o}"
    if kind != stat.S_IFREG:
        return f"special {st.st_mode:o}"
    try:
        with open(path, "rb") as f:
            content = f.read(LARGE)
    except OSError:
        content = b""
    return f"file {st.st_mode & 0o7777:o} {st.st_size} {hashlib.sha1(content).hexdigest()[:12]}"


def tree(root, skip=()):
    found = {root: look(root)}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in skip]
        for name in folders + files:
            found[os.path.join(folder, name)] = look(os.path.join(folder, name))
    return found


def searched(content):
    return set(TOKEN.findall(content)) | (set(TOKEN.findall(content.replace(b"\0", b""))) if b"\0" in content else set())


class Judge:
    def __init__(self, site, env):
        self.site, self.repo, self.env = site, os.path.join(site, "repo"), dict(env)
        # The repository by itself, whatever was put beside it; and what the judge's own git runs does not count.
        self.env.update(GIT_DIR=os.path.join(self.repo, ".git"), GIT_WORK_TREE=self.repo)
        self.env.update(GIT_NO_REPLACE_OBJECTS="1", GIT_GRAFT_FILE="/dev/null", GIT_SHALLOW_FILE="", GIT_OPTIONAL_LOCKS="0", OVERSEER_RUN="judge")
        self.store = os.path.join(self.repo, ".overseer")
        self.tokens = {}  # of each blob that was read
        self.patience = 30
        self.begin()

    def begin(self):
        """From now on it is asked what changed."""
        self.start = self.git("rev-parse", "main").strip()
        self.users = set()  # commits that the user made meanwhile
        self.status = self.porcelain()
        self.before = self.outside()

    def git(self, *args, input=None, raw=False, check=True):
        try:
            done = subprocess.run(["git", *args], cwd=self.repo, env=self.env, capture_output=True, input=input, timeout=self.patience, check=False)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the user's own git {args[0]} does not come to an end") from None
        if check and done.returncode:
            raise AssertionError(f"git {' '.join(args)}: {done.stderr.decode(errors='replace')}")
        return done.stdout if raw else done.stdout.decode(errors="surrogateescape")

    # Did anything run outside?

    def ran(self, case):
        """{kind: who ran it} of the programs that a case planted, and of the user's own on what the agent chose."""
        found = {}
        folder = os.path.join(self.site, "outside")
        for name in sorted(os.listdir(folder)):
            planter, kind, _ = name.split(".", 2)
            if planter == case:
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as f:
                    found.setdefault(kind, f.read())
        return found

    # Did anything change outside?

    def outside(self):
        found = {}
        for name in ("victims", "home", "other", "alternate"):
            found.update(tree(os.path.join(self.site, name)))
        for name in GIT_FILES:
            found.update(tree(os.path.join(self.repo, ".git", name)))
        for name in STORE_FILES:
            found.update(tree(os.path.join(self.store, name)))
        for name in USER_FILES:
            found.update(tree(os.path.join(self.repo, name)))
        for name in ("HEAD", "index", "gitdir", "commondir"):
            found.update(tree(os.path.join(self.repo, ".git/worktrees/other", name)))
        by = os.path.join(self.store, "worktrees", "bystander")
        found.update({k: v for k, v in tree(by).items() if k != os.path.join(by, ".git")})
        found = {os.path.relpath(key, self.site): value for key, value in found.items()}
        for line in self.git("for-each-ref", "--format=%(refname) %(objectname) %(symref)", check=False).splitlines():
            name, rest = line.split(" ", 1)
            own = name.startswith(("refs/heads/overseer/", "refs/overseer/")) and "/bystander/" not in name
            if name != "refs/heads/main" and not own:
                found[name] = rest.strip()
        return found

    def changed(self):
        """What is not as it was in the beginning."""
        now, was = self.outside(), self.before
        return {key: (was.get(key, "absent"), now.get(key, "absent")) for key in sorted(set(now) | set(was)) if now.get(key) != was.get(key)}

    def target(self, accepted):
        """Commits on the target that no accept of ours put there."""
        found = []
        if self.git("merge-base", self.start, "main", check=False).strip() != self.start:
            found.append("main was taken away from where it began")
        form = "--format=%H %(trailers:key=Overseer-Accept,valueonly,separator=%x2C)"
        for line in self.git("log", "--first-parent", form, f"{self.start}..main", check=False).splitlines():
            commit, _, key = line.partition(" ")
            if (not key or commit not in accepted) and commit not in self.users:
                found.append(f"commit {commit[:12]} on main is no accept of ours")
        return found

    def porcelain(self):
        return self.git("status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=all", check=False)

    def checkout(self):
        """The user's checkout is what its branch says, apart from what was uncommitted before."""
        now = self.porcelain()
        return [] if now == self.status else [f"the user's checkout: {line}" for line in now.splitlines() if line not in self.status.splitlines()]

    def sound(self):
        """Whether the repository is, apart from the git folders of worktrees, which an agent may damage."""
        try:
            done = subprocess.run(["git", "fsck", "--connectivity-only", "--no-dangling", "--no-reflogs"], cwd=self.repo, env=self.env,
                                  capture_output=True, text=True, errors="replace", timeout=self.patience, check=False)
        except subprocess.TimeoutExpired:
            return ["git fsck does not come to an end"]
        lines = [line for line in (done.stdout + done.stderr).splitlines() if re.search("^(error|fatal|missing|broken|bad|invalid)", line)
                 and "worktrees/" not in line and EMPTY_TREE not in line and NO_OBJECT not in line]
        return lines[:5]

    # Was anything lost?

    def kept(self, case):
        """All words of work that are reachable from a ref, or lie in the case's worktree or beside it."""
        found = set()
        for blob in self.reachable():
            found |= self.tokens[blob]
        for folder, names in self.folders(case):
            for name in names:
                found |= self.read(os.path.join(folder, name))
        return {token.decode() for token in found}

    def reachable(self):
        lines = self.git("rev-list", "--objects", "--missing=allow-any", "--all", "--not", self.start, raw=True, check=False).splitlines()
        if not lines:  # some ref is damaged: those that are not have to do
            for ref in self.git("for-each-ref", "--format=%(refname)", raw=True, check=False).decode(errors="surrogateescape").splitlines():
                lines += self.git("rev-list", "--objects", "--missing=allow-any", ref, "--not", self.start, raw=True, check=False).splitlines()
        wanted = {line.split(b" ", 1)[0] for line in lines}
        new = [oid for oid in wanted if oid not in self.tokens]
        form = "--batch-check=%(objectname) %(objecttype) %(objectsize)"
        checked = self.git("cat-file", form, input=b"\n".join(new) + b"\n", raw=True) if new else b""
        small = []
        for line in checked.splitlines():
            oid, kind, size = (line.split() + [b"", b"0"])[:3]
            if kind == b"missing":
                continue
            self.tokens[oid] = set()
            if kind == b"blob" and int(size) <= LARGE:
                small.append(oid)
            elif kind == b"blob":
                self.tokens[oid] = self.head_of(oid)
        data = self.git("cat-file", "--batch", input=b"\n".join(small) + b"\n", raw=True) if small else b""
        at = 0
        while at < len(data):
            end = data.index(b"\n", at)
            oid, _, size = data[at:end].split()
            self.tokens[oid] = searched(data[end + 1:end + 1 + int(size)])
            at = end + 2 + int(size)
        return [oid for oid in wanted if oid in self.tokens]

    def head_of(self, oid):
        with subprocess.Popen(["git", "cat-file", "blob", oid.decode()], cwd=self.repo, env=self.env, stdout=subprocess.PIPE) as process:
            data = process.stdout.read(LARGE)
            process.kill()
        return searched(data)

    def folders(self, case):
        """(folder, files) of what lies in the worktree, and of what was put aside, wherever in the store that is."""
        for top in os.listdir(self.store):
            at = os.path.join(self.store, top)
            if top in ("runs", "logs", "home", "git", "archive") or not os.path.isdir(at) or os.path.islink(at):
                continue
            for name in os.listdir(at):
                path = os.path.join(at, name)
                if top == "worktrees" and not (name == case or name.startswith(case + ".")):
                    continue
                if os.path.islink(path) or not os.path.isdir(path):
                    yield at, [name]
                else:
                    yield from self.walk(path)

    def walk(self, folder):
        """As os.walk, without following links, and into folders that an agent closed, which are closed again afterwards."""
        with opened(folder, 0o500):
            files = []
            for entry in os.scandir(folder):
                if not entry.is_dir(follow_symlinks=False):
                    files.append(entry.name)
                elif entry.name != "objects" and len(entry.path) < 3500:
                    yield from self.walk(entry.path)
            yield folder, files

    @staticmethod
    def read(path):
        try:
            if os.path.islink(path):
                return searched(os.fsencode(os.readlink(path)))
            with opened(path, 0o400):
                fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        except OSError:
            return set()
        with os.fdopen(fd, "rb") as f:
            return searched(f.read(LARGE)) if stat.S_ISREG(os.fstat(f.fileno()).st_mode) else set()


@contextlib.contextmanager
def opened(path, bits):
    """For the time being, with at least these modes."""
    mode = os.lstat(path).st_mode & 0o7777
    if mode & bits != bits:
        os.chmod(path, mode | bits)
    try:
        yield
    finally:
        if mode & bits != bits:
            os.chmod(path, mode)
