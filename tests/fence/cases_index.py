"""The index: what it says about files that lie there, and what it hides."""

import os

from room import case


@case(1)
def index_assume_unchanged(r):
    """a changed file that the index is to take for unchanged"""
    r.git("update-index", "--assume-unchanged", f"{r.own}/1")
    r.work(f"{r.own}/1", before="1\n")


@case(1, fails=True)
def index_assume_unchanged_failed(r):
    """the same in a failed task: the next task takes the worktree"""
    r.git("update-index", "--assume-unchanged", f"{r.own}/1")
    r.work(f"{r.own}/1", before="2\n")


@case(1)
def index_skip_worktree(r):
    """a changed file that the index says is not checked out"""
    r.git("update-index", "--skip-worktree", f"{r.own}/1", f"{r.own}/3")
    r.work(f"{r.own}/3", before="3\n")


@case(1, fails=True)
def index_skip_worktree_expected(r):
    """the same where files outside of the sparse patterns are said to be expected"""
    with r.attempt("config.worktree"):
        text = "[sparse]\n\texpectFilesOutsideOfPatterns = true\n[core]\n\tsparseCheckout = true\n"
        r.append(os.path.join(r.dir, "config.worktree"), text)
    r.git("update-index", "--skip-worktree", f"{r.own}/1")
    r.work(f"{r.own}/1", before="4\n")


@case(1)
def index_forged(r):
    """an index whose times say that a changed file is unchanged"""
    r.work(f"{r.own}/1", before="5\n")
    with r.attempt("index"):
        r.forge_index(f"{r.own}/1")


@case(1, fails=True)
def index_forged_failed(r):
    """the same in a failed task: the next task takes the worktree"""
    r.work(f"{r.own}/1", before="5\n")
    with r.attempt("index"):
        r.forge_index(f"{r.own}/1")


@case(1, stays=True)
def index_forged_while_it_runs(r):
    """the same in a run that is stopped"""
    r.work(f"{r.own}/1", before="5\n")
    with r.attempt("index"):
        r.forge_index(f"{r.own}/1")


@case(1)
def index_intent_to_add(r):
    """files that are only announced to the index"""
    r.work()
    r.git("add", "-N", "-A")


@case(1)
def index_staged_differently(r):
    """staged work that differs from the file and from the last commit"""
    path = r.work(f"{r.name}/file")
    r.git("add", "-A")
    os.unlink(path)
    r.work(f"{r.name}/file")


@case(1)
def index_staged_and_gone(r):
    """staged work whose file is gone"""
    path = r.work(f"{r.name}/file")
    r.git("add", "-A")
    os.unlink(path)
    r.work(f"{r.name}/other")


@case(1)
def index_with_conflicts(r):
    """an index with three sides of a file that no merge made"""
    r.work()
    blobs = [r.blob(f"side {n}\n") for n in range(3)]
    r.git("update-index", "--index-info", input="".join(f"100644 {oid} {n}\t{r.name}/sides\n" for n, oid in enumerate(blobs, 1)))


@case(1)
def index_split(r):
    """a split index whose shared part is gone"""
    r.work()
    r.git("add", "-A")
    r.git("update-index", "--split-index")
    for name in os.listdir(r.dir):
        if name.startswith("sharedindex."):
            with r.attempt("the shared index"):
                os.unlink(os.path.join(r.dir, name))
    r.work()


@case(1)
def index_of_version_4(r):
    """an index of version 4 with an untracked cache and fsmonitor bits"""
    r.git("update-index", "--index-version", "4")
    r.git("update-index", "--untracked-cache", check=False)
    r.work(f"{r.own}/1", before="1\n")
    r.git("update-index", "--fsmonitor-valid", f"{r.own}/1", check=False)
    r.work()


@case(1)
def index_empty(r):
    """an index without entries: all files look as if they were removed and new"""
    r.git("read-tree", "--empty")
    r.work()


@case(1)
def index_with_absent_objects(r):
    """an index whose entries name objects that do not exist"""
    r.git("update-index", "--add", "--cacheinfo", f"100644,{'4' * 40},{r.name}/absent")
    r.work()


@case(1)
def index_with_hostile_modes(r):
    """entries that are links and programs where the files are ordinary"""
    r.work(f"{r.name}/file")
    r.git("update-index", "--add", "--cacheinfo", f"120000,{r.blob(r.victim)},{r.name}/file")
    r.git("update-index", "--add", "--cacheinfo", f"100755,{r.blob('x')},{r.own}/2")


@case(1)
def sparse_checkout(r):
    """a sparse checkout made by the agent, with work inside and outside of it"""
    with r.attempt("sparse-checkout", excuse="repo/.git/config"):
        r.git("sparse-checkout", "set", "--no-cone", "/README", f"/{r.name}/")
    r.work()
    r.work(f"{r.own}/1", before="1\n")


@case(1)
def sparse_checkout_by_hand(r):
    """info/sparse-checkout and the configuration written by hand, with absent paths"""
    with r.attempt("info/sparse-checkout"):
        r.append(os.path.join(r.dir, "info", "sparse-checkout"), "/README\n")
    with r.attempt("config.worktree"):
        r.append(os.path.join(r.dir, "config.worktree"), "[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = false\n")
    r.git("read-tree", "-mu", "HEAD", check=False)
    r.work()


def base_files(site, name, how):
    """None of the base's files may be gone from the target because the agent's worktree did not show them."""
    have = site.judge.git("ls-tree", "-r", "--name-only", "main").splitlines()
    return [f"{path} is gone from main ({how})" for path in ("d/1", f"own/{name}/2", "README", "merge.txt", "tool.sh") if path not in have]


sparse_checkout.judge = base_files
sparse_checkout_by_hand.judge = base_files
