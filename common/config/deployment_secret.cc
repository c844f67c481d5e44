#include "config/deployment_secret.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/checks.h"
#include "config/keys.h"
#include "core/error.h"
#include "core/ids.h"

namespace compute::config {

namespace {

constexpr std::size_t kMaxFileBytes = 4096;

class Descriptor {
public:
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (fd_ >= 0) {
            ::close(fd_);
        }
    }
    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] bool is_open() const { return fd_ >= 0; }

private:
    int fd_;
};

std::string reason_of(int error) {
    return std::generic_category().message(error);
}

std::string random_text(Rng& rng, std::size_t bytes) {
    std::string raw(bytes, '\0');
    rng.fill(raw.data(), raw.size());
    std::string text = crockford32(raw);
    std::fill(raw.begin(), raw.end(), '\0');
    return text;
}

void check_owner(int fd, const std::string& path) {
    struct stat info {};
    if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        throw invalid_config(path + ": must be a plain file");
    }
    if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        throw invalid_config(path + ": is open to other users", "run: chmod 600 " + path);
    }
    if (info.st_uid != ::geteuid() && ::geteuid() != 0) {
        throw invalid_config(path + ": belongs to another user", "run as its owner, or chown it");
    }
}

std::string read_all(int fd, const std::string& path) {
    std::string text(kMaxFileBytes + 1, '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        const ssize_t got = ::read(fd, text.data() + size, text.size() - size);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            throw invalid_config(path + ": cannot be read: " + reason_of(errno));
        }
        if (got == 0) {
            break;
        }
        size += static_cast<std::size_t>(got);
    }
    text.resize(size);
    if (size > kMaxFileBytes) {
        throw invalid_config(path + ": is larger than 4096 bytes");
    }
    return text;
}

void write_all(int fd, std::string_view text, const std::string& path) {
    while (!text.empty()) {
        const ssize_t put = ::write(fd, text.data(), text.size());
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put < 0) {
            throw invalid_config(path + ": cannot be written: " + reason_of(errno));
        }
        text.remove_prefix(static_cast<std::size_t>(put));
    }
}

// So that the name of a file just linked survives a power loss.
void sync_folder_of(const std::string& path) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    const Descriptor fd(
        ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    );
    if (fd.is_open()) {
        ::fsync(fd.get());
    }
}

void check_length(const crypto::Secret& secret, const std::string& origin) {
    if (count_characters(secret.reveal()) < kMinSecretCharacters) {
        throw invalid_config(origin + ": secret: must be a string of at least 32 characters");
    }
}

[[noreturn]] void refuse_missing(const Config& config) {
    if (find_database_file(config.database.url)) {
        throw invalid_config(
            "secret: there is none yet",
            "run better-compute serve once, which makes one, or set BETTER_COMPUTE_SECRET"
        );
    }
    throw invalid_config(
        "secret: is missing",
        "set BETTER_COMPUTE_SECRET or `secret` in the configuration file to one of at least 32 "
        "characters, the same for every process"
    );
}

}  // namespace

std::optional<std::string> find_secret_file(const Config& config) {
    const auto file = find_database_file(config.database.url);
    return file ? std::optional(*file + ".secret") : std::nullopt;
}

std::optional<std::string> find_root_token_file(const Config& config) {
    auto base = find_database_file(config.database.url);
    if (!base) {
        base = find_database_name(config.database.url);
    }
    return base ? std::optional(*base + ".root-token") : std::nullopt;
}

std::optional<crypto::Secret> find_secret_in_file(const std::string& path) {
    const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (!fd.is_open()) {
        if (errno == ENOENT) {
            return std::nullopt;
        }
        throw invalid_config(path + ": cannot be read: " + reason_of(errno));
    }
    check_owner(fd.get(), path);
    std::string text = read_all(fd.get(), path);
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) {
        text.pop_back();
    }
    return crypto::Secret(std::move(text));
}

bool create_secret_file(const std::string& path, const crypto::Secret& secret, Rng& rng) {
    const std::string draft = path + "." + random_text(rng, 10);
    {
        const Descriptor fd(
            ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)
        );
        if (!fd.is_open()) {
            throw invalid_config(path + ": cannot be written: " + reason_of(errno));
        }
        write_all(fd.get(), secret.reveal(), draft);
        write_all(fd.get(), "\n", draft);
        if (::fsync(fd.get()) != 0) {
            throw invalid_config(path + ": cannot be written: " + reason_of(errno));
        }
    }
    // link, not rename: it never replaces a file that another process made in between.
    const int linked = ::link(draft.c_str(), path.c_str());
    const int error = errno;
    ::unlink(draft.c_str());
    if (linked != 0 && error != EEXIST) {
        throw invalid_config(path + ": cannot be written: " + reason_of(error));
    }
    sync_folder_of(path);
    return linked == 0;
}

ResolvedSecret resolve_secret(Config& config, SecretNeed need, Rng& rng) {
    if (!config.secret.empty()) {
        const auto origin = config.origins.find("secret");
        const std::string name = origin == config.origins.end() ? "secret" : origin->second;
        check_length(config.secret, name);
        return {name, false};
    }
    ResolvedSecret resolved;
    if (const auto path = find_secret_file(config)) {
        auto found = find_secret_in_file(*path);
        if (!found && need == SecretNeed::Serve) {
            resolved.was_created = create_secret_file(
                *path, crypto::Secret(random_text(rng, kMinSecretCharacters)), rng
            );
            found = find_secret_in_file(*path);
        }
        if (found) {
            check_length(*found, *path);
            config.secret = std::move(*found);
            config.origins["secret"] = *path;
            resolved.origin = *path;
            return resolved;
        }
    } else if (need == SecretNeed::Serve && config.database.url.starts_with("sqlite::memory:")) {
        // Lives and dies with the database that is sealed under it.
        config.secret = crypto::Secret(random_text(rng, kMinSecretCharacters));
        return {"memory", true};
    }
    if (need != SecretNeed::Optional) {
        refuse_missing(config);
    }
    return resolved;
}

}  // namespace compute::config
