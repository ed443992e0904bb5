#pragma once
/*
 * A plugin for opencode, which runs in its process: `opencode run` is silent about its sub-agents,
 * about the model, and about calls of tools until they are over. It adds short lines to the output,
 * of type "overseer", which agent/read/opencode.c reads.
 */

#define OPENCODE_PLUGIN "opencode/overseer.js" /* below the run's folder */

extern const char opencode_plugin[];
