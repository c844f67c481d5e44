#include "cli/commands/webhooks.h"

#include "cli/commands/commands.h"

namespace compute::cli::commands {

void define_webhooks(const Definition& definition) {
    define_webhooks_list(definition);
    define_webhooks_redeliver(definition);
    define_webhooks_jobs(definition);
    define_webhooks_history(definition);
    define_webhooks_check(definition);
    define_webhooks_verify(definition);
}

}  // namespace compute::cli::commands
