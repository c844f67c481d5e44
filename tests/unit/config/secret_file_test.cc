#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "config/deployment_secret.h"
#include "core/error.h"

#include "tests/support/seeded_rng.h"
#include "tests/unit/config/temp_folder.h"

namespace compute::config {
namespace {

using testing::HasSubstr;

struct Place {
    TempFolder folder;
    support::SeededRng rng;
    Config config;

    Place() { config.database.url = "sqlite:" + folder.file("compute.db"); }
    [[nodiscard]] std::string secret_file() const { return folder.file("compute.db.secret"); }
    std::string refusal(SecretNeed need) {
        try {
            resolve_secret(config, need, rng);
        } catch (const ComputeError& error) {
            EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
            return error.message();
        }
        return "taken";
    }
};

TEST(ResolveSecret, ServeMakesAFileForItsOwnerOnly) {
    Place place;

    const auto resolved = resolve_secret(place.config, SecretNeed::Serve, place.rng);

    EXPECT_TRUE(resolved.was_created);
    EXPECT_EQ(resolved.origin, place.secret_file());
    EXPECT_GE(place.config.secret.size(), 32U);
    struct stat info {};
    ASSERT_EQ(::stat(place.secret_file().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST(ResolveSecret, TheNextReadsTheSame) {
    Place place;
    resolve_secret(place.config, SecretNeed::Serve, place.rng);
    Config other;
    other.database.url = place.config.database.url;

    const auto resolved = resolve_secret(other, SecretNeed::Required, place.rng);

    EXPECT_FALSE(resolved.was_created);
    EXPECT_EQ(other.secret.reveal(), place.config.secret.reveal());
}

TEST(ResolveSecret, CommandsMakeNone) {
    Place place;

    EXPECT_EQ(resolve_secret(place.config, SecretNeed::Optional, place.rng).origin, "");
    EXPECT_THAT(place.refusal(SecretNeed::Required), HasSubstr("there is none yet"));
    EXPECT_FALSE(std::filesystem::exists(place.secret_file()));
}

TEST(ResolveSecret, PostgresNeedsOneInTheConfiguration) {
    Place place;
    place.config.database.url = "postgres://h/d";

    EXPECT_THAT(place.refusal(SecretNeed::Serve), HasSubstr("secret: is missing"));
}

TEST(ResolveSecret, TheConfigurationWinsOverTheFile) {
    Place place;
    place.folder.write("compute.db.secret", "x");
    place.config.secret = crypto::Secret(std::string(32, 's'));
    place.config.origins["secret"] = "BETTER_COMPUTE_SECRET";

    EXPECT_EQ(
        resolve_secret(place.config, SecretNeed::Serve, place.rng).origin, "BETTER_COMPUTE_SECRET"
    );
}

TEST(ResolveSecret, ThirtyOneCharactersAreTooFew) {
    Place place;
    place.config.secret = crypto::Secret(std::string(31, 's'));
    EXPECT_THAT(place.refusal(SecretNeed::Serve), HasSubstr("at least 32 characters"));

    place.config.secret = crypto::Secret(std::string(32, 's'));
    EXPECT_EQ(place.refusal(SecretNeed::Serve), "taken");
}

TEST(ResolveSecret, AFileOpenToOthersIsRefused) {
    Place place;
    place.folder.write("compute.db.secret", std::string(40, 's') + "\n");
    for (const mode_t mode : {0640U, 0604U, 0666U, 0610U}) {
        ASSERT_EQ(::chmod(place.secret_file().c_str(), mode), 0);
        EXPECT_THAT(place.refusal(SecretNeed::Serve), HasSubstr("open to other users"));
    }
    ASSERT_EQ(::chmod(place.secret_file().c_str(), 0600), 0);
    EXPECT_EQ(place.refusal(SecretNeed::Serve), "taken");
    EXPECT_EQ(place.config.secret.size(), 40U);
}

TEST(ResolveSecret, AFolderOrAShortFileIsRefused) {
    Place place;
    std::filesystem::create_directory(place.secret_file());
    EXPECT_THAT(place.refusal(SecretNeed::Serve), HasSubstr("plain file"));
    std::filesystem::remove(place.secret_file());

    place.folder.write("compute.db.secret", "short\n");
    ASSERT_EQ(::chmod(place.secret_file().c_str(), 0600), 0);
    EXPECT_THAT(place.refusal(SecretNeed::Serve), HasSubstr("at least 32 characters"));
}

TEST(ResolveSecret, ManyAtOnceAgreeOnOne) {
    Place place;
    std::vector<Config> configs(8, place.config);
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < configs.size(); ++i) {
            threads.emplace_back([&configs, i] {
                support::SeededRng rng(i + 1);
                resolve_secret(configs[i], SecretNeed::Serve, rng);
            });
        }
    }

    for (const Config& config : configs) {
        EXPECT_EQ(config.secret.reveal(), configs.front().secret.reveal());
    }
}

TEST(RootTokenFile, LiesBesideTheFileOrInTheWorkingDirectory) {
    Config config;
    config.database.url = "sqlite:/srv/compute.db";
    EXPECT_EQ(find_root_token_file(config), "/srv/compute.db.root-token");
    config.database.url = "postgres://h/fleet";
    EXPECT_EQ(find_root_token_file(config), "fleet.root-token");
    EXPECT_FALSE(find_secret_file(config));
    config.database.url = "sqlite::memory:";
    EXPECT_FALSE(find_root_token_file(config));
}

TEST(CreateSecretFile, NeverReplacesOneAndLeavesNoDraft) {
    const TempFolder folder;
    support::SeededRng rng;

    EXPECT_TRUE(create_secret_file(folder.file("token"), crypto::Secret("first"), rng));
    EXPECT_FALSE(create_secret_file(folder.file("token"), crypto::Secret("second"), rng));

    EXPECT_EQ(find_secret_in_file(folder.file("token"))->reveal(), "first");
    const std::filesystem::directory_iterator files(
        std::filesystem::path(folder.file("token")).parent_path()
    );
    EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

}  // namespace
}  // namespace compute::config
