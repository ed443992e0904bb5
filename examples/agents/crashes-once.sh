#!/bin/sh
# As steady.sh, but the first try dies half-way, as agents do: something is written, nothing committed.
set -eu
if [ "$OVERSEER_ATTEMPT" = 1 ]; then
	echo "half a thought" > unfinished-notes.txt
	echo "about to crash" >&2
	kill -SEGV $$
fi
rm -f unfinished-notes.txt
exec "$(dirname "$0")/steady.sh"
