#pragma once
/*
 * Addresses that people configure: where requests may go, and that nothing secret is in them. Pure.
 */
#include "base/ov.h"
/*
 * Why an address cannot be used, or NULL: only https, except on this machine, and no password in
 * it. query: "?..." may follow. The text does not repeat the address.
 */
const char *config_url_problem(str url, bool query);
bool config_url_local(str url); /* it is on this machine */
