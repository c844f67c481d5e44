// A consistent copy of an embedded database, taken while others read and write it.
#pragma once

#include <cstdint>
#include <string>

namespace compute::store {

// Copies the database file `from` to the new file `to` (mode 0600) as of one moment, and returns
// its size in bytes. INVALID_STATE when `to` is there already or cannot be written, STORAGE_BUSY
// when the copy cannot be made.
//
// The copy grows under another name, is synced, and gets its own name last: a process that dies on
// the way leaves nothing that looks like a backup.
std::uintmax_t backup_sqlite(const std::string& from, const std::string& to);

}  // namespace compute::store
