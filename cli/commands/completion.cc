#include "cli/commands/commands.h"
#include "cli/completions.h"
#include "cli/console.h"

namespace compute::cli::commands {

void define_completion(const Definition& definition) {
    const auto shell = std::make_shared<std::string>();
    definition.word("SHELL", *shell, {"bash", "zsh", "fish"}, "The shell")->required();
    const CLI::App* app = &definition.app();
    definition.run([shell, app](Console& console) {
        console.text(completion_script(*app->get_parent(), *shell));
        return kExitOk;
    });
}

}  // namespace compute::cli::commands
