// The parts of `webhooks`, one file each.
#pragma once

#include "cli/command.h"

namespace compute::cli::commands {

void define_webhooks_list(const Definition& webhooks);       // list, deliveries
void define_webhooks_redeliver(const Definition& webhooks);  // redeliver
void define_webhooks_jobs(const Definition& webhooks);       // jobs
void define_webhooks_history(const Definition& webhooks);    // explain, proof
void define_webhooks_check(const Definition& webhooks);      // check
void define_webhooks_verify(const Definition& webhooks);     // verify

}  // namespace compute::cli::commands
