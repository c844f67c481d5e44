#include "store/backup.h"

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/console.h"
#include "cli/options.h"
#include "cli/storage.h"
#include "config/checks.h"

namespace compute::cli::commands {

namespace {

int backup(const CommonOptions& common, const std::string& file, Console& console) {
    common.apply(console);
    const config::Config config = common.load();
    const auto database = config::find_database_file(config.database.url);
    if (!database) {
        throw ComputeError(
            ErrorCode::Unsupported,
            "backup: PostgreSQL has its own tools",
            ErrorExtra{
                nullptr,
                "",
                "run: pg_dump --format=custom --file=" + file + " '" +
                    config::mask_password(config.database.url) + "'"}
        );
    }
    require_database(config);
    const std::uintmax_t bytes = store::backup_sqlite(*database, file);
    if (common.is_json) {
        console.json({{"file", file}, {"bytes", bytes}});
    } else {
        console.line("copied " + std::to_string(bytes) + " bytes to " + file);
    }
    console.note(
        "the deployment secret is not in it: keep " + *database +
        ".secret (or BETTER_COMPUTE_SECRET) as well"
    );
    return kExitOk;
}

}  // namespace

void define_backup(const Definition& definition) {
    const auto common = add_common(definition);
    const auto file = std::make_shared<std::string>();
    definition.app()
        .add_option("FILE", *file, "Where the copy goes; must not be there yet")
        ->required();
    definition.run([common, file](Console& console) { return backup(*common, *file, console); });
}

}  // namespace compute::cli::commands
