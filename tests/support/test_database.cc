#include "tests/support/test_database.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "store/migrate.h"

#include "tests/support/postgres_slots.h"
#include "tests/support/temp_folder.h"

namespace compute::support {
namespace {

constexpr std::int64_t kMigratedAt = 1'790'000'000'000;

store::Options quick_options(const std::string& url) {
    store::Options options;
    options.url = url;
    options.synchronous = store::Synchronous::Normal;
    return options;
}

// A migrated file, made once per process and copied for each test.
const std::string& sqlite_template() {
    static const TempFolder folder;
    static const std::string path = [] {
        std::string file = folder.path() + "/template.db";
        const auto database = store::open_database(quick_options("sqlite:" + file));
        store::migrate_up(*database, store::built_in_migrations(), kMigratedAt);
        return file;
    }();
    return path;
}

}  // namespace

struct TestDatabase::Place {
    std::string url;
    std::unique_ptr<TempFolder> folder;  // SQLite
    std::unique_ptr<PostgresSlot> slot;  // PostgreSQL
};

TestDatabase::TestDatabase(store::Engine engine, Content content)
    : engine_(engine), place_(std::make_unique<Place>()) {
    if (engine == store::Engine::Postgres) {
        place_->slot = content == Content::Migrated ? take_migrated_slot() : make_empty_database();
        place_->url = place_->slot->url();
        return;
    }
    place_->folder = std::make_unique<TempFolder>();
    place_->url = "sqlite:" + path();
    if (content == Content::Migrated) {
        std::filesystem::copy_file(sqlite_template(), path());
    }
}

TestDatabase::~TestDatabase() = default;

store::Database& TestDatabase::database() {
    if (!database_) {
        database_ = store::open_database(quick_options(place_->url));
    }
    return *database_;
}

std::unique_ptr<store::Database> TestDatabase::open(store::Options options) const {
    options.url = place_->url;
    return store::open_database(options);
}

void TestDatabase::close() {
    database_.reset();
}

const std::string& TestDatabase::url() const {
    return place_->url;
}

std::string TestDatabase::path() const {
    if (!place_->folder) {
        throw std::logic_error("path() of a PostgreSQL database");
    }
    return place_->folder->path() + "/test.db";
}

}  // namespace compute::support
