"""All cases: importing a module puts its functions into the table."""

import cases_admin  # noqa: F401
import cases_config  # noqa: F401
import cases_embedded  # noqa: F401
import cases_files  # noqa: F401
import cases_index  # noqa: F401
import cases_programs  # noqa: F401
import cases_refs  # noqa: F401
import cases_worktree  # noqa: F401

# Those of `make check`: each hole that was found in ordinary use, and of each family a few.
SHORT = """
plain-work plain-work-of-a-failed-task
embedded-filter embedded-filter-staged embedded-filter-committed
gitlink-over-a-folder-of-files link-hidden-by-gitmodules link-over-committed-files embedded-where-a-file-comes
linked-worktree base-submodule-with-files base-submodule-replaced the-bases-submodule-stays
attributes-users-filter worktree-config-filter worktree-config-hooks
the-users-filter-works conversions-work
filter-that-stays filter-at-a-socket filter-that-changes-modes
note-names-another-branch head-names-another-branch rebase-of-release rebase-left-unfinished
index-as-a-link commit-editmsg-as-a-link logs-head-as-a-link index-as-a-fifo
commondir-names-a-hostile-repo git-folder-gone pointer-gone
pointer-to-a-hostile-repository worktree-as-a-link-to-a-folder worktree-as-another-folder worktree-as-a-mount
ignored-by-its-own-rule ignored-by-a-rule-below ignored-by-a-committed-rule ignored-and-large ignored-in-the-way ignored-by-the-base
link-for-a-folder-then-failed names-with-newlines names-that-collide names-like-dot-git modes-closed modes-closed-folder fifo-and-socket fifo-as-dot-files
hard-link-to-the-store
index-forged index-skip-worktree sparse-checkout
own-branch-as-a-symbolic-ref rescue-ref-as-a-symbolic-ref
objects-behind-a-link objects-info-leads-to-the-store
tree-with-dot-git store-config-committed
""".split()
