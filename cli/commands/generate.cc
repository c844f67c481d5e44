#include <filesystem>
#include <fstream>

#include "cli/commands/commands.h"
#include "cli/completions.h"
#include "cli/console.h"
#include "cli/manual.h"
#include "cli/surface_source.h"

namespace compute::cli::commands {

namespace {

std::map<std::string, std::string> files_of(const CLI::App& root, const std::string& what) {
    if (what == "man") {
        return manual_pages(root);
    }
    if (what == "completions") {
        return {
            {"better-compute.bash", completion_script(root, "bash")},
            {"_better-compute", completion_script(root, "zsh")},
            {"better-compute.fish", completion_script(root, "fish")},
        };
    }
    return reference_files();
}

int generate(
    const CLI::App& root, const std::string& what, const std::string& directory, Console& console
) {
    std::filesystem::create_directories(directory);
    const auto files = files_of(root, what);
    for (const auto& [name, text] : files) {
        const auto path = std::filesystem::path(directory) / name;
        std::ofstream file(path, std::ios::binary);
        file << text;
        file.close();
        if (!file) {
            throw ComputeError(ErrorCode::InvalidState, path.string() + ": cannot be written");
        }
    }
    console.note("wrote " + std::to_string(files.size()) + " files to " + directory);
    return kExitOk;
}

}  // namespace

void define_generate(const Definition& definition) {
    const auto what = std::make_shared<std::string>();
    const auto directory = std::make_shared<std::string>();
    definition.word("WHAT", *what, {"man", "completions", "reference"}, "What to write")
        ->required();
    definition.app().add_option("DIR", *directory, "Where to; made when it is missing")->required();
    const CLI::App* app = &definition.app();
    definition.run([what, directory, app](Console& console) {
        return generate(*app->get_parent(), *what, *directory, console);
    });
}

}  // namespace compute::cli::commands
