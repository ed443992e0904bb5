"""All cases: importing a module puts its functions into the table."""

import cases_admin  # noqa: F401
import cases_config  # noqa: F401
import cases_files  # noqa: F401
import cases_index  # noqa: F401
import cases_refs  # noqa: F401
