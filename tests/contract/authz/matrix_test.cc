// Rows M157 and M56, in both IAM modes: who may do what, for every pair of action and resource
// type, and that a malformed request asks nobody. The verdicts stand in
// tests/golden/authz_matrix.txt; after a change that is meant, write it anew with
//
//     BETTER_COMPUTE_UPDATE_GOLDEN=1 build/test/tests/contract/authz/contract_authz
//
// and look at the difference.
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/compute.h"
#include "iam/better_iam/better_iam.h"

#include "tests/contract/authz/pairs.h"
#include "tests/contract/methods/schema_probes.h"
#include "tests/support/fake_better_iam.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/iam/local_plane.h"

namespace compute::contract {
namespace {

using iam::Question;
using iam::Session;

config::Config test_config() {
    config::Config config;
    config.secret = crypto::Secret("a-deployment-secret-for-tests-0001");
    return config;
}

// Both questions, for a read's and a mutation's; they must agree.
std::string verdict(iam::IamPort& port, const Session& session, const Question& question) {
    const bool may_read = port.authorize(session, question).is_allowed;
    const bool may_change = port.require(session, question).is_allowed;
    if (may_read != may_change) {
        return "MIXED";
    }
    return may_read ? "yes" : "no";
}

std::string padded(std::string text, std::size_t width) {
    text.resize(std::max(text.size() + 1, width), ' ');
    return text;
}

// The embedded IAM over a real database.
class LocalMode {
public:
    LocalMode(store::Engine engine, const Pairs& pairs) : plane_(engine) {
        plane_.apply(matrix_document(pairs).dump());
    }
    [[nodiscard]] Session session(const std::string& tenant, const std::string& identity) {
        return plane_.session(tenant, identity);
    }
    [[nodiscard]] iam::IamPort& port() { return plane_.iam; }

    [[nodiscard]] std::vector<std::string> verdicts(const Pair& pair, const std::string& number) {
        const Question asked = question_about(pair);
        std::vector<std::string> out;
        for (const char* grant : {"only-", "rest-", "but-"}) {
            out.push_back(verdict(port(), session(tenant_of(pair), grant + number), asked));
        }
        out.push_back(verdict(port(), session("acme", "nobody"), asked));
        out.push_back(verdict(port(), session("globex", "all"), asked));
        out.push_back(verdict(port(), session("root", "all"), asked));
        return out;
    }

private:
    iam::local::LocalPlane plane_;
};

// The body of /authorize for a question, as the contract has it.
Json wire_form(const Question& asked) {
    return {
        {"tenantId", asked.tenant_id.str()},
        {"action", asked.action},
        {"resource", {{"type", asked.resource.type}, {"id", asked.resource.id}}}};
}

// The remote IAM over HTTP. It has the policies; what is tried here is that our question is about
// the pair, and that its verdict is ours.
class RemoteMode {
public:
    explicit RemoteMode(store::Engine engine) : db_(engine) {
        std::ofstream(folder_.path() + "/key") << "service-key\n";
        iam::better_iam::BetterIamOptions options;
        options.url = remote_.url();
        options.service_key_file = folder_.path() + "/key";
        iam_.emplace(db_.database(), clock_, rng_, options);
    }

