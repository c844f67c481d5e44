// A lock on a database file, held by the process that serves it: two daemons on one SQLite file
// would each believe that they are the only writer's home.
#pragma once

#include <memory>
#include <string>

namespace compute::store {

// Held until destroyed, or until the process ends in whatever way.
class ProcessLock {
public:
    virtual ~ProcessLock() = default;
};

// Takes the lock for the database file `path`: flock on `<path>.lock`, which holds our process id.
// INVALID_STATE with the holder's id when another process (or another lock of this one) holds it;
// INVALID_CONFIG when the file cannot be made.
[[nodiscard]] std::unique_ptr<ProcessLock> acquire_process_lock(const std::string& path);

}  // namespace compute::store
