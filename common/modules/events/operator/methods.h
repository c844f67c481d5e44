// What an operator does to the webhooks of a whole deployment, as methods: they pass the envelope
// like every other call, so their decision and their audit row are ordinary.
//
// They are no part of the served API: the command line puts them into a registry of its own and
// calls them as the operating-system user.
#pragma once

#include "method/module.h"

namespace compute::events {

// redeliveryJobs/create, redeliveryJobs/resume and redeliveryJobs/cancel, decided as
// compute:webhooks:manage on the fleet. `resume` only admits: the batches are run_job's, each
// audited in its own transaction.
[[nodiscard]] method::Module operator_module();

}  // namespace compute::events
