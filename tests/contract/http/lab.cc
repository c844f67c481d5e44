#include "tests/contract/http/lab.h"

#include <stdexcept>

namespace compute::daemon {
namespace {

struct AnyInput {
    Json all;
};

// Takes every object: these methods are about the way to the handler and back, not about fields.
method::Method<AnyInput> any_method(std::string action, method::Kind kind) {
    method::Method<AnyInput> method;
    if (kind != method::Kind::Public) {
        method.action = std::move(action);
    }
    method.kind = kind;
    method.resource = [](const AnyInput& input) {
        return method::Resource::tenant(input.all.value("tenantId", "acme"));
    };
    method.validate = [](const Json& raw) {
        if (raw.contains("refused")) {
            throw invalid_input("refused: must not be given");
        }
        return AnyInput{raw};
    };
    method.json_schema = Json{{"type", "object"}};
    method.handler = [](method::Context&, AnyInput& input) { return input.all; };
    return method;
}

method::MethodEntry entry(
    std::string group, std::string name, const method::Method<AnyInput>& method
) {
    return {std::move(group), std::move(name), method::define_method(method), std::nullopt};
}

ComputeError error_of(const Json& wanted) {
    const auto code = find_error_code(wanted.at("code").get<std::string>());
    return {*code, wanted.value("message", "as asked"), wanted.value("details", Json())};
}

}  // namespace

std::vector<method::Module> lab_modules() {
    const std::string action = "compute:things:use";
    method::Module lab;
    lab.id = "lab";
    lab.methods.push_back(entry("things", "echo", any_method(action, method::Kind::Mutation)));
    lab.methods.push_back(entry("things", "get", any_method(action, method::Kind::Read)));
    auto fail = any_method(action, method::Kind::Mutation);
    fail.handler = [](method::Context&, AnyInput& input) -> Json {
        throw error_of(input.all.at("error"));
    };
    lab.methods.push_back(entry("things", "fail", fail));
    auto crash = any_method(action, method::Kind::Mutation);
    crash.handler = [](method::Context&, AnyInput&) -> Json {
        throw std::runtime_error("connect to postgres://user:hunter2@db failed");
    };
    lab.methods.push_back(entry("things", "crash", crash));
    auto start = any_method(action, method::Kind::Mutation);
    start.poll.emplace();
    start.poll->done = [](const Json&) { return false; };
    start.poll->refresh = [](method::Context&, AnyInput&, const Json& last) { return last; };
    lab.methods.push_back(entry("things", "start", start));
    auto status = any_method("", method::Kind::Public);
    status.resource = [](const AnyInput&) { return std::nullopt; };
    status.handler = [](method::Context& context, AnyInput&) {
        return Json{
            {"credential", context.credential ? std::string(context.credential->reveal()) : ""}};
    };
    lab.methods.push_back(entry("status", "get", status));

    method::Module acme;
    acme.id = "acme";
    acme.is_plugin = true;
    auto poke = any_method("compute:acme:poke", method::Kind::Mutation);
    poke.handler = [](method::Context&, AnyInput&) { return Json{{"poked", "w-1"}}; };
    acme.methods.push_back(entry("widgets", "poke", poke));
    return {std::move(lab), std::move(acme)};
}

HttpLab::HttpLab(store::Engine engine, config::Config config)
    : database_(engine), modules_(lab_modules()) {
    config.database.url = database_.url();
    ComputeOptions options;
    options.log = &log;
    options.iam = &iam;
    options.modules = &modules_;
    compute_ = std::make_unique<Compute>(config, options);
    health_ = std::make_unique<Health>(
        compute_->database(), compute_->migrations(), config.roles, clock, log
    );
    health_->set_started();
    api_ = std::make_unique<Api>(*compute_, *health_, Api::Offer::Methods);
    http::ServerOptions server;
    server.listeners.push_back({"127.0.0.1:0", false, nullptr});
    server.listeners.push_back({"127.0.0.1:0", true, nullptr});
    server.is_behind_proxy = config.behind_proxy;
    server_ = std::make_unique<http::HttpServer>(
        std::move(server), *api_, clock, crypto::system_rng(), log
    );
    api_->set_server_stats([this] { return server_->stats(); });
}

HttpLab::~HttpLab() {
    server_->finish_stop(std::chrono::milliseconds(1000));
}

support::RawAnswer HttpLab::send(const std::string& request) const {
    support::RawHttp client(address());
    auto answer = client.ask(request);
    if (!answer) {
        throw std::runtime_error("no answer to " + request.substr(0, 80));
    }
    return *answer;
}

std::string HttpLab::request(
    const std::string& path, const std::string& body, const std::string& credential
) {
    const std::string bearer =
        credential.empty() ? "" : "Authorization: Bearer " + credential + "\r\n";
    return support::post("/api/compute/" + path, body, bearer);
}

support::RawAnswer HttpLab::call(
    const std::string& path, const Json& input, const std::string& credential
) const {
    return send(request(path, input.dump(), credential));
}

}  // namespace compute::daemon
