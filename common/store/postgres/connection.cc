#include "store/postgres/connection.h"

#include <algorithm>
#include <utility>

#include <poll.h>

#include "store/postgres/encoding.h"

namespace compute::store::postgres {
namespace {

constexpr int kOldestServer = 140000;
constexpr std::size_t kMaxPrepared = 500;
constexpr int kIdleInTransactionMs = 60'000;

// The server is there but not for us now, as opposed to one that will never let us in.
bool is_passing(const std::string& message) {
    constexpr const char* kPassing[] = {
        "starting up", "shutting down", "recovery", "too many", "remaining connection slots"};
    return message.find("FATAL:") == std::string::npos ||
           std::any_of(std::begin(kPassing), std::end(kPassing), [&](const char* part) {
               return message.find(part) != std::string::npos;
           });
}

std::string first_line(std::string text) {
    return text.substr(0, text.find('\n'));
}

bool is_ok(ExecStatusType status) {
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY;
}

}  // namespace

Connection::Connection(const Settings& settings) : is_prepared_(settings.is_prepared) {
    std::vector<std::string> texts;
    std::vector<const char*> keywords;
    std::vector<const char*> values;
    texts.reserve(settings.parameters.size());
    for (const auto& [keyword, value] : settings.parameters) {
        keywords.push_back(keyword.c_str());
        values.push_back(texts.emplace_back(value.reveal()).c_str());
    }
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    connection_.reset(PQconnectdbParams(keywords.data(), values.data(), 0));
    for (std::string& text : texts) {
        std::fill(text.begin(), text.end(), '\0');
    }
    if (PQstatus(connection_.get()) != CONNECTION_OK) {
        const std::string message = PQerrorMessage(connection_.get());
        const std::string reason =
            "database: cannot connect to " + settings.location + ": " + first_line(message);
        if (is_passing(message)) {
            throw StoreBusy(message, reason);
        }
        throw invalid_config(reason);
    }
    PQsetNoticeProcessor(
        connection_.get(), [](void*, const char*) {}, nullptr
    );
    check_server();
    prepare_session(settings);
}

void Connection::check_server() const {
    if (PQserverVersion(connection_.get()) < kOldestServer) {
        throw invalid_config(
            "database: PostgreSQL " + server_version() + " is too old: 14 or newer is needed"
        );
    }
}

// Sessions are read-only unless a transaction says otherwise, so a single query needs no BEGIN
// around it. Behind a transaction pooler a setting would stay with somebody else's session: there
// each transaction brings its own.
void Connection::prepare_session(const Settings& settings) {
    if (is_prepared_) {
        std::string setup =
            "set default_transaction_read_only = on; set idle_in_transaction_session_timeout = " +
            std::to_string(kIdleInTransactionMs) +
            "; set lock_timeout = " + std::to_string(settings.busy_timeout.count());
        if (!settings.is_synchronous) {
            setup += "; set synchronous_commit = off";
        }
        const Result result(PQexec(connection_.get(), setup.c_str()));
        if (!is_ok(PQresultStatus(result.get()))) {
            fault_ = fault_of(result.get());
            fail(setup);
        }
    }
    PQenterPipelineMode(connection_.get());
}

Result Connection::run(const std::vector<Command>& commands, std::size_t keep) {
    check_usable(commands.back().sql);
    drain();
    std::vector<Expected> expected;
    expected.reserve(commands.size() + 2);
    for (std::size_t i = 0; i < commands.size(); ++i) {
        send(commands[i], i, expected);
    }
    if (PQpipelineSync(connection_.get()) != 1) {
        fault_ = lost_connection(connection_.get());
        fail(commands.back().sql);
    }
    ++round_trips_;
    std::size_t failed = 0;
    Result result = read_answers(expected, keep, failed);
    if (fault_) {
        fail(commands[failed].sql);
    }
    return result;
}

void Connection::check_usable(const std::string& sql) {
    if (fault_ && fault_->kind == FaultKind::Lost) {
        fail(sql);
    }
    fault_.reset();
}

void Connection::send_only(const Command& command) {
    check_usable(command.sql);
    drain();
    send(command, 0, unread_);
    if (PQpipelineSync(connection_.get()) != 1) {
        fault_ = lost_connection(connection_.get());
        fail(command.sql);
    }
    has_unread_ = true;
}

void Connection::drain() {
    if (!has_unread_) {
        return;
    }
    has_unread_ = false;
    std::size_t failed = 0;
    (void)read_answers(std::exchange(unread_, {}), 0, failed);
    if (fault_) {
        fail("the end of a transaction");
    }
}

void Connection::script(const std::string& text) {
    check_usable("a script");
    drain();
    PQexitPipelineMode(connection_.get());
    const Result result(PQexec(connection_.get(), text.c_str()));
    const bool is_done = is_ok(PQresultStatus(result.get()));
    if (!is_done) {
        fault_ = PQstatus(connection_.get()) == CONNECTION_OK ? fault_of(result.get())
                                                              : lost_connection(connection_.get());
    }
    PQenterPipelineMode(connection_.get());
    if (!is_done) {
        fail("a script");
    }
}

void Connection::send(const Command& command, std::size_t index, std::vector<Expected>& expected) {
    std::vector<std::optional<std::string>> texts;
    std::vector<const char*> values;
    std::vector<Oid> types;
    texts.reserve(command.params.size());
    for (const Param& param : command.params) {
        const auto& text = texts.emplace_back(text_of(param));
        values.push_back(text ? text->c_str() : nullptr);
        types.push_back(type_of(param));
    }
    const int count = static_cast<int>(values.size());
    int is_sent = 0;
    if (is_prepared_) {
        Variant& variant = find_variant(command);
        if (!variant.is_ready) {
            is_sent = PQsendPrepare(
                connection_.get(),
                variant.name.c_str(),
                command.sql.c_str(),
                count,
                variant.types.data()
            );
            expected.push_back({index, &variant});
            variant.is_ready =
                is_sent == 1;  // for later commands of this pipeline; the answer decides
        }
        is_sent = PQsendQueryPrepared(
            connection_.get(), variant.name.c_str(), count, values.data(), nullptr, nullptr, 0
        );
    } else {
        is_sent = PQsendQueryParams(
            connection_.get(),
            command.sql.c_str(),
            count,
            types.data(),
            values.data(),
            nullptr,
            nullptr,
            0
        );
    }
    if (is_sent != 1) {
        fault_ = lost_connection(connection_.get());
        fail(command.sql);
    }
    expected.push_back({index, nullptr});
}

// A statement is prepared once per combination of parameter types. A null fits every type.
Connection::Variant& Connection::find_variant(const Command& command) {
    std::vector<std::unique_ptr<Variant>>& variants = cache_[command.sql];
    for (const auto& variant : variants) {
        const bool is_fit = std::equal(
            command.params.begin(),
            command.params.end(),
            variant->types.begin(),
            variant->types.end(),
            [](const Param& param, Oid type) {
                return std::holds_alternative<Null>(param.value()) || type_of(param) == type;
            }
        );
        if (is_fit) {
            return *variant;
        }
    }
    auto variant = std::make_unique<Variant>();
    variant->name = "s" + std::to_string(++prepared_count_);
    for (const Param& param : command.params) {
        variant->types.push_back(type_of(param));
    }
    return *variants.emplace_back(std::move(variant));
}

Result Connection::read_answers(
    const std::vector<Expected>& expected, std::size_t keep, std::size_t& failed
) {
    Result kept;
    for (const Expected& answer : expected) {
        Result result(PQgetResult(connection_.get()));
        const ExecStatusType status = result ? PQresultStatus(result.get()) : PGRES_FATAL_ERROR;
        if (answer.preparing != nullptr) {
            answer.preparing->is_ready = status == PGRES_COMMAND_OK;
        }
        if (!is_ok(status) && !fault_ && status != PGRES_PIPELINE_ABORTED) {
            fault_ = result ? fault_of(result.get()) : lost_connection(connection_.get());
            failed = answer.command;
        }
        if (PQstatus(connection_.get()) != CONNECTION_OK) {
            fault_ = fault_ && fault_->kind == FaultKind::Lost ? fault_
                                                               : lost_connection(connection_.get());
            return kept;
        }
        if (answer.preparing == nullptr && answer.command == keep) {
            kept = std::move(result);
        }
        const Result end(PQgetResult(connection_.get()));  // the null behind each answer
    }
    const Result sync(PQgetResult(connection_.get()));
    if (!sync || PQresultStatus(sync.get()) != PGRES_PIPELINE_SYNC) {
        fault_ = lost_connection(connection_.get());
    }
    return kept;
}

void Connection::fail(const std::string& sql) {
    if (fault_->kind == FaultKind::StalePlan) {
        must_forget_ = true;
    }
    throw_fault(*fault_, sql);
}

bool Connection::make_ready() {
    try {
        drain();
        if (must_forget_ || prepared_count_ > kMaxPrepared) {
            forget_statements();
        }
    } catch (const ComputeError&) {
        return false;
    }
    // What an idle connection has to say is mostly that the server has ended it: a message, then
    // the end of the stream.
    pollfd socket{.fd = PQsocket(connection_.get()), .events = POLLIN, .revents = 0};
    while (!is_lost() && ::poll(&socket, 1, 0) > 0) {
        if (PQconsumeInput(connection_.get()) != 1) {
            return false;
        }
    }
    return !is_lost();
}

void Connection::forget_statements() {
    cache_.clear();
    prepared_count_ = 0;
    must_forget_ = false;
    script("deallocate all");
}

bool Connection::is_lost() const noexcept {
    return PQstatus(connection_.get()) != CONNECTION_OK ||
           (fault_ && fault_->kind == FaultKind::Lost);
}

bool Connection::is_in_transaction() const noexcept {
    return PQtransactionStatus(connection_.get()) != PQTRANS_IDLE;
}

std::string Connection::server_version() const {
    const char* version = PQparameterStatus(connection_.get(), "server_version");
    const std::string text = version != nullptr ? version : "";
    return text.substr(0, text.find(' '));
}

}  // namespace compute::store::postgres
