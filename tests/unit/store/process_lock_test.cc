#include "store/process_lock.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/error.h"

#include "tests/support/temp_folder.h"

namespace compute::store {
namespace {

TEST(ProcessLock, IsHeldOnceAndNamesItsHolder) {
    const support::TempFolder folder;
    const std::string path = folder.path() + "/x.db";
    const auto lock = acquire_process_lock(path);

    try {
        (void)acquire_process_lock(path);
        FAIL();
    } catch (const ComputeError& error) {
        EXPECT_EQ(error.code(), ErrorCode::InvalidState);
        EXPECT_EQ(
            error.message(),
            "database: " + path + " is in use by process " + std::to_string(::getpid())
        );
    }
}

TEST(ProcessLock, IsFreeAgainWhenItsHolderIsGone) {
    const support::TempFolder folder;
    const std::string path = folder.path() + "/x.db";
    acquire_process_lock(path).reset();

    EXPECT_NE(acquire_process_lock(path), nullptr);
}

TEST(ProcessLock, SurvivesRubbishInItsFile) {
    const support::TempFolder folder;
    const std::string path = folder.path() + "/x.db";
    std::ofstream(path + ".lock") << "rubbish of a crash, longer than any process id is";

    const auto lock = acquire_process_lock(path);

    std::ifstream file(path + ".lock");
    std::string first;
    std::getline(file, first);
    EXPECT_EQ(first, std::to_string(::getpid()));
}

TEST(ProcessLock, InAFolderThatIsNotThereIsAMistakeInTheConfiguration) {
    try {
        (void)acquire_process_lock("/nonexistent/x.db");
        FAIL();
    } catch (const ComputeError& error) {
        EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
    }
}

}  // namespace
}  // namespace compute::store
