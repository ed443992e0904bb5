"""Whether tests may use what many containers forbid: user and mount namespaces.

The reasons begin with "namespaces: ", by which tools/run-tests counts these skips apart.
"""

import functools
import shutil
import subprocess

MOUNTS = "namespaces: a small file system cannot be mounted here: neither root nor user namespaces may do it"


def why_not(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else (done.stderr.strip() or f"exit status {done.returncode}").split("\n")[-1]


@functools.cache
def no_users():
    """Why there are no user namespaces here; empty when there are."""
    why = why_not(["unshare", "--user", "true"])
    return f"namespaces: user namespaces are forbidden here ({why})" if why else ""


@functools.cache
def no_sandbox():
    """Why our sandbox does not work here; empty when it does."""
    if not shutil.which("bwrap"):
        return "bubblewrap is not installed"
    why = why_not(["bwrap", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "--", "true"])
    return f"namespaces: bwrap does not work here ({why})" if why else ""
