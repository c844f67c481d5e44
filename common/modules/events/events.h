// Webhooks: events of a tenant reach the URLs it named, signed, at least once.
//
//   outbox -> Fanout (cursor and queue rows in one transaction) -> Engine (lanes, leases, two
//   sending loops) -> receiver
//
// What a tenant does comes through the ten methods (methods/); what an operator does from the
// command line is in operator/. Pruning deletes old history; the checks read the same tables for
// `doctor`. policy.h says what a result means, patterns.h what a webhook wants, signing.h and
// sealing.h what is done with its secret, url_guard.h where it may point.
#pragma once

#include "config/config.h"
#include "method/module.h"

namespace compute::events {

// The module `events`. Throws INVALID_CONFIG for a secret under 32 characters or a policy, limit or
// retention out of range. Without a secret the surface is complete, but on_start, create and
// rotateSecret are INVALID_CONFIG.
[[nodiscard]] method::Module events_module(const config::Config& config);

}  // namespace compute::events
