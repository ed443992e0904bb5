/* The output and errors of this agent: see fuzz_stream.h. */
#include "tests/fuzz/fuzz_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_stream("codex", data, size);
}
