// `iam explain`: why a token may or may not do something.
#pragma once

#include "cli/command.h"

namespace compute::cli::commands {

void define_iam_explain(const Definition& iam);

}  // namespace compute::cli::commands
