# Greets by name.
hello() {
	printf 'Hello, %s!\n' "${1:-world}"
}
