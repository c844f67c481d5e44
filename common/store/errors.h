// Errors of the store, typed where a caller branches on them. All are ComputeErrors, so one that
// nobody catches already has its code.
#pragma once

#include <string>

#include "core/error.h"

namespace compute::store {

// A unique or primary key constraint was violated. `constraint()` is its name on PostgreSQL,
// "table.column[, table.column]" on SQLite. The transaction goes on only when the statement ran in
// a savepoint of its own.
class UniqueViolation : public ComputeError {
public:
    UniqueViolation(std::string constraint, std::string log_detail);
    [[nodiscard]] const std::string& constraint() const noexcept { return constraint_; }

private:
    std::string constraint_;
};

// A check, foreign key or not-null constraint: a defect of ours, INTERNAL_ERROR.
class ConstraintViolation : public ComputeError {
public:
    explicit ConstraintViolation(std::string log_detail);
};

// The database is busy, full, away or restarting: STORAGE_BUSY with details.retryAfterMs.
class StoreBusy : public ComputeError {
public:
    explicit StoreBusy(std::string log_detail);
    // With a message that says more than "busy"; it reaches the caller.
    StoreBusy(std::string log_detail, std::string message);
};

// A write inside a read transaction: INTERNAL_ERROR.
class ReadOnlyViolation : public ComputeError {
public:
    explicit ReadOnlyViolation(std::string log_detail);
};

}  // namespace compute::store
