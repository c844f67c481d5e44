// The running process as a whole: started as a child, asked over HTTP, ended by signals.
#include "daemon/serve.h"

#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/deployment_secret.h"
#include "daemon/preflight.h"

#include "tests/support/eventually.h"
#include "tests/support/raw_http.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_database.h"

namespace compute::daemon {
namespace {

using support::eventually;
using support::RawHttp;

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

// A child that serves. Its standard error goes to a file.
class Served {
public:
    // The child's working directory is `folder`, or a folder that is gone.
    enum class Where { Folder, Nowhere };
    Served(const config::Config& config, const std::string& folder, Where where = Where::Folder) {
        static int number = 0;
        const std::string base = folder + "/" + std::to_string(number++);
        ready_file_ = base + ".ready";
        log_file_ = base + ".log";
        pid_ = ::fork();
        if (pid_ == 0) {
            if (std::freopen(log_file_.c_str(), "w", stderr) == nullptr) {
                ::_exit(3);
            }
            if (!enter(folder, where)) {
                ::_exit(3);
            }
            int status = 1;
            try {
                ServeOptions options;
                options.ready_file = ready_file_;
                options.reload = [config] {
                    config::Config changed = config;
                    changed.log_level = "debug";
                    return changed;
                };
                status = serve(config, options);
            } catch (const ComputeError& error) {
                std::fprintf(
                    stderr, "%s: %s\n", error_info(error.code()).name.data(), error.what()
                );
            }
            ::fflush(nullptr);
            ::_exit(status);
        }
    }
    ~Served() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
    }
    Served(const Served&) = delete;
    Served& operator=(const Served&) = delete;

    // The address when it became ready; empty when it ended before.
    std::string address() {
        static_cast<void>(eventually([&] {
            return ::access(ready_file_.c_str(), F_OK) == 0 || has_ended();
        }));
        if (::access(ready_file_.c_str(), F_OK) != 0) {
            return "";
        }
        const std::string url = Json::parse(read_file(ready_file_)).at("url");
        return url.substr(url.find("//") + 2);
    }
    void signal(int number) const { ::kill(pid_, number); }
    // The exit status, or -1 when it did not end in time or by itself.
    int wait() {
        static_cast<void>(eventually([&] { return has_ended(); }));
        return has_ended_ && WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
    }
    [[nodiscard]] std::string log() const { return read_file(log_file_); }
    [[nodiscard]] const std::string& ready_file() const { return ready_file_; }

private:
    static bool enter(const std::string& folder, Where where) {
        const std::string gone = folder + "/gone";
        return where == Where::Folder
                   ? ::chdir(folder.c_str()) == 0
                   : ::mkdir(gone.c_str(), 0700) == 0 && ::chdir(gone.c_str()) == 0 &&
                         ::rmdir(gone.c_str()) == 0;
    }

    bool has_ended() {
        if (!has_ended_ && ::waitpid(pid_, &status_, WNOHANG) == pid_) {
            has_ended_ = true;
            pid_ = 0;
        }
        return has_ended_;
    }

    std::string ready_file_;
    std::string log_file_;
    pid_t pid_ = 0;
    int status_ = 0;
    bool has_ended_ = false;
};

config::Config config_for(const std::string& url) {
    config::Config config;
    config.listen = "127.0.0.1:0";
    config.database.url = url;
    config.database.synchronous = "normal";
    config.events.delivery.timeout_ms = 1000;
    return config;
}

std::string get(const std::string& address, const std::string& target) {
    RawHttp client(address);
    const auto answer = client.ask("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n");
    return answer ? std::to_string(answer->status) + " " + answer->body : "no answer";
}

unsigned mode_of(const std::string& path) {
    struct stat about {};
    return ::stat(path.c_str(), &about) == 0 ? about.st_mode & 0777U : 0U;
}

TEST(Serve, AFirstRunNeedsNothingAndSaysWhatItMade) {
    const support::TempFolder folder;
    const std::string file = folder.path() + "/compute.db";
    Served served(config_for("sqlite:" + file), folder.path());

    const std::string address = served.address();

    ASSERT_NE(address, "") << served.log();
    EXPECT_EQ(get(address, "/healthz"), "200 {\"ok\":true}");
    EXPECT_TRUE(get(address, "/readyz").starts_with("200 "));
    EXPECT_EQ(mode_of(file + ".secret"), 0600U);
    EXPECT_EQ(mode_of(file + ".root-token"), 0600U);
    std::string token = read_file(file + ".root-token");
    token.pop_back();
    EXPECT_TRUE(token.starts_with("bct_")) << token.size();
    EXPECT_NE(served.log().find(file + ".root-token (made now)"), std::string::npos)
        << served.log();
    EXPECT_EQ(served.log().find(token), std::string::npos);
    RawHttp client(address);
    const auto answer = client.ask(support::post(
        "/api/compute/pools/list",
        R"({"tenantId":"root"})",
        "Authorization: Bearer " + token + "\r\n"
    ));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200) << answer->body;
}

