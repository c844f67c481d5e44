#include "agent/machine.h"

#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "agent/agent.h"
#include "schema/manifest.h"

#include "tests/support/seeded_rng.h"
#include "tests/support/temp_folder.h"

namespace compute::agent {
namespace {

const char* const kNodeId = "node_00000000000000000000000000";

TEST(Machine, TheCredentialIsKeptForItsOwnerAlone) {
    const support::TempFolder folder;
    const std::string path = folder.path() + "/credential.json";
    EXPECT_FALSE(read_credential(path));

    write_credential(path, {kNodeId, crypto::Secret("secret")});
    write_credential(path, {kNodeId, crypto::Secret("newer")});

    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
    EXPECT_EQ(read_credential(path)->credential.reveal(), "newer");
    EXPECT_EQ(read_credential(path)->node_id, kNodeId);
}

TEST(Machine, AFileThatIsNoCredentialIsNamed) {
    const support::TempFolder folder;
    const std::string path = folder.path() + "/credential.json";
    std::ofstream(path) << "{\"nodeId\":";

    try {
        (void)read_credential(path);
        FAIL();
    } catch (const ComputeError& error) {
        EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
        EXPECT_EQ(error.message(), path + ": is no credential of a node");
    }
}

TEST(Machine, ATokenIsTheFirstLineOfItsFile) {
    const support::TempFolder folder;
    const std::string path = folder.path() + "/token";
    std::ofstream(path) << "bct_enroll_x \nsecond\n";

    EXPECT_EQ(read_token(path).reveal(), "bct_enroll_x");
    EXPECT_THROW((void)read_token(folder.path() + "/nothing"), ComputeError);
}

TEST(Machine, TheHostsNameIsANodesName) {
    EXPECT_NO_THROW((void)schema::name().check(Json(host_node_name()), "name"));
    EXPECT_GE(machine_cpu_milli(), 1000);
    EXPECT_GT(machine_memory_mib(), 1);
    EXPECT_FALSE(boot_id().empty());
}

TEST(AgentFlags, FakeGpusAreANumberAndAModel) {
    AgentOptions options;
    parse_fake_gpus("8:NVIDIA H100", options);
    EXPECT_EQ(options.fake_gpus, 8);
    EXPECT_EQ(options.fake_model, "NVIDIA H100");
    EXPECT_NO_THROW(parse_fake_gpus("16:T4", options));
    for (const char* bad : {"", "8", "8:", ":T4", "0:T4", "17:T4", "x:T4", "8x:T4", "1:<b>"}) {
        EXPECT_THROW(parse_fake_gpus(bad, options), ComputeError) << bad;
    }
}

TEST(Servers, PlainHttpIsForThisMachineOnly) {
    EXPECT_EQ(
        make_server("http://127.0.0.1:8420/api/compute", "").target, "/api/compute/agent/connect"
    );
    EXPECT_EQ(make_server("https://compute.example/x/", "").host, "compute.example:443");
    EXPECT_THROW((void)make_server("http://compute.example/api/compute", ""), ComputeError);
    EXPECT_THROW((void)make_server("ftp://127.0.0.1/", ""), ComputeError);
}

}  // namespace
}  // namespace compute::agent
