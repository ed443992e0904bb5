"""The git folder of the worktree: what git reads and writes there."""

import os
import shutil

from room import case


def forge(room, name, text=None, link=None):
    """A file of the git folder in the place of the one that is there."""
    with room.attempt(name):
        path = os.path.join(room.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        room.replace(path, text, link)


def fifo(room, name):
    with room.attempt(name):
        path = os.path.join(room.dir, name)
        if os.path.lexists(path):
            os.unlink(path)
        os.mkfifo(path)


# What says which branch it is

@case(2)
def note_names_another_branch(r):
    """the note in the git folder says that the worktree's branch is another one"""
    forge(r, "overseer-worktree", f"{r.victim_branch}\nrelease\n")
    r.work()


@case(2)
def note_names_the_target(r):
    """the note in the git folder says that the worktree's branch is the target"""
    forge(r, "overseer-worktree", "main\nrelease\n")
    r.work()
    r.commit()


@case(2)
def note_as_a_link(r):
    """the note in the git folder is a link to a file of the user's"""
    forge(r, "overseer-worktree", link=r.victim)
    r.work()


@case(2)
def head_names_another_branch(r):
    """HEAD stands on another branch of the user's, with uncommitted work"""
    r.work()
    forge(r, "HEAD", f"ref: refs/heads/{r.victim_branch}\n")


@case(2)
def head_names_a_branch_outside(r):
    """HEAD stands on names that are no branches"""
    r.work()
    forge(r, "HEAD", "ref: refs/heads/../../config\n")


@case(2)
def head_names_a_tag(r):
    """HEAD stands on a tag"""
    r.work()
    forge(r, "HEAD", "ref: refs/tags/v1\n")


@case(2)
def head_as_a_link_to_a_file(r):
    """HEAD is a link to a file of the user's"""
    r.work()
    forge(r, "HEAD", link=r.victim)


@case(2)
def head_as_a_link_to_a_branch(r):
    """HEAD is a link to a loose ref, as git of old wrote it"""
    r.work()
    forge(r, "HEAD", link=f"refs/heads/{r.victim_branch}")


@case(2)
def head_damaged(r):
    """HEAD holds bytes that mean nothing"""
    r.work()
    forge(r, "HEAD", "\0\0\0 nonsense")


@case(2)
def head_gone(r):
    """HEAD is gone"""
    r.work()
    with r.attempt("HEAD"):
        os.unlink(os.path.join(r.dir, "HEAD"))


@case(2)
def head_as_a_folder(r):
    """HEAD is a folder"""
    r.work()
    with r.attempt("HEAD"):
        os.unlink(os.path.join(r.dir, "HEAD"))
        os.makedirs(os.path.join(r.dir, "HEAD", "x"))


@case(2, alone=True)
def head_as_a_fifo(r):
    """HEAD is a FIFO that nobody writes to"""
    r.work()
    fifo(r, "HEAD")


# What says that something is unfinished

def rebase_state(room, folder, victim, **more):
    room.work()
    room.commit()
    head = room.git("rev-parse", "HEAD").strip()
    files = {"head-name": f"refs/heads/{victim}", "orig-head": head, "onto": room.base, "interactive": "", "git-rebase-todo": "", "done": "",
             "msgnum": "1", "end": "1", "next": "1", "last": "1", "quiet": "", "abort-safety": head, **more}
    for name, text in files.items():
        forge(room, f"{folder}/{name}", text + ("\n" if text else ""))
    room.work()


@case(2)
def rebase_of_another_branch(r):
    """rebase-merge says that another branch of the user's is being rebased"""
    rebase_state(r, "rebase-merge", r.victim_branch)


@case(2)
def rebase_apply_of_another_branch(r):
    """rebase-apply says that another branch of the user's is being rebased"""
    rebase_state(r, "rebase-apply", r.victim_branch)


@case(2)
def rebase_of_release(r):
    """rebase-merge says that release is being rebased, and HEAD is detached"""
    rebase_state(r, "rebase-merge", "release")
    forge(r, "HEAD", r.git("rev-parse", "HEAD"))


@case(2)
def rebase_that_updates_refs(r):
    """rebase-merge/update-refs moves other branches when the rebase is finished"""
    head = r.git("rev-parse", "HEAD").strip()
    rebase_state(r, "rebase-merge", r.git("symbolic-ref", "--short", "HEAD").strip(),
                 **{"update-refs": f"refs/heads/{r.victim_branch}\n{r.other}\n{head}"})


@case(2)
def rebase_that_runs_a_program(r):
    """the list of a rebase has a command to be run next"""
    rebase_state(r, "rebase-merge", r.git("symbolic-ref", "--short", "HEAD").strip(),
                 **{"git-rebase-todo": f"exec {r.evil('exec')}", "done": f"exec {r.evil('exec')}", "strategy": "x", "gpg_sign_opt": f"-S{r.name}"})


@case(2)
def rebase_with_a_forged_stash(r):
    """rebase-merge/autostash would make an entry of the user's stash"""
    stash = r.git("commit-tree", "-p", "HEAD", "-m", "stash", "HEAD^{tree}").strip()
    rebase_state(r, "rebase-merge", r.git("symbolic-ref", "--short", "HEAD").strip(), autostash=stash)


@case(2)
def rebase_folder_as_a_link(r):
    """rebase-merge is a link to a folder of the user's"""
    r.work()
    forge(r, "rebase-merge", link=f"{r.victim}.d")


@case(2)
def rebase_left_unfinished(r):
    """a real rebase with a conflict, half resolved"""
    r.git("checkout", "-q", "-b", f"{r.git('symbolic-ref', '--short', 'HEAD').strip()}-x", "HEAD~1", check=False)
    r.put("merge.txt", "mine\n" + r.token() + "\n")
    r.git("commit", "-qam", "mine")
    r.git("rebase", r.base, check=False)
    r.work()


@case(2)
def merge_left_unfinished(r):
    """a real merge with a conflict, with work beside it"""
    branch = r.git("symbolic-ref", "--short", "HEAD").strip()
    r.git("reset", "-q", "--hard", "HEAD~1")
    r.put("merge.txt", "mine\n" + r.token() + "\n")
    r.git("commit", "-qam", f"on {branch}")
    r.git("merge", r.base, check=False)
    r.work()


@case(2)
def merge_of_another_branch(r):
    """MERGE_HEAD names a commit of the user's and one that does not exist"""
    r.work()
    forge(r, "MERGE_HEAD", r.other + "\n" + "2" * 40 + "\n")
    forge(r, "MERGE_MODE", "no-ff")
    forge(r, "MERGE_MSG", "merged\n")


@case(2)
def pick_left_unfinished(r):
    """CHERRY_PICK_HEAD, REVERT_HEAD and a sequencer that would reset to another commit"""
    r.work()
    other = r.other
    forge(r, "CHERRY_PICK_HEAD", other + "\n")
    forge(r, "REVERT_HEAD", other + "\n")
    forge(r, "sequencer/head", other + "\n")
    forge(r, "sequencer/abort-safety", r.base + "\n")
    forge(r, "sequencer/todo", f"pick {other} x\nexec {r.evil('sequencer')}\n")
    forge(r, "sequencer/opts", "[options]\n\tallow-ff = true\n")


@case(2)
def am_left_unfinished(r):
    """rebase-apply of git am, with an abort-safety that is elsewhere"""
    r.work()
    other = r.other
    for name, text in (("applying", ""), ("next", "1\n"), ("last", "1\n"), ("abort-safety", other + "\n"), ("orig-head", other + "\n")):
        forge(r, f"rebase-apply/{name}", text)
    forge(r, "ORIG_HEAD", other + "\n")


@case(2)
def bisect_of_another_branch(r):
    """a bisection that would go back to another branch of the user's"""
    r.work()
    forge(r, "BISECT_START", f"{r.victim_branch}\n")
    forge(r, "BISECT_LOG", "git bisect start\n")
    forge(r, "BISECT_NAMES", "\n")


# What git writes to

def linked(name):
    def prepare(r):
        r.work()
        forge(r, name, link=r.victim)
        r.work()
    prepare.__name__ = f"{name.lower().replace('/', '_').replace('.', '_').replace('auto_', 'automatic_')}_as_a_link"
    prepare.__doc__ = f"{name} is a link to a file of the user's, which git would write to"
    case(2)(prepare)


for written in ("index", "COMMIT_EDITMSG", "logs/HEAD", "ORIG_HEAD", "FETCH_HEAD", "MERGE_MSG", "SQUASH_MSG", "MERGE_HEAD",
                "AUTO_MERGE", "index.lock", "HEAD.lock", "locked", "gc.pid", "packed-refs", "shallow", "description"):
    linked(written)


@case(2)
def index_as_a_link_to_an_index(r):
    """the index is a link to an index of the user's, which git can read and write"""
    r.work()
    forge(r, "index", link=r.victim + ".index")


@case(2, alone=True)
def index_as_a_link_to_the_users(r):
    """the index is a link to the one of the user's checkout"""
    r.work()
    forge(r, "index", link=os.path.join(r.repo, ".git", "index"))


@case(2, alone=True)
def head_as_a_link_to_the_users(r):
    """HEAD is a link to the one of the user's other worktree"""
    r.work()
    forge(r, "HEAD", link=os.path.join(r.repo, ".git/worktrees/other/HEAD"))


@case(2, stays=True)
def index_as_a_link_while_it_runs(r):
    """index and COMMIT_EDITMSG are links to files of the user's while the run is stopped and rescued"""
    r.work()
    forge(r, "COMMIT_EDITMSG", link=r.victim)
    forge(r, "index", link=r.victim)


@case(2)
def logs_as_a_link(r):
    """the folder of logs is a link to a folder of the user's"""
    r.work()
    with r.attempt("logs"):
        shutil.rmtree(os.path.join(r.dir, "logs"), ignore_errors=True)
        os.symlink(f"{r.victim}.d", os.path.join(r.dir, "logs"))


@case(2)
def temporary_names_as_links(r):
    """files named as we name temporary ones are links to files of the user's"""
    r.work()
    for name in ("overseer-rescue-0", "overseer-rescue-0000000000000000", "overseer-worktree.tmp", "index.tmp"):
        forge(r, name, link=r.victim)


@case(2)
def locks_that_stay(r):
    """locks of index, HEAD and branch that nobody holds: files, folders, links to nowhere"""
    r.work()
    forge(r, "index.lock", "")
    with r.attempt("HEAD.lock"):
        os.makedirs(os.path.join(r.dir, "HEAD.lock"))
    forge(r, "config.worktree.lock", link="/nonexistent/x")
    r.at_branch(lambda path: r.replace(path + ".lock", ""))


# The index as something else

@case(2)
def index_gone(r):
    """the index is gone, with staged and unstaged work"""
    r.work()
    r.git("add", "-A")
    r.work()
    with r.attempt("index"):
        os.unlink(os.path.join(r.dir, "index"))


@case(2)
def index_damaged(r):
    """the index holds bytes that mean nothing"""
    r.work()
    forge(r, "index", "DIRC nonsense")


@case(2)
def index_as_a_folder(r):
    """the index is a folder"""
    r.work()
    with r.attempt("index"):
        os.unlink(os.path.join(r.dir, "index"))
        os.makedirs(os.path.join(r.dir, "index", "x"))


@case(2, alone=True)
def index_as_a_fifo(r):
    """the index is a FIFO that nobody writes to"""
    r.work()
    fifo(r, "index")


@case(2, alone=True)
def index_without_end(r):
    """the index is a link to /dev/zero"""
    r.work()
    forge(r, "index", link="/dev/zero")


@case(2, alone=True)
def note_as_a_fifo(r):
    """the note and the rebase's files are FIFOs"""
    r.work()
    fifo(r, "overseer-worktree")
    with r.attempt("rebase-merge"):
        os.makedirs(os.path.join(r.dir, "rebase-merge"), exist_ok=True)
        fifo(r, "rebase-merge/head-name")


@case(2, alone=True)
def gitdir_as_a_fifo(r):
    """gitdir and commondir are FIFOs"""
    r.work()
    fifo(r, "gitdir")
    fifo(r, "commondir")


# What says where the repository is

def hostile_repository(room):
    """A git folder of the agent's, with programs and the repository's objects."""
    folder = os.path.join(room.w, room.name, "hostile.git")
    room.git("init", "-q", "--bare", "--template=", folder)
    os.makedirs(os.path.join(folder, "info"), exist_ok=True)
    room.append(os.path.join(folder, "config"), room.programs())
    room.append(os.path.join(folder, "info", "attributes"), "* filter=x\n")
    room.hooks(os.path.join(folder, "hooks"))
    room.append(os.path.join(folder, "objects", "info", "alternates"), os.path.join(room.common, "objects") + "\n")
    for ref in ("refs/heads/main", room.git("symbolic-ref", "HEAD").strip()):
        room.git("--git-dir", folder, "update-ref", ref, room.base)
    return folder


@case(2)
def commondir_names_a_hostile_repo(r):
    """commondir names a git folder of the agent's with programs in its configuration"""
    folder = hostile_repository(r)
    r.work()
    forge(r, "commondir", folder + "\n")


@case(2)
def commondir_gone(r):
    """commondir is gone, and the git folder has a configuration of its own"""
    r.work()
    with r.attempt("commondir"):
        os.unlink(os.path.join(r.dir, "commondir"))
    with r.attempt("config"):
        if r.dir != r.common:
            r.put(os.path.join(r.dir, "config"), "[core]\n\tbare = false\n" + r.programs())


@case(4)
def gitdir_names_another_worktree(r):
    """gitdir says that this git folder belongs to another worker's worktree"""
    r.work()
    forge(r, "gitdir", os.path.join(os.path.dirname(r.w), "bystander", ".git") + "\n")


@case(4)
def gitdir_names_the_users_checkout(r):
    """gitdir says that this git folder belongs to the user's checkout"""
    r.work()
    forge(r, "gitdir", os.path.join(r.repo, ".git") + "\n")


@case(4)
def gitdir_names_the_users_worktree(r):
    """gitdir says that this git folder belongs to a worktree of the user's"""
    r.work()
    forge(r, "gitdir", os.path.join(r.site, "other", ".git") + "\n")


@case(2)
def git_folder_gone(r):
    """the whole git folder of the worktree is removed"""
    r.work()
    with r.attempt("the git folder"):
        if r.dir != os.path.join(r.repo, ".git"):
            shutil.rmtree(r.dir)


@case(2)
def git_folder_as_a_link(r):
    """the git folder of the worktree is a link to a folder of the user's"""
    r.work()
    with r.attempt("the git folder"):
        os.rename(r.dir, os.path.join(r.w, r.name, "moved"))
        os.symlink(f"{r.victim}.d", r.dir)


@case(2)
def git_folder_closed(r):
    """the git folder of the worktree may not be entered"""
    r.work()
    with r.attempt("the git folder"):
        os.chmod(r.dir, 0)


@case(2)
def git_folder_with_refs_of_its_own(r):
    """work that only refs of the worktree hold: refs/worktree, refs/bisect, and a link among them"""
    r.work()
    r.commit()
    for ref in ("refs/worktree/kept", "refs/bisect/bad"):
        with r.attempt(ref):
            r.git("update-ref", ref, "HEAD")
    r.git("reset", "-q", "--hard", r.base)
    with r.attempt("a link among refs"):
        os.symlink(f"{r.victim}.d", os.path.join(r.dir, "refs", "link"))
    r.work()
