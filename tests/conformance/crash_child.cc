// Writes rows from several threads until it is killed, and says which of them were answered: one
// number per line on stdout. usage: store_crash_child URL
#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "store/database.h"

int main(int argc, char** argv) {
    if (argc != 2) {
        return 2;
    }
    compute::store::Options options;
    options.url = argv[1];
    const auto database = compute::store::open_database(options);
    std::atomic<std::int64_t> next{
        database->query("select coalesce(max(id), 0) from items").at(0).get_int(0)};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] {
            while (true) {
                const std::int64_t id = ++next;
                database->write([&](compute::store::Transaction& tx) {
                    tx.defer(
                        "insert into items (id, name) values ($1, $2)", {id, std::to_string(id)}
                    );
                });
                const std::string line = std::to_string(id) + "\n";
                if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) {
                    ::_exit(1);
                }
            }
        });
    }
}
