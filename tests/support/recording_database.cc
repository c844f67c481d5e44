#include "tests/support/recording_database.h"

namespace compute::support {
namespace {

class RecordingTransaction final : public store::Transaction {
public:
    RecordingTransaction(
        store::Transaction& inner, const RecordingDatabase& owner, store::Purpose purpose
    )
        : inner_(&inner), owner_(&owner), purpose_(purpose) {}

    store::Rows query(store::Sql sql, const store::Params& params) override {
        see(sql);
        return inner_->query(sql, params);
    }
    std::int64_t execute(store::Sql sql, const store::Params& params) override {
        see(sql);
        return inner_->execute(sql, params);
    }
    void defer(store::Sql sql, const store::Params& params) override {
        see(sql);
        inner_->defer(sql, params);
    }
    void script(std::string_view text) override {
        owner_->observe(purpose_, "statement", text);
        inner_->script(text);
    }
    void after_commit(std::function<void()> function) override {
        inner_->after_commit(std::move(function));
    }
    std::optional<std::int64_t>& memo(std::string_view key) override { return inner_->memo(key); }
    [[nodiscard]] store::Engine engine() const noexcept override { return inner_->engine(); }
    [[nodiscard]] bool is_read_only() const noexcept override { return inner_->is_read_only(); }
    [[nodiscard]] int savepoint_depth() const noexcept override {
        return inner_->savepoint_depth();
    }

protected:
    void run_savepoint(const std::function<void()>& function) override {
        owner_->observe(purpose_, "savepoint", "");
        inner_->savepoint([&] { function(); });
    }

private:
    void see(store::Sql sql) const {
        const std::string_view text = sql.of(inner_->engine());
        owner_->observe(
            purpose_,
            text.find("into audit_events") == std::string_view::npos ? "statement" : "audit",
            text
        );
    }

    store::Transaction* inner_;
    const RecordingDatabase* owner_;
    store::Purpose purpose_;
};

}  // namespace

store::Rows RecordingDatabase::query(
    store::Sql sql, const store::Params& params, store::Purpose purpose
) {
    observe(purpose, "statement", sql.of(engine()));
    return inner_->query(sql, params, purpose);
}

std::int64_t RecordingDatabase::execute(
    store::Sql sql, const store::Params& params, store::Purpose purpose
) {
    observe(purpose, "statement", sql.of(engine()));
    return inner_->execute(sql, params, purpose);
}

void RecordingDatabase::observe(store::Purpose purpose, std::string_view step, std::string_view sql)
    const {
    if (purpose != store::Purpose::Call) {
        return;
    }
    observer_(step, sql);
    if (crash_ && crash_(step)) {
        throw Crash{};
    }
}

void RecordingDatabase::do_read(const Body& body, store::Purpose purpose) {
    inner_->read(
        [&](store::Transaction& tx) {
            observe(purpose, "begin read", "");
            RecordingTransaction recorded(tx, *this, purpose);
            body(recorded);
        },
        purpose
    );
    observe(purpose, "end read", "");
}

void RecordingDatabase::do_write(const Body& body, store::Purpose purpose) {
    bool is_rolled_back = true;
    const auto finish = [&] {
        if (is_rolled_back && purpose == store::Purpose::Call) {
            observer_("rollback", "");
        }
    };
    try {
        inner_->write(
            [&](store::Transaction& tx) {
                observe(purpose, "begin", "");
                RecordingTransaction recorded(tx, *this, purpose);
                body(recorded);
                observe(purpose, "before commit", "");
            },
            purpose
        );
        is_rolled_back = false;
    } catch (...) {
        finish();
        throw;
    }
    observe(purpose, "commit", "");
}

}  // namespace compute::support
