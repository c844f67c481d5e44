// A database that dies right before a commit when the test says so.
#pragma once

#include "method/context.h"

namespace compute::events {

class FaultyDatabase final : public store::Database {
public:
    explicit FaultyDatabase(store::Database& inner) : inner_(inner) {}

    bool dies_before_commit = false;

    store::Rows query(store::Sql sql, const store::Params& params, store::Purpose purpose)
        override {
        return inner_.query(sql, params, purpose);
    }
    std::int64_t execute(store::Sql sql, const store::Params& params, store::Purpose purpose)
        override {
        return inner_.execute(sql, params, purpose);
    }
    void notify(std::string_view channel) override { inner_.notify(channel); }
    std::unique_ptr<store::Listener> listen(
        std::vector<std::string> channels, std::function<void(std::string_view)> on_notify
    ) override {
        return inner_.listen(std::move(channels), std::move(on_notify));
    }
    [[nodiscard]] store::Engine engine() const noexcept override { return inner_.engine(); }
    [[nodiscard]] store::Counters counters(store::Purpose purpose) const override {
        return inner_.counters(purpose);
    }
    std::string engine_version() override { return inner_.engine_version(); }
    [[nodiscard]] std::string location() const override { return inner_.location(); }
    std::int64_t database_now_ms() override { return inner_.database_now_ms(); }

    // A runtime like `like`, over this database.
    [[nodiscard]] method::Runtime runtime(const method::Runtime& like) {
        return {
            .database = *this,
            .iam = like.iam,
            .clock = like.clock,
            .rng = like.rng,
            .log = like.log,
            .config = like.config,
            .wake = like.wake,
            .catalog = like.catalog};
    }

protected:
    void do_read(const Body& body, store::Purpose purpose) override { inner_.read(body, purpose); }
    void do_write(const Body& body, store::Purpose purpose) override {
        inner_.write(
            [&](store::Transaction& tx) {
                body(tx);
                if (dies_before_commit) {
                    throw ComputeError(ErrorCode::StorageBusy, "the database went away");
                }
            },
            purpose
        );
    }

private:
    store::Database& inner_;
};

}  // namespace compute::events
