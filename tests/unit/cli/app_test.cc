#include "cli/app.h"

#include <random>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/console.h"
#include "cli/help.h"
#include "core/error.h"

namespace compute::cli {
namespace {

using testing::HasSubstr;

void define_greet(const Definition& definition) {
    struct Flags {
        std::string name;
        std::vector<std::string> tags;
        int count = 1;
    };
    const auto flags = std::make_shared<Flags>();
    definition.word("NAME", flags->name, {"world", "moon"}, "Whom")->required();
    definition.repeated("--tag", flags->tags, "A tag");
    definition.whole("--count", flags->count, {1, 10}, "How often");
    definition.run([flags](Console& console) {
        console.line(
            "hello " + flags->name + " " + std::to_string(flags->tags.size()) + " " +
            std::to_string(flags->count)
        );
        return kExitOk;
    });
}

void define_colon(const Definition& definition) {
    definition.run([](Console& console) {
        console.line("colon");
        return kExitOk;
    });
}

void define_group(const Definition& definition) {
    definition.sub("inner", "Inner", "x group inner").run([](Console&) { return kExitOk; });
    const Definition take = definition.sub("take", "Takes", "x group take greet");
    const auto what = std::make_shared<std::string>();
    take.app().add_option("WHAT", *what, "What");
    take.run([what](Console& console) {
        console.line("took " + *what);
        return kExitOk;
    });
    definition.sub("refuse", "Refuses", "x group refuse").run([](Console&) -> int {
        throw ComputeError(
            ErrorCode::Conflict, "name: is taken", ErrorExtra{nullptr, "", "take another"}
        );
    });
    definition.sub("detail", "Refuses in detail", "x group detail").run([](Console&) -> int {
        throw ComputeError(ErrorCode::Conflict, "name: is taken", Json{{"reason", "name-taken"}});
    });
    definition.sub("usage", "Misuse", "x group usage").run([](Console&) -> int {
        throw UsageError("--a: needs --b", "give both");
    });
    definition.sub("break", "Breaks", "x group break").run([](Console&) -> int {
        throw std::runtime_error("broken");
    });
}

std::vector<Command> table() {
    return {
        {"greet", "Greets", "better-compute greet world", define_greet},
        {"api:surface", "Has a colon", "better-compute api:surface", define_colon},
        {"group", "A group", "better-compute group inner", define_group},
    };
}

struct Outcome {
    int status;
    std::string out;
    std::string err;
};

Outcome run(const std::vector<std::string>& arguments) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    int status = 0;
    {
        Console console;
        status = run_command_line(table(), arguments, console);
    }
    return {status, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

TEST(CommandLine, RunsWhatItNames) {
    const Outcome done = run({"greet", "world", "--tag", "a", "--tag", "b", "--count", "3"});

    EXPECT_EQ(done.status, kExitOk) << done.err;
    EXPECT_EQ(done.out, "hello world 2 3\n");
}

TEST(CommandLine, TakesACommandWithAColon) {
    EXPECT_EQ(run({"api:surface"}).out, "colon\n");
}

TEST(CommandLine, APositionalMayBeNamedAsAnotherCommand) {
    EXPECT_EQ(run({"group", "take", "inner"}).out, "took inner\n");
    EXPECT_EQ(run({"group", "take", "greet"}).out, "took greet\n");
}

TEST(CommandLine, HelpKeepsTo80ColumnsButForTheExample) {
    const std::string words = "and so on and on and on and on and on and on and on and on";
    const std::string text = "Usage: x\n  --flag                      " + words + " " + words +
                             "\nExample:\n  x " + words + " " + words + "\n";

    std::istringstream lines(wrap_help(text));
    bool is_example = false;
    for (std::string line; std::getline(lines, line);) {
        is_example = is_example || line == "Example:";
        EXPECT_TRUE(is_example ? line.size() != 80 : line.size() <= 80) << line;
    }
    EXPECT_THAT(wrap_help(text), HasSubstr("\n                              on"));
    EXPECT_THAT(wrap_help(text), HasSubstr("  x " + words + " " + words + "\n"));
}

TEST(CommandLine, AFlagThatRepeatsTakesOneValueEach) {
    // Otherwise the positional behind it would be swallowed.
    EXPECT_EQ(run({"greet", "--tag", "a", "moon"}).out, "hello moon 1 1\n");
}

TEST(CommandLine, MistakesHaveStatusTwoAndTheNearestWord) {
    EXPECT_THAT(
        run({"gret", "world"}).err,
        HasSubstr("INVALID_INPUT: unknown command: gret\nHint: did you mean greet?")
    );
    EXPECT_THAT(
        run({"greet", "world", "--tga", "x"}).err,
        HasSubstr("unknown flag: --tga\nHint: did you mean --tag?")
    );
    EXPECT_THAT(run({"greet", "world", "--cuont=3"}).err, HasSubstr("did you mean --count?"));
    EXPECT_THAT(run({"group", "iner"}).err, HasSubstr("did you mean inner?"));
    EXPECT_THAT(run({"greet", "wrold"}).err, HasSubstr("did you mean world?"));
    for (const auto& arguments : std::vector<std::vector<std::string>>{
             {},
             {"x"},
             {"greet"},
             {"greet", "world", "more"},
             {"greet", "world", "--count", "11"},
             {"greet", "world", "--count", "x"},
             {"group"},
             {"--nothing"},
             {"group", "usage"}}) {
        const Outcome done = run(arguments);
        EXPECT_EQ(done.status, kExitUsage) << testing::PrintToString(arguments) << done.err;
        EXPECT_EQ(done.out, "");
    }
}

TEST(CommandLine, RefusalsHaveStatusOneWithCodeAndHint) {
    const Outcome done = run({"group", "refuse"});

    EXPECT_EQ(done.status, kExitRefused);
    EXPECT_EQ(done.err, "CONFLICT: name: is taken\nHint: take another\n");
    EXPECT_EQ(
        run({"group", "detail"}).err,
        "CONFLICT: name: is taken\nDetails: {\"reason\":\"name-taken\"}\n"
    );
    EXPECT_EQ(run({"group", "usage"}).err, "INVALID_INPUT: --a: needs --b\nHint: give both\n");
    EXPECT_EQ(run({"group", "break"}).status, kExitRefused);
}

TEST(CommandLine, HelpHasAnExample) {
    for (const auto& arguments : std::vector<std::vector<std::string>>{
             {"greet", "--help"}, {"group", "inner", "-h"}, {"group", "--help"}}) {
        const Outcome done = run(arguments);
        EXPECT_EQ(done.status, kExitOk);
        EXPECT_THAT(done.out, HasSubstr("Example:"));
    }
    EXPECT_THAT(run({"--help"}).out, HasSubstr("api:surface"));
}

TEST(CommandLine, NoArgumentsWhateverEndTheProcess) {
    const std::vector<std::string> pieces = {
        "greet",
        "group",
        "inner",
        "--tag",
        "--count",
        "-",
        "--",
        "=",
        "[a,b]",
        "[",
        "]",
        "{",
        "}",
        "%%",
        "world",
        "--tag=",
        "-h",
        "\xff\xfe",
        "\n",
        "''",
        "@",
        "++",
        "--count=[1,2]",
        std::string(5000, 'a'),
        ""};
    std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): repeats on purpose
    for (int round = 0; round < 3000; ++round) {
        std::vector<std::string> arguments;
        for (std::size_t count = random() % 6; count > 0; --count) {
            std::string word = pieces[random() % pieces.size()];
            if (random() % 4 == 0 && !word.empty()) {
                word[random() % word.size()] = static_cast<char>(random() % 255 + 1);
            }
            arguments.push_back(std::move(word));
        }
        const int status = run(arguments).status;
        EXPECT_TRUE(status == kExitOk || status == kExitRefused || status == kExitUsage);
    }
}

}  // namespace
}  // namespace compute::cli
