// The node agent: one outbound connection that makes a machine a node and keeps it one. Nothing
// listens.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "agent/runner.h"
#include "core/error.h"

namespace compute::agent {

struct AgentOptions {
    Server server;
    std::string token_file;       // to join with
    std::string credential_file;  // of a node that has joined; instead of a token
    std::string data;             // folder where the credential is kept
    std::string name;             // to join under
    std::int64_t fake_gpus = 0;   // above 0: so many GPUs of `fake_model` instead of the machine's
    std::string fake_model;
    std::function<bool()> is_stopping;
};
// Runs until is_stopping, or until the server says that neither token nor credential is good; then
// throws what it said.
void run_agent(const AgentOptions& options, Rng& rng, Log& log);

// "8:H100"; throws INVALID_INPUT.
void parse_fake_gpus(std::string_view text, AgentOptions& options);

struct SimulateOptions {
    Server server;
    Json document;  // of a fleet
    // Calls a method of the API ("pools/list").
    std::function<Json(const std::string& path, const Json& input)> call;
    std::function<void(std::string_view line)> print;  // to standard output, at once
    int input_fd = 0;
    std::function<bool()> is_stopping;
};
// Speaks for every node of the document's groups until `quit` or is_stopping; the end of the input
// changes nothing. Prints "ready N" when all are welcomed.
void run_simulation(const SimulateOptions& options, Rng& rng, Log& log);

}  // namespace compute::agent
