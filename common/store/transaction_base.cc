#include "store/transaction_base.h"

#include <utility>

namespace compute::store {
namespace {

thread_local int t_depth = 0;

}  // namespace

int transaction_depth() noexcept {
    return t_depth;
}

void check_not_nested() {
    if (t_depth > 0) {
        throw ComputeError(
            ErrorCode::InvalidState,
            "transaction: opened inside another one",
            ErrorExtra{
                .details = nullptr,
                .log_detail = "read() or write() inside a transaction of the same thread: pass the "
                              "transaction on",
                .hint = {}}
        );
    }
}

DepthGuard::DepthGuard() {
    check_not_nested();
    ++t_depth;
}

DepthGuard::~DepthGuard() {
    --t_depth;
}

Counters Counting::snapshot(Purpose purpose) const {
    const Cell& cell = cells_[static_cast<std::size_t>(purpose)];
    return {
        .read_transactions = cell.read_transactions,
        .write_transactions = cell.write_transactions,
        .statements = cell.statements,
        .commits = cell.commits,
        .rollbacks = cell.rollbacks,
        .retries = cell.retries,
        .round_trips = cell.round_trips};
}

void check_params(const Params& params) {
    for (const Param& param : params) {
        const auto* text = std::get_if<std::string>(&param.value());
        if (text != nullptr && text->find('\0') != std::string::npos) {
            throw internal_error("a bound text contains U+0000");
        }
        if (const auto* list = std::get_if<TextList>(&param.value())) {
            for (const auto& item : *list) {
                if (item && item->find('\0') != std::string::npos) {
                    throw internal_error("a bound text contains U+0000");
                }
            }
        }
    }
}

template <class Function>
auto TransactionBase::guarded(Function&& function) {
    if (failure_) {
        std::rethrow_exception(failure_);
    }
    counting_.statements.fetch_add(1, std::memory_order_relaxed);
    try {
        return function();
    } catch (...) {
        failure_ = std::current_exception();
        throw;
    }
}

Rows TransactionBase::query(Sql sql, const Params& params) {
    return guarded([&] {
        check_params(params);
        return do_query(sql, params);
    });
}

std::int64_t TransactionBase::execute(Sql sql, const Params& params) {
    return guarded([&] {
        check_params(params);
        return do_execute(sql, params);
    });
}

void TransactionBase::defer(Sql sql, const Params& params) {
    guarded([&] {
        check_params(params);
        do_defer(sql, params);
    });
}

void TransactionBase::script(std::string_view text) {
    guarded([&] { do_script(text); });
}

void TransactionBase::after_commit(std::function<void()> function) {
    hooks_.push_back(std::move(function));
}

std::optional<std::int64_t>& TransactionBase::memo(std::string_view key) {
    const auto found = memos_.find(key);
    return found != memos_.end() ? found->second : memos_[std::string(key)];
}

void TransactionBase::check_committable() const {
    if (failure_) {
        std::rethrow_exception(failure_);
    }
}

void TransactionBase::run_savepoint(const std::function<void()>& function) {
    check_committable();
    const std::size_t hook_count = hooks_.size();
    try {
        begin_savepoint(depth_ + 1);
    } catch (...) {
        failure_ = std::current_exception();
        throw;
    }
    const int depth = ++depth_;
    try {
        function();
        check_committable();
        release_savepoint(depth);
    } catch (...) {
        undo(depth, hook_count);
        throw;
    }
    --depth_;
}

void TransactionBase::undo(int depth, std::size_t hook_count) noexcept {
    --depth_;
    hooks_.resize(hook_count);
    const std::exception_ptr before = std::exchange(failure_, nullptr);
    if (is_lost()) {
        failure_ = before ? before : std::current_exception();
        return;
    }
    try {
        undo_savepoint(depth);
    } catch (...) {
        failure_ = std::current_exception();
    }
}

std::optional<Row> Transaction::find_row(Sql sql, const Params& params) {
    Rows rows = query(sql, params);
    if (rows.size() > 1) {
        throw internal_error(
            "a statement for one row returned " + std::to_string(rows.size()) + ": " +
            std::string(sql.of(engine()))
        );
    }
    return rows.empty() ? std::nullopt : std::optional(std::move(rows.front()));
}

Row Transaction::get_row(Sql sql, const Params& params) {
    std::optional<Row> row = find_row(sql, params);
    if (!row) {
        throw internal_error(
            "a statement for one row returned none: " + std::string(sql.of(engine()))
        );
    }
    return std::move(*row);
}

}  // namespace compute::store
