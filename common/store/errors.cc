#include "store/errors.h"

#include <utility>

#include <nlohmann/json.hpp>

namespace compute::store {
namespace {

constexpr int kRetryAfterMs = 250;

ErrorExtra extra(std::string log_detail) {
    return {.details = nullptr, .log_detail = std::move(log_detail), .hint = {}};
}

ErrorExtra busy_extra(std::string log_detail) {
    return {
        .details = std::make_shared<const Json>(Json{{"retryAfterMs", kRetryAfterMs}}),
        .log_detail = std::move(log_detail),
        .hint = {}};
}

}  // namespace

UniqueViolation::UniqueViolation(std::string constraint, std::string log_detail)
    : ComputeError(
          ErrorCode::Conflict,
          "a row with this key exists already",
          ErrorExtra{
              .details = std::make_shared<const Json>(Json{{"reason", "concurrent-change"}}),
              .log_detail = std::move(log_detail),
              .hint = {}}
      ),
      constraint_(std::move(constraint)) {}

ConstraintViolation::ConstraintViolation(std::string log_detail)
    : ComputeError(
          ErrorCode::InternalError, "Internal server error", extra(std::move(log_detail))
      ) {}

StoreBusy::StoreBusy(std::string log_detail)
    : StoreBusy(std::move(log_detail), "the database cannot take the request right now") {}

StoreBusy::StoreBusy(std::string log_detail, std::string message)
    : ComputeError(ErrorCode::StorageBusy, std::move(message), busy_extra(std::move(log_detail))) {}

ReadOnlyViolation::ReadOnlyViolation(std::string log_detail)
    : ComputeError(
          ErrorCode::InternalError, "Internal server error", extra(std::move(log_detail))
      ) {}

}  // namespace compute::store