    [[nodiscard]] std::vector<std::string> verdicts(const Pair& pair) {
        const Question asked = question_about(pair);
        const crypto::Secret credential("user:" + tenant_of(pair));
        const Session session{iam_->authenticate(credential), credential};
        std::vector<std::string> out;
        const auto under = [&](support::FakeBetterIam::Rule rule) {
            remote_.set_rule(std::move(rule));
            out.push_back(verdict(*iam_, session, asked));
        };
        under([&](const Json& body, const Json&) { return body == wire_form(asked); });
        under([&](const Json& body, const Json&) { return body != wire_form(asked); });
        under([](const Json&, const Json&) { return false; });
        return out;
    }

private:
    support::FakeClock clock_;
    support::SeededRng rng_;
    support::TempFolder folder_;
    support::TestDatabase db_;
    support::FakeBetterIam remote_;
    std::optional<iam::better_iam::BetterIam> iam_;
};

constexpr const char* kHead =
    "# Who may do what, for every pair of action and resource type that a method names.\n"
    "#   only     an identity that may do this pair and nothing else\n"
    "#   rest     one that may do every other pair of this table\n"
    "#   but      one that may do everything, and is denied this pair\n"
    "#   nobody   one without a policy\n"
    "#   foreign  one of another tenant that may do everything there\n"
    "#   root     one of the root tenant that may do everything\n"
    "# A pair is decided in the tenant it belongs to, one on the fleet in the root tenant. Of a\n"
    "# remote IAM: it allows exactly this question, every other one, or none.\n"
    "#\n"
    "#                                              local                               "
    "better-iam\n"
    "# action                         on            only rest but  nobody foreign root  only rest "
    "nobody  methods\n";

std::string render(const Pairs& pairs, LocalMode& local, RemoteMode& remote) {
    constexpr std::size_t kWidths[] = {5, 5, 5, 7, 8, 6, 5, 5, 8};
    std::string text = kHead;
    int number = 0;
    for (const auto& [pair, methods] : pairs) {
        std::vector<std::string> cells = local.verdicts(pair, std::to_string(number++));
        const std::vector<std::string> of_remote = remote.verdicts(pair);
        cells.insert(cells.end(), of_remote.begin(), of_remote.end());
        text += padded(pair.action, 33) + padded(pair.type, 14);
        for (std::size_t i = 0; i < cells.size(); ++i) {
            text += padded(cells[i], kWidths[i]);
        }
        std::string separator;
        for (const std::string& method : methods) {
            text += separator + method;
            separator = ", ";
        }
        text += "\n";
    }
    return text;
}

class AuthzMatrix : public ::testing::TestWithParam<store::Engine> {};
INSTANTIATE_TEST_SUITE_P(Engines, AuthzMatrix, support::both_engines(), support::engine_name);

TEST_P(AuthzMatrix, M157_EveryPairIsAllowedAndDeniedInBothModes) {
    const Pairs pairs = pairs_of(api_registry(test_config()));
    LocalMode local(GetParam(), pairs);
    RemoteMode remote(GetParam());

    const std::string text = render(pairs, local, remote);

    if (std::getenv("BETTER_COMPUTE_UPDATE_GOLDEN") != nullptr) {  // NOLINT(concurrency-mt-unsafe)
        std::ofstream(COMPUTE_AUTHZ_MATRIX) << text;
    }
    std::stringstream golden;
    golden << std::ifstream(COMPUTE_AUTHZ_MATRIX).rdbuf();
    EXPECT_EQ(text, golden.str()) << "the first comment of this file says how to update it";
}

TEST_P(AuthzMatrix, M157_AGrantCoversItsOwnPairAlone) {
    const Pairs pairs = pairs_of(api_registry(test_config()));
    LocalMode local(GetParam(), pairs);

    int number = 0;
    for (const auto& [granted, unused] : pairs) {
        const Session session =
            local.session(tenant_of(granted), "only-" + std::to_string(number++));
        for (const auto& [asked, methods] : pairs) {
            const bool is_allowed = local.port().require(session, question_about(asked)).is_allowed;
            EXPECT_EQ(is_allowed, asked == granted)
                << granted.action << " on " << granted.type << " against " << asked.action << " on "
                << asked.type;
        }
    }
}

// A whole control plane in one of the modes.
class Plane {
public:
    enum class Mode { Local, BetterIam };

