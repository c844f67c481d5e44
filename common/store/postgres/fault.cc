#include "store/postgres/fault.h"

#include "store/errors.h"

namespace compute::store::postgres {
namespace {

std::string field(const PGresult* result, int code) {
    const char* text = PQresultErrorField(result, code);
    return text != nullptr ? text : "";
}

FaultKind kind_of(const std::string& sqlstate, const std::string& message) {
    if (sqlstate == "40001" || sqlstate == "40P01") {
        return FaultKind::Conflict;
    }
    if (sqlstate == "0A000" && message.find("cached plan") != std::string::npos) {
        return FaultKind::StalePlan;
    }
    // 57P01..57P05: the server (or an operator) ends the session. 25P03: idle in transaction for
    // too long.
    // 08P01 is a broken message of ours (a wrong number of parameters), not a broken line.
    const bool is_ended = sqlstate.starts_with("57P") && sqlstate != "57P04";
    if (is_ended || (sqlstate.starts_with("08") && sqlstate != "08P01") || sqlstate == "25P03") {
        return FaultKind::Lost;
    }
    return FaultKind::Statement;
}

}  // namespace

Fault fault_of(const PGresult* result) {
    Fault fault;
    fault.sqlstate = field(result, PG_DIAG_SQLSTATE);
    fault.message = field(result, PG_DIAG_MESSAGE_PRIMARY);
    fault.constraint = field(result, PG_DIAG_CONSTRAINT_NAME);
    fault.kind = kind_of(fault.sqlstate, fault.message);
    if (fault.sqlstate.starts_with("22")) {
        fault.message = "data exception";  // the server quotes the value, which may be anything
    }
    return fault;
}

Fault lost_connection(const PGconn* connection) {
    std::string message = PQerrorMessage(connection);
    while (!message.empty() && message.back() == '\n') {
        message.pop_back();
    }
    return {
        .kind = FaultKind::Lost, .sqlstate = {}, .message = std::move(message), .constraint = {}};
}

void throw_fault(const Fault& fault, const std::string& sql) {
    const std::string detail = "postgres " + fault.sqlstate + ": " + fault.message + " in: " + sql;
    if (fault.kind != FaultKind::Statement) {
        throw StoreBusy(detail);
    }
    if (fault.sqlstate == "23505") {
        throw UniqueViolation(fault.constraint, detail);
    }
    if (fault.sqlstate.starts_with("23")) {
        throw ConstraintViolation(detail);
    }
    if (fault.sqlstate == "25006") {
        throw ReadOnlyViolation(detail);
    }
    // 53: out of disk, memory or connections; 55P03: lock not available in time; 57014: cancelled.
    if (fault.sqlstate.starts_with("53") || fault.sqlstate == "55P03" ||
        fault.sqlstate == "57014") {
        throw StoreBusy(detail);
    }
    if (fault.sqlstate == "26000") {
        throw internal_error(
            detail + " (behind a transaction pooler? set database.prepared = false)"
        );
    }
    throw internal_error(detail);
}

}  // namespace compute::store::postgres
