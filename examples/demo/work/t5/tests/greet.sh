# Run by check.sh.
out=$(./greet Ada)
[ "$out" = "Hello, Ada!
Goodbye, Ada." ] || { echo "unexpected: $out"; exit 1; }
