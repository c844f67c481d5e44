// Whatever somebody types: thousands of command lines made from the real table of commands, and as
// many that are nearly right. Seeded, so that a failure comes again.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/app.h"
#include "cli/console.h"
#include "cli/introspect.h"
#include "cli/table.h"

#include "tests/support/temp_folder.h"

namespace compute::cli {
namespace {

constexpr int kParsed = 6000;
constexpr int kRun = 700;

struct Known {
    std::vector<std::string> words;  // of the command: "webhooks", "jobs"
    std::vector<OptionFacts> options;
    std::vector<OptionFacts> positionals;
};

std::vector<Known>& found() {
    static std::vector<Known> list;
    return list;
}

void define_probe(const Definition& definition) {
    const CLI::App* root = definition.app().get_parent();
    definition.run([root](Console&) {
        for (const CLI::App* app : all_commands(*root)) {
            Known known{{}, options_of(*app), positionals_of(*app)};
            for (const CLI::App* at = app; at->get_parent() != nullptr; at = at->get_parent()) {
                known.words.insert(known.words.begin(), at->get_name());
            }
            found().push_back(std::move(known));
        }
        return kExitOk;
    });
}

// What the real table knows, asked of the parser itself.
const std::vector<Known>& known_commands() {
    if (found().empty()) {
        auto table = command_table();
        table.push_back({"probe", "Looks", "better-compute probe", define_probe, true});
        Console console;
        EXPECT_EQ(run_command_line(table, {"probe"}, console), kExitOk);
    }
    return found();
}

class Typist {
public:
    explicit Typist(std::uint32_t seed) : random_(seed) {}