TEST(Serve, ASignalEndsItCleanly) {
    for (const int signal : {SIGTERM, SIGINT}) {
        const support::TempFolder folder;
        Served served(config_for("sqlite:" + folder.path() + "/compute.db"), folder.path());
        const std::string address = served.address();
        ASSERT_NE(address, "") << served.log();
        RawHttp idle(address);
        ASSERT_EQ(idle.ask("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")->status, 200);

        served.signal(signal);

        EXPECT_EQ(served.wait(), 0) << served.log();
        EXPECT_TRUE(idle.is_closed_within(std::chrono::seconds(1)));
        EXPECT_NE(::access(served.ready_file().c_str(), F_OK), 0);
    }
}

TEST(Serve, AHangupReadsTheLogLevelAgainAndServesOn) {
    const support::TempFolder folder;
    Served served(config_for("sqlite:" + folder.path() + "/compute.db"), folder.path());
    const std::string address = served.address();
    ASSERT_NE(address, "") << served.log();

    served.signal(SIGHUP);

    EXPECT_TRUE(eventually([&] { return served.log().find("serve.reloaded") != std::string::npos; })
    );
    EXPECT_TRUE(get(address, "/nothing").starts_with("404 "));
    EXPECT_TRUE(eventually([&] { return served.log().find("http.refused") != std::string::npos; }))
        << "debug is not on";
}

TEST(Serve, ASecondOneOnTheSameFileIsRefusedByThePid) {
    const support::TempFolder folder;
    const config::Config config = config_for("sqlite:" + folder.path() + "/compute.db");
    Served first(config, folder.path());
    ASSERT_NE(first.address(), "") << first.log();

    Served second(config, folder.path());

    EXPECT_EQ(second.wait(), 1);
    EXPECT_NE(
        second.log().find(Json::parse(read_file(first.ready_file())).at("pid").dump()),
        std::string::npos
    ) << second.log();
}

TEST(Serve, ARestartKeepsSecretAndToken) {
    const support::TempFolder folder;
    const std::string file = folder.path() + "/compute.db";
    std::string before;
    for (int round = 0; round < 2; ++round) {
        Served served(config_for("sqlite:" + file), folder.path());
        ASSERT_NE(served.address(), "") << served.log();
        served.signal(SIGTERM);
        ASSERT_EQ(served.wait(), 0);
        const std::string now = read_file(file + ".secret") + read_file(file + ".root-token");
        EXPECT_TRUE(before.empty() || before == now);
        before = now;
    }
}

TEST(Serve, ControllersAloneAnswerHealthAndNoMethods) {
    const support::TempFolder folder;
    config::Config config = config_for("sqlite:" + folder.path() + "/compute.db");
    config.roles = {"controllers"};
    Served served(config, folder.path());
    const std::string address = served.address();
    ASSERT_NE(address, "") << served.log();

    EXPECT_TRUE(get(address, "/readyz").starts_with("200 "));
    EXPECT_TRUE(get(address, "/metrics").starts_with("200 "));
    RawHttp client(address);
    EXPECT_EQ(client.ask(support::post("/api/compute/pools/list"))->status, 404);
}

