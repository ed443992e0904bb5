#pragma once
/* What runs of an agent, and commands on its work, can reach. See docs/security.md. */

/* auto: the fence where it works, else none. default: as defaults.sandbox; never after reading. */
enum sandbox { SANDBOX_AUTO, SANDBOX_FENCE, SANDBOX_BWRAP, SANDBOX_NONE, SANDBOX_DEFAULT };
extern const char *const sandbox_names[];

enum sandbox_home { HOME_PRIVATE, HOME_SHARED };

/* workspace.check_sandbox */
enum check_sandbox { CHECK_AGENT, CHECK_NONE };
