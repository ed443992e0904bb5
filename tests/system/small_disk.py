"""Small file systems that a test fills to the last byte, in a mount namespace of its own."""

import os
import subprocess
import sys


def mount(*args):
    subprocess.run(["mount", *args], check=True, capture_output=True)


class Small:
    """A small tmpfs at a folder, which can be filled to the last byte."""

    def __init__(self, folder, size):
        self.folder = folder
        os.makedirs(folder, mode=0o700, exist_ok=True)
        mount("-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", folder)

    def fill(self):
        fd = os.open(os.path.join(self.folder, "ballast"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for size in (65536, 4096, 1):
            try:
                while True:
                    os.write(fd, b"x" * size)
            except OSError:
                pass
        os.close(fd)

    def free(self):
        os.unlink(os.path.join(self.folder, "ballast"))

    def close(self):
        subprocess.run(["umount", "-l", self.folder], check=False)


def private_mounts():
    """Runs this file again where mounts are its own; returns when that is not possible."""
    for unshare in (["unshare", "-m", "--propagation", "private"], ["unshare", "-r", "-m", "--propagation", "private"]):
        test = subprocess.run(unshare + ["mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False)
        if test.returncode == 0:
            os.environ["OV_MOUNTS"] = "1"
            os.execvp(unshare[0], unshare + [sys.executable, *sys.argv])
