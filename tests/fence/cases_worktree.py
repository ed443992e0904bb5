"""The .git file, and the worktree itself: what tells git, and us, where things are."""

import os
import shutil
import stat
import subprocess

from cases_admin import hostile_repository
from room import case


# The .git file

def pointer(room):
    return os.path.join(room.w, ".git")


@case(10)
def pointer_gone(r):
    """the .git file is gone"""
    r.work()
    with r.attempt(".git"):
        os.unlink(pointer(r))


@case(2)
def pointer_empty(r):
    """the .git file is empty"""
    r.work()
    with r.attempt(".git"):
        r.put(".git", "")


@case(2)
def pointer_to_the_users_repository(r):
    """the .git file names the user's own git folder"""
    r.work()
    with r.attempt(".git"):
        r.put(".git", f"gitdir: {os.path.join(r.repo, '.git')}\n")


@case(2)
def pointer_to_another_worktree(r):
    """the .git file names what another worker's worktree uses"""
    r.work()
    with r.attempt(".git"):
        with open(os.path.join(os.path.dirname(r.w), "bystander", ".git"), encoding="utf-8") as f:
            text = f.read()
        r.put(".git", text)


@case(2)
def pointer_to_a_hostile_repository(r):
    """the .git file names a git folder of the agent's with programs in its configuration"""
    folder = hostile_repository(r)
    r.work()
    with r.attempt(".git"):
        r.put(".git", f"gitdir: {folder}\n")


@case(2)
def pointer_as_a_link_to_a_repo(r):
    """.git is a link to the user's own git folder"""
    r.work()
    with r.attempt(".git"):
        r.link(os.path.join(r.repo, ".git"), ".git")


@case(2)
def pointer_as_a_link_to_a_file(r):
    """.git is a link to a file of the user's, which a repair would write to"""
    r.work()
    with r.attempt(".git"):
        r.link(r.victim, ".git")


@case(2)
def pointer_as_a_repository(r):
    """.git is a repository of the agent's, with commits and programs"""
    with r.attempt(".git"):
        os.unlink(pointer(r))
        r.git("init", "-q", "--template=", ".")
        r.work()
        r.git("add", "-A")
        r.git("commit", "-qm", "in a repository of its own")
        r.append(os.path.join(pointer(r), "config"), r.programs())
        r.hooks(os.path.join(pointer(r), "hooks"))
    r.work()


@case(2, alone=True)
def pointer_as_a_fifo(r):
    """.git is a FIFO"""
    r.work()
    with r.attempt(".git"):
        os.unlink(pointer(r))
        os.mkfifo(pointer(r))


# The worktree itself

def move_away(room):
    """Where the worktree was, something else can be put. What was in it goes beside it."""
    away = room.w + ".moved"
    os.rename(room.w, away)
    return away


@case(4, refused=True)
def worktree_as_a_link_to_a_folder(r):
    """the worktree is a link to a folder of the user's"""
    with r.attempt("move the worktree"):
        move_away(r)
        os.symlink(f"{r.victim}.d", r.w)


@case(4, fails=True, refused=True)
def worktree_as_a_link_failed(r):
    """the worktree of a failed task is a link to a folder of the user's when the next task comes"""
    with r.attempt("move the worktree"):
        away = move_away(r)
        shutil.copy(os.path.join(away, ".git"), f"{r.victim}.d/.git")
        r.excused.append(r"victims/[a-z-]+\.d/\.git")
        os.symlink(f"{r.victim}.d", r.w)


@case(4, refused=True)
def worktree_as_a_link_to_another(r):
    """the worktree is a link to another worker's worktree"""
    with r.attempt("move the worktree"):
        move_away(r)
        os.symlink("bystander", r.w)


@case(4, refused=True)
def worktree_as_a_link_to_checkout(r):
    """the worktree is a link to the user's checkout"""
    with r.attempt("move the worktree"):
        move_away(r)
        os.symlink(r.repo, r.w)


@case(4, refused=True)
def worktree_as_another_folder(r):
    """the worktree is another folder with the same .git file"""
    with r.attempt("move the worktree"):
        away = move_away(r)
        os.mkdir(r.w)
        shutil.copy(os.path.join(away, ".git"), os.path.join(r.w, ".git"))
    r.work()


@case(4, refused=True)
def worktree_as_a_file(r):
    """the worktree is a file"""
    with r.attempt("move the worktree"):
        move_away(r)
        with open(r.w, "w", encoding="utf-8") as f:
            f.write(r.token() + "\n")


@case(4)
def worktree_gone(r):
    """the worktree is gone, the work was committed before"""
    r.work()
    r.commit()
    with r.attempt("remove the worktree"):
        shutil.rmtree(r.w)


@case(4)
def worktree_moved(r):
    """the worktree was moved with its work to another place in the store"""
    r.work()
    with r.attempt("move the worktree"):
        move_away(r)


@case(4, alone=True)
def worktrees_folder_as_a_link(r):
    """the folder of all worktrees is a link to a folder of the user's"""
    r.work()
    with r.attempt("move all worktrees", excuse="worktrees/bystander"):
        folder = os.path.dirname(r.w)
        os.rename(folder, folder + ".moved")
        os.symlink(f"{r.victim}.d", folder)


def unmount(site, name):
    """What the refusal asks a person to do: nothing of ours takes away what was mounted."""
    subprocess.run(["umount", os.path.join(site.site.repo, ".overseer/worktrees", name)], check=False, capture_output=True)


@case(4, alone=True, root=True, refused=True, between=unmount)
def worktree_as_a_mount(r):
    """a folder of the user's is mounted over the worktree"""
    r.work()
    with r.attempt("mount"):
        done = subprocess.run(["mount", "--bind", f"{r.victim}.d", r.w], capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(done.stderr)


@case(4)
def worktree_closed(r):
    """the worktree may not be entered or written to"""
    r.work()
    os.chmod(r.w, stat.S_IRUSR)
