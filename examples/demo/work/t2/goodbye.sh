# Says goodbye by name.
goodbye() {
	printf 'Goodbye, %s.\n' "${1:-world}"
}
