#include "daemon/service_manager.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/temp_folder.h"

namespace compute::daemon {
namespace {

// A socket as systemd holds it.
class Manager {
public:
    explicit Manager(const std::string& name) : fd_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, name.data(), name.size());
        if (name[0] == '@') {
            address.sun_path[0] = '\0';
        }
        const void* raw = &address;
        EXPECT_EQ(
            ::bind(
                fd_,
                static_cast<const sockaddr*>(raw),
                static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())
            ),
            0
        );
        ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
    }
    ~Manager() {
        ::unsetenv("NOTIFY_SOCKET");
        ::close(fd_);
    }
    Manager(const Manager&) = delete;
    Manager& operator=(const Manager&) = delete;

    [[nodiscard]] std::string receive() const {
        std::array<char, 256> bytes{};
        const ssize_t count = ::recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
        return count < 0 ? "nothing" : std::string(bytes.data(), static_cast<std::size_t>(count));
    }

private:
    int fd_;
};

TEST(ServiceManager, StatesReachTheSocketOfThePath) {
    const support::TempFolder folder;
    const Manager manager(folder.path() + "/notify");

    ServiceManager().notify("READY=1");

    EXPECT_EQ(manager.receive(), "READY=1");
}

TEST(ServiceManager, StatesReachAnAbstractSocket) {
    const Manager manager("@better-compute-test-" + std::to_string(::getpid()));

    ServiceManager().notify("STOPPING=1");

    EXPECT_EQ(manager.receive(), "STOPPING=1");
}

TEST(ServiceManager, WithoutAManagerNothingHappens) {
    ServiceManager().notify("READY=1");

    EXPECT_EQ(ServiceManager().watchdog_interval(), std::nullopt);
}

TEST(ServiceManager, TheWatchdogIsFedTwiceAnInterval) {
    ::setenv("WATCHDOG_USEC", "30000000", 1);
    EXPECT_EQ(ServiceManager().watchdog_interval(), std::chrono::milliseconds(15'000));
    ::setenv("WATCHDOG_PID", "1", 1);
    EXPECT_EQ(ServiceManager().watchdog_interval(), std::nullopt) << "it is for another process";
    ::unsetenv("WATCHDOG_PID");
    ::setenv("WATCHDOG_USEC", "soon", 1);
    EXPECT_EQ(ServiceManager().watchdog_interval(), std::nullopt);
    ::unsetenv("WATCHDOG_USEC");
}

}  // namespace
}  // namespace compute::daemon