    Plane(store::Engine engine, Mode mode) : mode_(mode), db_(engine) {
        config::Config config = test_config();
        config.database.url = db_.url();
        if (mode == Mode::BetterIam) {
            std::ofstream(folder_.path() + "/key") << "service-key\n";
            config.iam.mode = "better-iam";
            config.iam.better_iam.url = remote_.url();
            config.iam.better_iam.service_key_file = folder_.path() + "/key";
        }
        pairs_ = pairs_of(api_registry(config));
        if (mode == Mode::Local) {
            const auto contents = iam::local::parse_document(matrix_document(pairs_));
            db_.database().write([&](store::Transaction& tx) {
                return iam::local::apply_document(tx, contents, {}, clock_.now_ms());
            });
        }
        daemon::ComputeOptions options;
        options.clock = &clock_;
        options.rng = &rng_;
        compute_.emplace(std::move(config), options);
        make_pool();
    }

    [[nodiscard]] const method::Registry& registry() const { return compute_->registry(); }

    enum class Grant { Only, Rest };
    // What a call of `method` comes to for a caller with that grant of `pair`.
    std::optional<ErrorCode> outcome(
        const method::RegisteredMethod& method, const Pair& pair, Grant grant
    ) {
        clock_.advance(std::chrono::seconds(11));  // past every cached allow
        return call(method.path, inputs_of(method).at(pair), credential_of(pair, grant));
    }

    // For each pair that the row of a method lists, an input that is decided on it. An admission
    // names its resource only in prepare, which wants a pool that is there.
    [[nodiscard]] std::map<Pair, Json> inputs_of(const method::RegisteredMethod& method) const {
        std::map<Pair, Json> inputs;
        for (Json input : find_good_inputs(method.definition)) {
            name_ground(method, input);
            const auto resource = method.definition.resource(method.definition.validate(input));
            const std::string& own = method.row->action;
            inputs.try_emplace(
                resource ? Pair{resource->action.value_or(own), resource->type}
                         : Pair{own, method.row->resource_type},
                std::move(input)
            );
        }
        return inputs;
    }
    std::optional<ErrorCode> call(
        const std::string& path, Json input, const crypto::Secret& credential
    ) {
        method::Call made;
        made.path = path;
        made.input = std::move(input);
        made.credential = credential;
        made.request_id = "req";
        return iam::local::code_of([&] { (void)compute_->call(std::move(made)); });
    }
    [[nodiscard]] Json good_input(const method::RegisteredMethod& method) const {
        Json input = find_good_inputs(method.definition).at(0);
        name_ground(method, input);
        return input;
    }

    // What the IAM has cost so far: statements of the embedded one, requests to the remote one.
    [[nodiscard]] std::uint64_t iam_effort() {
        return mode_ == Mode::BetterIam
                   ? remote_.requests("sts/getCallerIdentity").size() +
                         remote_.requests("authorize").size()
                   : compute_->database().counters(store::Purpose::Iam).statements;
    }

    // Of a caller in the pair's tenant; with a remote IAM, what it allows from now on.
    crypto::Secret credential_of(const Pair& pair, Grant grant) {
        if (mode_ == Mode::BetterIam) {
            remote_.set_rule([pair, grant](const Json& body, const Json&) {
                const bool is_pair = body.at("action") == pair.action &&
                                     body.at("resource").at("type") == "compute-" + pair.type &&
                                     body.at("tenantId") == tenant_of(pair);
                return is_pair == (grant == Grant::Only);
            });
            return crypto::Secret("user:" + tenant_of(pair));
        }
        const auto place = std::distance(pairs_.begin(), pairs_.find(pair));
        iam::local::NewToken wanted;
        wanted.tenant_id = tenant_of(pair);
        wanted.identity_id = (grant == Grant::Only ? "only-" : "rest-") + std::to_string(place);
        wanted.created_by = "test";
        return db_.database()
            .write([&](store::Transaction& tx) {
                return iam::local::create_token(tx, wanted, clock_, rng_);
            })
            .token;
    }

private:
    void make_pool() {
        method::Call made;
        made.path = "pools/create";
        made.input = {{"tenantId", "acme"}, {"name", "ground"}};
        made.credential = credential_of({"compute:pools:create", "tenant"}, Grant::Only);
        made.request_id = "req";
        pool_id_ = compute_->call(std::move(made)).at("id");
        clock_.advance(std::chrono::seconds(31));  // past what is cached of that caller
    }

