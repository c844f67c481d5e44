// better-compute: the daemon and the tool of its operators. Its commands are the rows of table.cc.
#include <exception>
#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/console.h"
#include "cli/table.h"

int main(int argc, char** argv) {
    compute::cli::Console console;
    try {
        return compute::cli::run_command_line(
            compute::cli::command_table(),
            std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc),
            console
        );
    } catch (const std::exception& error) {
        console.error("INTERNAL_ERROR", error.what(), "");
        return compute::cli::kExitRefused;
    }
}
