#include "surface/surface.h"

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/console.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/surface_source.h"
#include "cli/version.h"
#include "core/json.h"

namespace compute::cli::commands {

namespace {

struct SurfaceFlags {
    std::string format = "json";
    CLI::Option* check = nullptr;
    CLI::Option* record = nullptr;
    std::string check_file;
    std::string record_file;
    bool is_allowing_breaking = false;
};

std::string file_of(const std::string& given) {
    return given.empty() ? surface::kSurfaceFile : given;
}

int print_surface(const SurfaceFlags& flags, Console& console) {
    const config::Config config;
    const method::Registry registry = described_registry(config);
    if (flags.format == "openapi") {
        console.text(surface::surface_text(
            surface::openapi_document(registry, {version().number, config.base_path})
        ));
    } else if (flags.format == "tools") {
        console.text(surface::surface_text(surface::tool_schemas(registry)));
    } else {
        console.text(surface::surface_text(surface::dump_surface(registry)));
    }
    return kExitOk;
}

Json read_surface(const std::string& path) {
    return read_json_file(path, "better-compute api:surface --record writes one");
}

int check_surface(const CommonOptions& common, const SurfaceFlags& flags, Console& console) {
    const Json recorded = read_surface(file_of(flags.check_file));
    const auto comparison =
        surface::compare(recorded, surface::dump_surface(described_registry(config::Config{})));
    if (common.is_json) {
        console.json(surface::comparison_json(comparison));
    } else {
        const std::string text = surface::comparison_text(comparison);
        console.text(text.empty() ? "the surface is as recorded\n" : text);
    }
    return comparison.is_ok() ? kExitOk : kExitRefused;
}

// Written under another name and renamed: a process that dies half way leaves the old record whole.
void write_file(const std::string& path, const std::string& text) {
    const std::string draft = path + ".new";
    std::ofstream file(draft, std::ios::binary);
    file << text;
    file.close();
    std::error_code error;
    if (file) {
        std::filesystem::rename(draft, path, error);
    }
    if (!file || error) {
        throw ComputeError(ErrorCode::InvalidState, path + ": cannot be written");
    }
}

int record_surface(const SurfaceFlags& flags, Console& console) {
    const std::string path = file_of(flags.record_file);
    std::optional<Json> recorded;
    if (std::filesystem::exists(path)) {
        recorded = read_surface(path);
    }
    const auto breaking = flags.is_allowing_breaking ? surface::BreakingChanges::Allow
                                                     : surface::BreakingChanges::Refuse;
    write_file(
        path,
        surface::record_surface(
            recorded, surface::dump_surface(described_registry(config::Config{})), breaking
        )
    );
    console.note("recorded the surface in " + path);
    return kExitOk;
}

int run(const CommonOptions& common, const SurfaceFlags& flags, Console& console) {
    common.apply(console);
    const bool is_checking = flags.check->count() > 0;
    const bool is_recording = flags.record->count() > 0;
    if (is_checking && is_recording) {
        throw UsageError("--check and --record: give one of them");
    }
    if (flags.is_allowing_breaking && !is_recording) {
        throw UsageError("--allow-breaking: has a meaning only with --record");
    }
    if (is_checking) {
        return check_surface(common, flags, console);
    }
    return is_recording ? record_surface(flags, console) : print_surface(flags, console);
}

}  // namespace

void define_surface(const Definition& definition) {
    const auto common = add_output(definition);
    const auto flags = std::make_shared<SurfaceFlags>();
    CLI::App& app = definition.app();
    definition.word("--format", flags->format, {"json", "openapi", "tools"}, "What is printed")
        ->capture_default_str();
    const std::string where = std::string(", by default ") + surface::kSurfaceFile;
    flags->check =
        app.add_option("--check", flags->check_file, "Compares with the recorded surface" + where)
            ->expected(0, 1)
            ->type_name("FILE");
    flags->record = app.add_option(
                           "--record",
                           flags->record_file,
                           "Writes the surface" + where + "; refuses a breaking change"
    )
                        ->expected(0, 1)
                        ->type_name("FILE");
    app.add_flag(
        "--allow-breaking", flags->is_allowing_breaking, "Records a breaking change all the same"
    );
    definition.run([common, flags](Console& console) { return run(*common, *flags, console); });
}

}  // namespace compute::cli::commands
