// Databases of the test cluster. A slot is a migrated database that outlives the test; while a
// process uses it, it holds an advisory lock on its number, so that test programs can run beside
// each other. Taking one empties its tables, restores the rows that the migrations wrote and starts
// its sequences anew; one whose schema a test has changed is made again.
#pragma once

#include <memory>
#include <string>

namespace compute::support {

// A database for one test; given back (or dropped) when destroyed.
class PostgresSlot {
public:
    virtual ~PostgresSlot() = default;
    [[nodiscard]] virtual std::string url() const = 0;
};

[[nodiscard]] std::unique_ptr<PostgresSlot> take_migrated_slot();
[[nodiscard]] std::unique_ptr<PostgresSlot> make_empty_database();

}  // namespace compute::support
