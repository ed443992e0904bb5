#!/bin/sh
# A scripted agent that does its task and commits it. It stands for any coding agent: it gets its
# instruction on standard input, works in the current directory (its own git worktree), and hands
# in what it commits. DEMO_WORK holds, per task, the files that it "writes".
set -eu
echo "reading the instruction:"
sed -n '1,2p'
echo "writing:"
cp -rv "$DEMO_WORK/$OVERSEER_NODE/." .
sleep 1
git add -A
git commit -qm "Do $OVERSEER_NODE"
echo "done"
