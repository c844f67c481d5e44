// The subcommands of `audit` that seal, verify and prove.
#pragma once

#include "cli/command.h"

namespace compute::cli::commands {

void define_audit_seals(const Definition& audit);

}  // namespace compute::cli::commands
