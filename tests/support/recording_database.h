// A database that records what is done with it, in front of a real one.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "store/database.h"

namespace compute::support {

// Told of each step: "begin", "commit", "rollback" (writes), "begin read", "end read", "savepoint",
// "audit" (an insert into audit_events) and "statement". Called on the thread that does it.
using StepObserver = std::function<void(std::string_view step, std::string_view sql)>;

// Thread-safe when the observer is.
class RecordingDatabase final : public store::Database {
public:
    RecordingDatabase(store::Database& inner, StepObserver observer)
        : inner_(&inner), observer_(std::move(observer)) {}

    store::Rows query(store::Sql sql, const store::Params& params, store::Purpose purpose) override;
    std::int64_t execute(store::Sql sql, const store::Params& params, store::Purpose purpose)
        override;
    void notify(std::string_view channel) override { inner_->notify(channel); }
    std::unique_ptr<store::Listener> listen(
        std::vector<std::string> channels, std::function<void(std::string_view)> on_notify
    ) override {
        return inner_->listen(std::move(channels), std::move(on_notify));
    }
    [[nodiscard]] store::Engine engine() const noexcept override { return inner_->engine(); }
    [[nodiscard]] store::Counters counters(store::Purpose purpose) const override {
        return inner_->counters(purpose);
    }
    std::string engine_version() override { return inner_->engine_version(); }
    [[nodiscard]] std::string location() const override { return inner_->location(); }
    std::int64_t database_now_ms() override { return inner_->database_now_ms(); }

    // What follows throws before it reaches the database when this says so, once per step: a crash
    // at any place.
    void set_crash(std::function<bool(std::string_view step)> crash) { crash_ = std::move(crash); }

    // Used by the transactions it hands out.
    void observe(store::Purpose purpose, std::string_view step, std::string_view sql) const;

protected:
    void do_read(const Body& body, store::Purpose purpose) override;
    void do_write(const Body& body, store::Purpose purpose) override;

private:
    store::Database* inner_;
    StepObserver observer_;
    std::function<bool(std::string_view)> crash_;
};

// Thrown by set_crash: the process died here.
struct Crash {};

}  // namespace compute::support