TEST(Serve, OffLoopbackItNeedsASecretAndTlsOrAProxy) {
    config::Config config = config_for("sqlite:unused.db");
    config.listen = "0.0.0.0:0";

    EXPECT_THROW(check_listener(config), ComputeError);
    config.secret = crypto::Secret(std::string(32, 's'));
    EXPECT_THROW(check_listener(config), ComputeError);
    config.behind_proxy = true;
    EXPECT_NO_THROW(check_listener(config));
    config.behind_proxy = false;
    config.tls.cert = "cert.pem";
    EXPECT_NO_THROW(check_listener(config));
}

TEST(ServeOnPostgres, PendingMigrationsAreRefusedAndAMissingSecretToo) {
    support::TestDatabase database(store::Engine::Postgres, support::Content::Empty);
    const support::TempFolder folder;
    config::Config config = config_for(database.url());
    Served without_secret(config, folder.path());
    config.secret = crypto::Secret(std::string(32, 's'));
    Served unmigrated(config, folder.path());

    EXPECT_EQ(without_secret.wait(), 1);
    EXPECT_NE(without_secret.log().find("INVALID_CONFIG: secret"), std::string::npos)
        << without_secret.log();
    EXPECT_EQ(unmigrated.wait(), 1);
    EXPECT_NE(unmigrated.log().find("migrations are pending"), std::string::npos)
        << unmigrated.log();
}

int status_with_token(const std::string& address, std::string token) {
    token.resize(token.find('\n'));
    RawHttp client(address);
    const auto answer = client.ask(support::post(
        "/api/compute/pools/list",
        R"({"tenantId":"root"})",
        "Authorization: Bearer " + token + "\r\n"
    ));
    return answer ? answer->status : 0;
}

TEST(ServeOnPostgres, AFirstRunMakesARootTokenInItsFolder) {
    support::TestDatabase database(store::Engine::Postgres);
    const support::TempFolder folder;
    config::Config config = config_for(database.url());
    config.secret = crypto::Secret(std::string(32, 's'));
    const std::string file = folder.path() + "/" + *config::find_root_token_file(config);
    std::ofstream(file) << "bct_of_another_deployment\n";

    Served first(config, folder.path());
    const std::string address = first.address();
    ASSERT_NE(address, "") << first.log();
    Served second(config, folder.path());
    ASSERT_NE(second.address(), "") << second.log();

    EXPECT_EQ(mode_of(file), 0600U);
    EXPECT_EQ(status_with_token(address, read_file(file)), 200);
    EXPECT_NE(first.log().find(".root-token (made now)"), std::string::npos) << first.log();
    EXPECT_EQ(second.log().find(".root-token (made now)"), std::string::npos) << second.log();
    EXPECT_EQ(read_file(file + ".old"), "bct_of_another_deployment\n");
}

TEST(ServeOnPostgres, WithoutAPlaceForTheTokenItServesAndTheNextMakesIt) {
    support::TestDatabase database(store::Engine::Postgres);
    const support::TempFolder folder;
    config::Config config = config_for(database.url());
    config.secret = crypto::Secret(std::string(32, 's'));

    Served nowhere(config, folder.path(), Served::Where::Nowhere);
    ASSERT_NE(nowhere.address(), "") << nowhere.log();
    EXPECT_NE(nowhere.log().find("serve.no_root_token"), std::string::npos) << nowhere.log();
    Served next(config, folder.path());

    const std::string address = next.address();
    ASSERT_NE(address, "") << next.log();
    const std::string file = folder.path() + "/" + *config::find_root_token_file(config);
    EXPECT_EQ(status_with_token(address, read_file(file)), 200);
}

TEST(ServeOnPostgres, TwoProcessesShareOneDatabase) {
    support::TestDatabase database(store::Engine::Postgres);
    const support::TempFolder folder;
    config::Config config = config_for(database.url());
    config.secret = crypto::Secret(std::string(32, 's'));
    Served first(config, folder.path());
    Served second(config, folder.path());

    EXPECT_TRUE(get(first.address(), "/readyz").starts_with("200 ")) << first.log();
    EXPECT_TRUE(get(second.address(), "/readyz").starts_with("200 ")) << second.log();
    first.signal(SIGTERM);
    second.signal(SIGTERM);
    EXPECT_EQ(first.wait(), 0) << first.log();
    EXPECT_EQ(second.wait(), 0) << second.log();
}

}  // namespace
}  // namespace compute::daemon
