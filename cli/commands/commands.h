// Every command, one function and one file each: it defines options and says what runs.
#pragma once

#include "cli/command.h"

namespace compute::cli::commands {

void define_agent(const Definition& definition);
void define_api(const Definition& definition);
void define_audit(const Definition& definition);
void define_backup(const Definition& definition);
void define_completion(const Definition& definition);
void define_config(const Definition& definition);
void define_doctor(const Definition& definition);
void define_fleet(const Definition& definition);
void define_generate(const Definition& definition);
void define_iam(const Definition& definition);
void define_migrate(const Definition& definition);
void define_secrets(const Definition& definition);
void define_serve(const Definition& definition);
void define_surface(const Definition& definition);
void define_version(const Definition& definition);
void define_webhooks(const Definition& definition);

}  // namespace compute::cli::commands
