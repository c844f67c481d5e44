// What the server or libpq reported, with what it means for the transaction.
#pragma once

#include <string>

#include <libpq-fe.h>

namespace compute::store::postgres {

enum class FaultKind {
    Statement,  // this statement is at fault; the same again fails again
    Conflict,   // serialization failure or deadlock: the whole transaction may be tried again
    StalePlan,  // a prepared statement no longer fits the schema: prepare anew and try again
    Lost,       // the connection is gone
};

struct Fault {
    FaultKind kind = FaultKind::Statement;
    std::string sqlstate;    // empty when libpq itself noticed
    std::string message;     // primary message; without row values
    std::string constraint;  // when one was violated
};

[[nodiscard]] Fault fault_of(const PGresult* result);
[[nodiscard]] Fault lost_connection(const PGconn* connection);

// Throws it as one of the errors of store/errors.h.
[[noreturn]] void throw_fault(const Fault& fault, const std::string& sql);

}  // namespace compute::store::postgres