    // A command line for one of the commands: mostly right, sometimes a slip in any place.
    std::vector<std::string> type(const Known& known) {
        std::vector<std::string> line = known.words;
        for (std::size_t count = below(4); count > 0 && !known.options.empty(); --count) {
            add_option(known.options[below(known.options.size())], line);
        }
        for (const OptionFacts& positional : known.positionals) {
            if (below(3) > 0) {
                line.push_back(value_of(positional));
            }
        }
        for (std::string& word : line) {
            if (below(12) == 0) {
                slip(word);
            }
        }
        if (below(8) == 0) {
            std::swap(line[below(line.size())], line[below(line.size())]);
        }
        return line;
    }
    std::size_t below(std::size_t bound) { return random_() % bound; }

private:
    void add_option(const OptionFacts& option, std::vector<std::string>& line) {
        const std::string flag =
            option.long_names.empty() ? option.flags : option.long_names.front();
        if (option.value.empty()) {
            line.push_back(below(10) == 0 ? flag + "=" + odd() : flag);
        } else if (below(2) == 0) {
            line.push_back(flag + "=" + value_of(option));
        } else {
            line.push_back(flag);
            if (below(8) > 0) {
                line.push_back(value_of(option));
            }
        }
    }
    std::string value_of(const OptionFacts& facts) {
        if (!facts.words.empty() && below(3) > 0) {
            return facts.words[below(facts.words.size())];
        }
        return odd();
    }
    // No slash in any of them: what is run writes into its own folder and nowhere else.
    std::string odd() {
        static const std::vector<std::string> kOdd = {
            "",
            "-",
            "--",
            "=",
            "[a,b]",
            "[",
            "]",
            "{",
            "{}",
            "[]",
            "x:=1",
            "a.b[]=c",
            "a=@none",
            ":=",
            "%s%n",
            "0",
            "-1",
            "1",
            "99999999999999999999",
            "1e9",
            "2h",
            "3d",
            "99999999999d",
            "2026-02-30T00:00:00Z",
            "acme",
            "dlv_1",
            "whk_0",
            "pool.*",
            "*",
            "**",
            "@",
            "~",
            "$HOME",
            "\xff\xfe",
            "\xe2\x80",
            "\xe6\x97\xa5\xe6\x9c\xac",
            "\xf0\x9f\x92\xa9",
            "\n",
            "\x1b[31m",
            "'",
            "\"",
            "\\",
            std::string(70'000, 'a'),
            std::string(200, '['),
            "--json",
            "-h",
            "postgres:x",
            "none.db",
            "sqlite:"};
        return kOdd[below(kOdd.size())];
    }
    void slip(std::string& word) {
        const std::size_t at = word.empty() ? 0 : below(word.size());
        switch (below(4)) {
            case 0:
                word.insert(at, 1, letter());
                break;
            case 1:
                word.erase(at, 1);
                break;
            case 2:
                if (!word.empty()) {
                    word[at] = letter();
                }
                break;
            default:
                word += odd();
        }
    }
    char letter() {
        const char made = static_cast<char>(below(255) + 1);
        return made == '/' ? '-' : made;
    }

    std::mt19937 random_;
};

// Outputs of the commands go nowhere, and nothing waits at standard input.
class Silence {
public:
    Silence() : out_(::dup(STDOUT_FILENO)), err_(::dup(STDERR_FILENO)), in_(::dup(STDIN_FILENO)) {
        std::fflush(nullptr);
        const int none = ::open("/dev/null", O_RDWR | O_CLOEXEC);
        for (const int fd : {STDOUT_FILENO, STDERR_FILENO, STDIN_FILENO}) {
            ::dup2(none, fd);
        }
        ::close(none);
    }
    ~Silence() {
        std::fflush(nullptr);
        const std::array<std::pair<int, int>, 3> saved = {
            {{out_, STDOUT_FILENO}, {err_, STDERR_FILENO}, {in_, STDIN_FILENO}}};
        for (const auto& [from, to] : saved) {
            ::dup2(from, to);
            ::close(from);
        }
    }
    Silence(const Silence&) = delete;
    Silence& operator=(const Silence&) = delete;

private:
    int out_;
    int err_;
    int in_;
};

std::string shown(const std::vector<std::string>& line) {
    std::string out;
    for (const std::string& word : line) {
        out += " [" + word.substr(0, 80) + "]";
    }
    return out;
}

bool is_status(int status) {
    return status == kExitOk || status == kExitRefused || status == kExitUsage;
}

TEST(Arguments, TheTableTellsItsCommands) {
    EXPECT_GT(known_commands().size(), 25U);
}

TEST(Arguments, WhateverIsTypedIsParsedOrRefused) {
    const auto table = command_table();
    const auto& commands = known_commands();
    Typist typist(20260924);
    std::array<int, 3> seen{};
    for (int round = 0; round < kParsed; ++round) {
        const auto line = typist.type(commands[typist.below(commands.size())]);
        int status = 0;
        {
            const Silence silence;
            Console console;
            status = parse_for_test(table, line, console);
        }
        ASSERT_TRUE(is_status(status)) << shown(line);
        ++seen.at(static_cast<std::size_t>(status));
    }
    // Otherwise the typist has got nowhere near the commands, or makes no slips.
    EXPECT_GT(seen[kExitOk], kParsed / 10);
    EXPECT_GT(seen[kExitUsage], kParsed / 10);
}

// Run for real in a folder of their own. Left out: what stays (serve), what asks the network, and
// what writes where it is told.
TEST(Arguments, WhateverIsRunEndsWithAStatus) {
    const support::TempFolder folder;
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    for (const char* variable :
         {"BETTER_COMPUTE_TEST_POSTGRES",
          "BETTER_COMPUTE_URL",
          "BETTER_COMPUTE_TOKEN",
          "BETTER_COMPUTE_CONFIG",
          "BETTER_COMPUTE_DATABASE_URL"}) {
        ::unsetenv(variable);
    }
    const auto is_left_out = [](const std::vector<std::string>& line) {
        static const std::vector<std::string> kOut = {
            "serve", "check", "fleet", "agent", "--url", "generate"};
        for (const std::string& word : line) {
            for (const std::string& out : kOut) {
                if (word.find(out) != std::string::npos) {
                    return true;
                }
            }
        }
        return false;
    };
    const auto table = command_table();
    const auto& commands = known_commands();
    Typist typist(42);
    for (int round = 0; round < kRun; ++round) {
        const auto line = typist.type(commands[typist.below(commands.size())]);
        if (is_left_out(line)) {
            continue;
        }
        int status = 0;
        {
            const Silence silence;
            Console console;
            status = run_command_line(table, line, console);
        }
        EXPECT_TRUE(is_status(status)) << shown(line);
    }
    std::filesystem::current_path(before);
}

}  // namespace
}  // namespace compute::cli
