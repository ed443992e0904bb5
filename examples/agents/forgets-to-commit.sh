#!/bin/sh
# As steady.sh, but it reports success without committing anything.
set -eu
echo "writing:"
cp -rv "$DEMO_WORK/$OVERSEER_NODE/." .
sleep 1
echo "all done!"
