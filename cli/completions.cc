#include "cli/completions.h"

#include <algorithm>

#include "cli/app.h"
#include "cli/introspect.h"

namespace compute::cli {

namespace {

// The words of a command that a shell can offer next, with what they mean.
struct Word {
    std::string text;
    std::string meaning;
};

std::vector<Word> words_of(const CLI::App& app) {
    std::vector<Word> words;
    for (const CLI::App* sub : visible_commands(app)) {
        words.push_back({sub->get_name(), sub->get_description()});
    }
    for (const OptionFacts& positional : positionals_of(app)) {
        for (const std::string& word : positional.words) {
            words.push_back({word, positional.meaning});
        }
    }
    for (const OptionFacts& option : options_of(app)) {
        for (const std::string& name : option.long_names) {
            words.push_back({name, option.meaning});
        }
    }
    return words;
}

std::vector<const CLI::App*> with_root(const CLI::App& root) {
    std::vector<const CLI::App*> apps = all_commands(root);
    apps.insert(apps.begin(), &root);
    return apps;
}

// Inside single quotes of a shell.
std::string shell_quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    return out + "'";
}

// The shell code that finds which command is being typed; `words` is the shell's array of words
// before the cursor.
std::string path_cases(const CLI::App& root, std::string_view indent) {
    std::string out;
    for (const CLI::App* app : all_commands(root)) {
        out.append(out.empty() ? "" : " | ")
            .append("\\\n")
            .append(indent)
            .append(shell_quoted(full_name(*app)));
    }
    return out;
}

// Flags whose value is a file or folder.
std::string file_flags(const CLI::App& root) {
    std::vector<std::string> flags;
    for (const CLI::App* app : with_root(root)) {
        for (const OptionFacts& option : options_of(*app)) {
            if (option.value == "FILE" || option.value == "DIR") {
                flags.insert(flags.end(), option.long_names.begin(), option.long_names.end());
            }
        }
    }
    std::sort(flags.begin(), flags.end());
    flags.erase(std::unique(flags.begin(), flags.end()), flags.end());
    std::string out;
    for (const std::string& flag : flags) {
        out += (out.empty() ? "" : " | ") + flag;
    }
    return out;
}

std::string bash_script(const CLI::App& root) {
    std::string out =
        "# bash completion of better-compute, made by `better-compute generate completions`; do "
        "not edit.\n"
        "# A colon belongs to a word here (api:surface).\n"
        "COMP_WORDBREAKS=${COMP_WORDBREAKS//:}\n"
        "_better_compute() {\n"
        "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} "
        "path=better-compute words= i\n"
        "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
        "        case \"$path ${COMP_WORDS[i]}\" in " +
        path_cases(root, "            ") +
        ")\n"
        "                path=\"$path ${COMP_WORDS[i]}\" ;;\n"
        "        esac\n"
        "    done\n"
        "    case $previous in\n"
        "        " +
        file_flags(root) +
        ")\n"
        "            COMPREPLY=($(compgen -f -- \"$current\"))\n"
        "            return ;;\n"
        "    esac\n"
        "    case $path in\n";
    for (const CLI::App* app : with_root(root)) {
        std::string words;
        for (const Word& word : words_of(*app)) {
            words += (words.empty() ? "" : " ") + word.text;
        }
        out +=
            "        " + shell_quoted(full_name(*app)) + ") words=" + shell_quoted(words) + " ;;\n";
    }
    return out +
           "    esac\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
           "    [[ ${#COMPREPLY[@]} -gt 0 || $current == -* ]] || COMPREPLY=($(compgen -f -- "
           "\"$current\"))\n"
           "}\n"
           "complete -F _better_compute better-compute\n";
}

std::string zsh_script(const CLI::App& root) {
    std::string out =
        "#compdef better-compute\n"
        "# zsh completion of better-compute, made by `better-compute generate completions`; do not "
        "edit.\n"
        "_better_compute() {\n"
        "    local at=better-compute i\n"
        "    local -a offers\n"
        "    for ((i = 2; i < CURRENT; i++)); do\n"
        "        case \"$at ${words[i]}\" in " +
        path_cases(root, "            ") +
        ")\n"
        "                at=\"$at ${words[i]}\" ;;\n"
        "        esac\n"
        "    done\n"
        "    case ${words[CURRENT-1]} in\n"
        "        " +
        file_flags(root) +
        ") _files; return ;;\n"
        "    esac\n"
        "    case $at in\n";
    for (const CLI::App* app : with_root(root)) {
        out += "        " + shell_quoted(full_name(*app)) + ") offers=(";
        for (const Word& word : words_of(*app)) {
            std::string text = word.text;
            // The colon parts word from meaning.
            if (const std::size_t colon = text.find(':'); colon != std::string::npos) {
                text.insert(colon, "\\");
            }
            out += "\n            " + shell_quoted(text + ":" + word.meaning);
        }
        out += ") ;;\n";
    }
    return out +
           "    esac\n"
           "    _describe -t commands better-compute offers || _files\n"
           "}\n"
           "_better_compute \"$@\"\n";
}

std::string fish_script(const CLI::App& root) {
    std::string out =
        "# fish completion of better-compute, made by `better-compute generate completions`; do "
        "not edit.\n"
        "function __better_compute_at\n"
        "    set -l path better-compute\n"
        "    for word in (commandline -opc)[2..-1]\n"
        "        switch \"$path $word\"\n"
        "            case " +
        [&] {
            std::string cases;
            for (const CLI::App* app : all_commands(root)) {
                cases += (cases.empty() ? "" : " ") + shell_quoted(full_name(*app));
            }
            return cases;
        }() +
        "\n"
        "                set path \"$path $word\"\n"
        "        end\n"
        "    end\n"
        "    test \"$path\" = \"$argv[1]\"\n"
        "end\n";
    for (const CLI::App* app : with_root(root)) {
        const std::string at = "complete -c better-compute -n " +
                               shell_quoted("__better_compute_at " + shell_quoted(full_name(*app)));
        for (const CLI::App* sub : visible_commands(*app)) {
            out += at + " -f -a " + shell_quoted(sub->get_name()) + " -d " +
                   shell_quoted(sub->get_description()) + "\n";
        }
        for (const OptionFacts& positional : positionals_of(*app)) {
            for (const std::string& word : positional.words) {
                out += at + " -f -a " + shell_quoted(word) + " -d " +
                       shell_quoted(positional.meaning) + "\n";
            }
        }
        for (const OptionFacts& option : options_of(*app)) {
            for (const std::string& name : option.long_names) {
                out += at + " -l " + name.substr(2) + (option.value.empty() ? "" : " -r") + " -d " +
                       shell_quoted(option.meaning) + "\n";
            }
        }
    }
    return out;
}

}  // namespace

std::string completion_script(const CLI::App& root, std::string_view shell) {
    if (shell == "bash") {
        return bash_script(root);
    }
    return shell == "zsh" ? zsh_script(root) : fish_script(root);
}

}  // namespace compute::cli
