// SQLite files: their mode, and looking at one while another process writes.
#include <filesystem>
#include <fstream>

#include <sys/stat.h>

#include "tests/conformance/fixture.h"
#include "tests/support/temp_folder.h"

namespace compute::conformance {
namespace {

store::Options options_of(const std::string& path) {
    store::Options options;
    options.url = "sqlite:" + path;
    return options;
}

int mode_of(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return static_cast<int>(info.st_mode & 0777U);
}

TEST(SqliteFile, IsForItsOwnerOnly) {
    const support::TempFolder folder;
    const std::string path = folder.path() + "/x.db";
    const auto database = store::open_database(options_of(path));
    database->execute("create table items (id bigint)");

    EXPECT_EQ(mode_of(path), 0600);
    EXPECT_EQ(mode_of(path + "-wal"), 0600);
    EXPECT_EQ(mode_of(path + "-shm"), 0600);
}

TEST(SqliteFile, ThatIsNoDatabaseIsRefused) {
    const support::TempFolder folder;
    const std::string path = folder.path() + "/x.db";
    std::ofstream(path) << std::string(5000, 'x');

    try {
        (void)store::open_database(options_of(path));
        FAIL();
    } catch (const ComputeError& error) {
        EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
        EXPECT_THAT(error.message(), ::testing::HasSubstr(path));
    }
}

TEST(SqliteFile, ThatCannotBeOpenedIsRefusedWithWhatToLookAt) {
    const support::TempFolder folder;
    const std::string path = folder.path() + "/x.db";
    std::filesystem::create_directory(path);

    try {
        (void)store::open_database(options_of(path));
        FAIL();
    } catch (const ComputeError& error) {
        EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
        EXPECT_THAT(error.message(), ::testing::HasSubstr(path));
        EXPECT_THAT(error.hint(), ::testing::HasSubstr(path + "-wal"));
    }
}

TEST(SqliteFile, CanBeReadWhileAnotherHandleWrites) {
    const support::TempFolder folder;
    const std::string path = folder.path() + "/x.db";
    const auto writer = store::open_database(options_of(path));
    writer->execute("create table items (id bigint primary key, name text)");
    store::Options options = options_of(path);
    options.read_only = true;
    const auto reader = store::open_database(options);

    for (int i = 1; i <= 20; ++i) {
        writer->execute(kInsertItem, {i, "item"});
        EXPECT_EQ(reader->query(kCountItems).at(0).get_int(0), i);
    }
    EXPECT_THROW(reader->query("delete from items returning id"), store::ReadOnlyViolation);
}

TEST(SqliteFile, IsNotChangedByAReadOnlyOpen) {
    const support::TempFolder folder;
    const std::string path = folder.path() + "/x.db";
    store::open_database(options_of(path))->execute("create table items (id bigint)");
    const auto read_all = [&] {
        std::ifstream file(path, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    const std::string before = read_all();

    store::Options options = options_of(path);
    options.read_only = true;
    EXPECT_EQ(
        store::open_database(options)->query("select count(*) from items").at(0).get_int(0), 0
    );

    EXPECT_EQ(read_all(), before);
}

}  // namespace
}  // namespace compute::conformance