    void name_ground(const method::RegisteredMethod& method, Json& input) const {
        const Json& properties = method.definition.json_schema->at("properties");
        if (properties.contains("tenantId")) {
            input["tenantId"] = "acme";
        }
        if (method.definition.admission && properties.contains("poolId")) {
            input["poolId"] = pool_id_;
        }
    }

    const Mode mode_;
    support::FakeClock clock_;
    support::SeededRng rng_;
    support::TempFolder folder_;
    support::TestDatabase db_;
    support::FakeBetterIam remote_;
    Pairs pairs_;
    std::optional<daemon::Compute> compute_;
    std::string pool_id_;
};

using Place = std::tuple<store::Engine, Plane::Mode>;
class AuthzServed : public ::testing::TestWithParam<Place> {};
INSTANTIATE_TEST_SUITE_P(
    Modes,
    AuthzServed,
    ::testing::Combine(
        support::both_engines(), ::testing::Values(Plane::Mode::Local, Plane::Mode::BetterIam)
    ),
    [](const ::testing::TestParamInfo<Place>& place) {
        const std::string engine =
            std::get<0>(place.param) == store::Engine::Sqlite ? "Sqlite" : "Postgres";
        return engine + (std::get<1>(place.param) == Plane::Mode::Local ? "Local" : "BetterIam");
    }
);

TEST_P(AuthzServed, M157_EveryServedMethodNeedsItsPairAndNothingElse) {
    Plane plane(std::get<0>(GetParam()), std::get<1>(GetParam()));
    const std::set<std::optional<ErrorCode>> not_admitted{
        ErrorCode::AccessDenied,
        ErrorCode::Unauthenticated,
        ErrorCode::IamUnavailable,
        ErrorCode::InternalError,
        ErrorCode::InvalidConfig};

    int tried = 0;
    for (const auto& [path, method] : plane.registry().methods()) {
        if (!method.row) {
            continue;
        }
        const auto inputs = plane.inputs_of(method);
        EXPECT_EQ(inputs.size(), 1 + method.row->alternatives.size()) << path;
        for (const auto& [pair, input] : inputs) {
            const std::string what = path + " on " + pair.type;
            ++tried;
            EXPECT_EQ(plane.outcome(method, pair, Plane::Grant::Rest), ErrorCode::AccessDenied)
                << what;
            const auto admitted = plane.outcome(method, pair, Plane::Grant::Only);
            EXPECT_FALSE(not_admitted.contains(admitted))
                << what << ": " << (admitted ? error_info(*admitted).name : "");
        }
    }
    EXPECT_GT(tried, 40);
}

TEST_P(AuthzServed, M56_AMalformedRequestReachesNoIam) {
    Plane plane(std::get<0>(GetParam()), std::get<1>(GetParam()));
    const Pair pair{"compute:pools:list", "tenant"};
    const crypto::Secret credential = plane.credential_of(pair, Plane::Grant::Only);
    const std::uint64_t before = plane.iam_effort();

    for (const auto& [path, method] : plane.registry().methods()) {
        Json malformed = plane.good_input(method);
        malformed["unknownField"] = 1;
        EXPECT_EQ(plane.call(path, std::move(malformed), credential), ErrorCode::InvalidInput)
            << path;
    }
    EXPECT_EQ(plane.iam_effort(), before);

    EXPECT_EQ(plane.call("pools/list", {{"tenantId", "acme"}}, credential), std::nullopt);
    EXPECT_GE(plane.iam_effort(), before + 2);
}

}  // namespace
}  // namespace compute::contract
