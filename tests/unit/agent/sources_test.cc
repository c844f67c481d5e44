#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/gpu_source.h"
#include "agent/kernel_log.h"
#include "agent/run_program.h"

#include "tests/support/temp_folder.h"

namespace compute::agent {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class Sources : public ::testing::Test {
protected:
    support::TempFolder folder;

    std::string write(const std::string& name, const std::string& text) {
        const std::string path = folder.path() + "/" + name;
        std::filesystem::create_directories(std::filesystem::path(path).parent_path());
        std::ofstream(path) << text;
        return path;
    }
    // A stand-in for nvidia-smi that prints these lines.
    std::string smi(const std::string& lines) {
        const std::string path = write("nvidia-smi", "#!/bin/sh\ncat <<'END'\n" + lines + "END\n");
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
        return path;
    }
    std::string proc() {
        write(
            "proc/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug\n"
        );
        write(
            "proc/gpus/0000:cb:00.0/information",
            "Model: \t\t NVIDIA A100-SXM4-80GB\nIRQ:   \t\t 5\nGPU UUID: \t GPU-b\nDevice Minor: "
            "\t 1\n"
        );
        write(
            "proc/gpus/0000:07:00.0/information",
            "Model: \t\t NVIDIA A100-SXM4-80GB\nGPU UUID: \t GPU-a\nDevice Minor: \t 0\n"
        );
        write(
            "proc/gpus/0000:0f:00.0/information",
            "Model: \t\t Unknown\nGPU UUID: \t GPU-\?\?-\?\nDevice Minor: \t 2\n"
        );
        return folder.path() + "/proc";
    }
};

TEST_F(Sources, NvmlGivesTheGpusThatAnswer) {
    auto source = open_nvml(FAKE_NVML);
    ASSERT_NE(source, nullptr);

    ASSERT_THAT(source->read(), SizeIs(4));
    const auto gpu = source->read()[2];
    EXPECT_EQ(gpu.uuid, "GPU-00000000-0000-0000-0000-000000000002");
    EXPECT_EQ(gpu.index, 2);
    EXPECT_EQ(gpu.model, "NVIDIA H100 80GB HBM3");
    EXPECT_EQ(gpu.memory_mib, 81'559);
    EXPECT_EQ(gpu.pci_bus_id, "0000:c2:00.0");
    EXPECT_EQ(source->driver(), "535.104.05");

    ::setenv("FAKE_NVML_LOST", "13", 1);  // NOLINT(concurrency-mt-unsafe): this test alone
    const auto left = source->read();
    ::unsetenv("FAKE_NVML_LOST");  // NOLINT(concurrency-mt-unsafe)
    ASSERT_THAT(left, SizeIs(2));
    EXPECT_EQ(left[1].index, 2);
}

TEST_F(Sources, NvidiaSmiGivesTheGpusItLists) {
    auto source =
        open_smi(smi("0, GPU-a, NVIDIA A100-SXM4-80GB, 81920, 00000000:07:00.0, 535.104.05\n"
                     "Unable to determine the device handle for GPU 0000:0F:00.0: GPU is lost.\n"
                     "2, GPU-c, NVIDIA A100-SXM4-80GB, 81920, 00000000:CB:00.0, 535.104.05\n"));
    ASSERT_NE(source, nullptr);

    const auto gpus = source->read();
    ASSERT_THAT(gpus, SizeIs(2));
    EXPECT_EQ(gpus[1].uuid, "GPU-c");
    EXPECT_EQ(gpus[1].index, 2);
    EXPECT_EQ(gpus[1].memory_mib, 81'920);
    EXPECT_EQ(gpus[1].pci_bus_id, "0000:cb:00.0");
    EXPECT_EQ(source->driver(), "535.104.05");
}

TEST_F(Sources, ProcGivesTheGpusOfTheKernelModule) {
    auto source = open_proc(proc());
    ASSERT_NE(source, nullptr);

    const auto gpus = source->read();
    ASSERT_THAT(gpus, SizeIs(2));
    EXPECT_EQ(gpus[0].uuid, "GPU-a");
    EXPECT_EQ(gpus[1].uuid, "GPU-b");
    EXPECT_EQ(gpus[1].index, 1);
    EXPECT_EQ(gpus[1].model, "NVIDIA A100-SXM4-80GB");
    EXPECT_EQ(gpus[1].pci_bus_id, "0000:cb:00.0");
    EXPECT_EQ(source->driver(), "535.104.05");
}

TEST_F(Sources, TheFirstThatWorksIsKept) {
    const std::string program = smi("0, GPU-a, A100, 81920, 00000000:07:00.0, 535\n");
    const std::string nothing = folder.path() + "/nothing";

    EXPECT_EQ(find_gpu_source({FAKE_NVML, program, proc()})->name(), "nvml");
    EXPECT_EQ(find_gpu_source({nothing, program, proc()})->name(), "nvidia-smi");
    EXPECT_EQ(find_gpu_source({nothing, nothing, proc()})->name(), "proc");
    EXPECT_EQ(find_gpu_source({nothing, nothing, nothing}), nullptr);
}

TEST_F(Sources, AProgramThatFailsOrHangsGivesNothing) {
    EXPECT_EQ(
        run_program({"/bin/sh", "-c", "echo a; exit 3"}, std::chrono::seconds(10)), std::nullopt
    );
    EXPECT_EQ(
        run_program({"/bin/sh", "-c", "exec tail -f /dev/null"}, std::chrono::milliseconds(50)),
        std::nullopt
    );
    EXPECT_EQ(run_program({"/bin/sh", "-c", "echo a"}, std::chrono::seconds(10)), "a\n");
    EXPECT_EQ(run_program({folder.path() + "/nothing"}, std::chrono::seconds(10)), std::nullopt);
}

TEST_F(Sources, FakeGpusAreTheSameEachTime) {
    const auto gpus = fake_gpus(16, "H100", "m1/gpu-01");

    EXPECT_EQ(gpus, fake_gpus(16, "H100", "m1/gpu-01"));
    EXPECT_NE(gpus[0].uuid, fake_gpus(1, "H100", "m1/gpu-02")[0].uuid);
    EXPECT_NE(gpus[0].pci_bus_id, gpus[15].pci_bus_id);
    EXPECT_NO_THROW(agent_protocol::check_gpus(gpus));
}

TEST_F(Sources, NamesAreMadeFitForTheProtocol) {
    EXPECT_EQ(clean_model("NVIDIA H100 80GB HBM3"), "NVIDIA H100 80GB HBM3");
    EXPECT_EQ(clean_model(" <b>\xC3\xA9"), "b");
    EXPECT_EQ(clean_model(""), "unknown");
    EXPECT_EQ(clean_model(std::string(200, 'a')).size(), 96U);
    EXPECT_EQ(clean_bus_id("00000000:CB:00.0"), "0000:cb:00.0");
    EXPECT_EQ(clean_bus_id("00010000:CB:00.0"), "00010000:cb:00.0");
    EXPECT_EQ(clean_bus_id("0000:cb:00.0"), "0000:cb:00.0");
}

TEST(KernelLogLines, AnXidNamesItsGpu) {
    const auto xid = find_xid(
        "3,1234,5678,-;NVRM: Xid (PCI:0000:CB:00): 79, pid='<unknown>', GPU has fallen off the bus."
    );
    ASSERT_TRUE(xid);
    EXPECT_EQ(xid->number, 79);

    const auto event = event_of(*xid, {{"GPU-1", 0, "H100", 1, "0000:cb:00.0", {}, {}}});
    ASSERT_TRUE(event);
    EXPECT_EQ(event->uuid, "GPU-1");
    EXPECT_EQ(event->xid, 79);
    EXPECT_FALSE(event_of(*xid, {}));
}

TEST(KernelLogLines, OtherLinesAreNone) {
    EXPECT_FALSE(find_xid(""));
    EXPECT_FALSE(find_xid("NVRM: loading NVIDIA UNIX x86_64 Kernel Module"));
    EXPECT_FALSE(find_xid("NVRM: Xid (PCI:"));
    EXPECT_FALSE(find_xid("NVRM: Xid (PCI:): 79"));
    EXPECT_FALSE(find_xid("NVRM: Xid (PCI:0000:cb:00): many"));
}

}  // namespace
}  // namespace compute::agent
