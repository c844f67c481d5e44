// Which engine a url names, and that a password in it stays where it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/database.h"
#include "store/postgres/settings.h"

namespace compute::store {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Options options_of(std::string url) {
    Options options;
    options.url = std::move(url);
    return options;
}

std::string everything(const ComputeError& error) {
    return error.message() + "\n" + error.log_detail() + "\n" + error.hint();
}

TEST(Url, NamesItsEngine) {
    EXPECT_EQ(engine_of_url("sqlite:./x.db"), Engine::Sqlite);
    EXPECT_EQ(engine_of_url("sqlite::memory:"), Engine::Sqlite);
    EXPECT_EQ(engine_of_url("/var/lib/x.db"), Engine::Sqlite);
    EXPECT_EQ(engine_of_url("postgres://host/db"), Engine::Postgres);
    EXPECT_EQ(engine_of_url("postgresql://host/db"), Engine::Postgres);
}

TEST(Url, OfNoEngineIsRefusedWithoutRepeatingIt) {
    for (const char* url :
         {"", "sqlite:", "mysql://u:hunter2@h/d", "mysql://u:hunter2@h/d.db", "x.sqlite"}) {
        try {
            (void)engine_of_url(url);
            ADD_FAILURE() << url;
        } catch (const ComputeError& error) {
            EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
            EXPECT_THAT(everything(error), Not(HasSubstr("hunter2")));
        }
    }
}

TEST(Url, ThatIsMalformedIsRefusedWithoutThePassword) {
    try {
        (void)postgres::make_settings(options_of("postgresql://u:hunter2%zz@h/d"));
        FAIL();
    } catch (const ComputeError& error) {
        EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
        EXPECT_THAT(everything(error), Not(HasSubstr("hunter2")));
    }
}

TEST(Url, ShowsItsPlaceWithoutThePassword) {
    EXPECT_EQ(
        postgres::make_settings(options_of("postgresql://u:hunter2@h:5433/d?password=hunter2"))
            .location,
        "postgresql://u@h:5433/d"
    );
    EXPECT_EQ(
        postgres::make_settings(options_of("postgresql://u@/d?host=/run/pg")).location,
        "postgresql://u@/run/pg/d"
    );
}

TEST(Url, OfAServerThatIsAwayIsBusyWithoutThePassword) {
    try {
        (void)open_database(options_of("postgresql://u:hunter2@/d?host=/nonexistent"));
        FAIL();
    } catch (const StoreBusy& error) {
        EXPECT_THAT(error.message(), HasSubstr("postgresql://u@/nonexistent/d"));
        EXPECT_THAT(everything(error), Not(HasSubstr("hunter2")));
        EXPECT_TRUE(retry_after_ms(error).has_value());
    }
}

TEST(Url, OfAMissingFileIsRefusedWhenItMayNotBeMade) {
    Options options = options_of("sqlite:/nonexistent/x.db");
    EXPECT_THROW((void)open_database(options), ComputeError);
    options.create = false;
    EXPECT_THROW((void)open_database(options), ComputeError);
}

TEST(PoolSize, IsBounded) {
    for (const int size : {0, -1, 513}) {
        Options options = options_of("sqlite::memory:");
        options.pool_size = size;
        EXPECT_THROW((void)open_database(options), ComputeError) << size;
    }
}

}  // namespace
}  // namespace compute::store
