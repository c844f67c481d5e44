#include "store/sqlite/connection.h"

#include <algorithm>
#include <iterator>
#include <list>
#include <unordered_map>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>
#include <nlohmann/json.hpp>
#include <sqlite3.h>

#include "core/json.h"

namespace compute::store::sqlite {
namespace {

// More texts than the program has; what builds texts at run time must not make the cache grow for
// ever.
constexpr std::size_t kCachedStatements = 512;

struct Prepared {
    SQLite::Statement statement;
    std::vector<int>
        places;  // places[n - 1]: the index SQLite gave to $n, 0 when the text does not use it
    bool is_about_rows = false;  // its changes are counted; it is no DDL, pragma or savepoint
};

bool is_about_rows(std::string_view sql) {
    constexpr std::string_view kVerbs[] = {"select ", "insert ", "update ", "delete ", "with "};
    return std::any_of(std::begin(kVerbs), std::end(kVerbs), [sql](std::string_view verb) {
        return sql.starts_with(verb);
    });
}

// By default SQLite counts every allocation of the process under one mutex, which all readers and
// the writer meet at. Has an effect before the first connection only.
void count_no_memory() {
    [[maybe_unused]] static const int kResult = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

std::string unique_columns(std::string_view message) {
    const std::size_t at = message.find(": ");
    return std::string(at == std::string_view::npos ? message : message.substr(at + 2));
}

[[noreturn]] void translate(const SQLite::Exception& error, std::string_view sql) {
    const int extended = error.getExtendedErrorCode();
    const std::string detail =
        "sqlite " + std::to_string(extended) + ": " + error.what() + " in: " + std::string(sql);
    switch (extended) {
        case SQLITE_CONSTRAINT_UNIQUE:
        case SQLITE_CONSTRAINT_PRIMARYKEY:
        case SQLITE_CONSTRAINT_ROWID:
            throw UniqueViolation(unique_columns(error.what()), detail);
        default:
            break;
    }
    switch (extended & 0xff) {
        case SQLITE_CONSTRAINT:
            throw ConstraintViolation(detail);
        case SQLITE_READONLY:
            throw ReadOnlyViolation(detail);
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
        case SQLITE_FULL:
        case SQLITE_IOERR:
        case SQLITE_NOMEM:
        case SQLITE_INTERRUPT:
        case SQLITE_PROTOCOL:
            throw StoreBusy(detail);
        default:
            throw internal_error(detail);
    }
}

std::string json_text(const IntList& list) {
    return Json(list).dump();
}

std::string json_text(const TextList& list) {
    Json out = Json::array();
    for (const auto& item : list) {
        out.push_back(item ? Json(*item) : Json(nullptr));
    }
    return dump_json(out);
}

Row::Cell read_cell(const SQLite::Column& column) {
    switch (column.getType()) {
        case SQLITE_INTEGER:
            return std::int64_t{column.getInt64()};
        case SQLITE_FLOAT:
            return column.getDouble();
        case SQLITE_NULL:
            return Null{};
        default:
            return column.getString();
    }
}

// Binds for as long as `params` and `lists` live.
void bind_all(Prepared& prepared, const Params& params, std::list<std::string>& lists) {
    if (prepared.places.size() > params.size()) {
        throw internal_error(
            "a statement takes " + std::to_string(prepared.places.size()) + " parameters and got " +
            std::to_string(params.size()) + ": " + prepared.statement.getQuery()
        );
    }
    for (std::size_t i = 0; i < prepared.places.size(); ++i) {
        const int place = prepared.places[i];
        if (place == 0) {
            continue;
        }
        SQLite::Statement& statement = prepared.statement;
        const Param::Variant& value = params[i].value();
        if (const auto* whole = std::get_if<std::int64_t>(&value)) {
            statement.bind(place, *whole);
        } else if (const auto* text = std::get_if<std::string>(&value)) {
            statement.bindNoCopy(place, *text);
        } else if (const auto* number = std::get_if<double>(&value)) {
            statement.bind(place, *number);
        } else if (const auto* ints = std::get_if<IntList>(&value)) {
            statement.bindNoCopy(place, lists.emplace_back(json_text(*ints)));
        } else if (const auto* texts = std::get_if<TextList>(&value)) {
            statement.bindNoCopy(place, lists.emplace_back(json_text(*texts)));
        } else {
            statement.bind(place);
        }
    }
}

// Leaves the statement unbound to what was passed, whatever happens: a RELEASE fails while one is
// unfinished.
class ResetGuard {
public:
    explicit ResetGuard(SQLite::Statement& statement) : statement_(statement) {}
    ~ResetGuard() { statement_.tryReset(); }
    ResetGuard(const ResetGuard&) = delete;
    ResetGuard& operator=(const ResetGuard&) = delete;

private:
    SQLite::Statement& statement_;
};

}  // namespace

struct Connection::Impl {
    SQLite::Database database;
    std::unordered_map<std::string_view, Prepared> cache;  // keys point into `texts`
    std::list<std::string> texts;
    std::uint64_t uncounted = 0;  // statements whose effect is no number of rows

    Impl(const std::string& path, int flags, int busy_ms) : database(path, flags, busy_ms) {}

    Prepared& prepare(std::string_view sql) {
        const auto found = cache.find(sql);
        if (found != cache.end()) {
            return found->second;
        }
        if (cache.size() >= kCachedStatements) {
            cache.clear();
            texts.clear();
        }
        Prepared prepared{SQLite::Statement(database, std::string(sql)), {}, is_about_rows(sql)};
        const int count = prepared.statement.getBindParameterCount();
        for (int number = 1, seen = 0; seen < count; ++number) {
            const int place = prepared.statement.getIndex(("$" + std::to_string(number)).c_str());
            if (number > count + 64) {
                throw internal_error(
                    "a statement has placeholders other than $1, $2, ...: " + std::string(sql)
                );
            }
            prepared.places.push_back(place);
            seen += place != 0 ? 1 : 0;
        }
        texts.emplace_back(sql);
        return cache.emplace(texts.back(), std::move(prepared)).first->second;
    }

    template <class OnRow>
    void run(std::string_view sql, const Params& params, const OnRow& on_row) {
        try {
            Prepared& prepared = prepare(sql);
            uncounted += prepared.is_about_rows ? 0 : 1;
            std::list<std::string> lists;
            const ResetGuard guard(prepared.statement);
            bind_all(prepared, params, lists);
            while (prepared.statement.executeStep()) {
                on_row(prepared.statement);
            }
        } catch (const SQLite::Exception& error) {
            translate(error, sql);
        }
    }
};

Connection::Connection(const ConnectionOptions& options) {
    count_no_memory();
    const bool is_writer = options.role == ConnectionOptions::Role::Writer;
    const int flags = (options.is_file_read_only ? SQLite::OPEN_READONLY : SQLite::OPEN_READWRITE) |
                      SQLite::OPEN_NOMUTEX;
    try {
        impl_ = std::make_unique<Impl>(
            options.path, flags, static_cast<int>(options.busy_timeout.count())
        );
        impl_->database.exec("pragma foreign_keys = on; pragma temp_store = memory");
        if (is_writer && !options.is_memory) {
            const std::string mode =
                impl_->database.execAndGet("pragma journal_mode = wal").getString();
            if (mode != "wal") {
                throw invalid_config(
                    "database.url: the file system of " + options.path + " does not support WAL"
                );
            }
            impl_->database.exec(
                options.synchronous == Synchronous::Full ? "pragma synchronous = full"
                                                         : "pragma synchronous = normal"
            );
        }
        if (!is_writer) {
            set_query_only(true);
            // Opening touches nothing; the first read does, and finds out what kind of file it is.
            impl_->database.execAndGet("select count(*) from sqlite_schema");
        }
    } catch (const SQLite::Exception& error) {
        const int code = error.getErrorCode() & 0xff;
        if (code == SQLITE_BUSY || code == SQLITE_LOCKED) {
            throw StoreBusy("sqlite: " + std::string(error.what()) + ": " + options.path);
        }
        throw invalid_config(
            "database.url: cannot open " + options.path + " as an SQLite database: " + error.what(),
            code == SQLITE_CANTOPEN || code == SQLITE_READONLY || code == SQLITE_PERM
                ? "check that this user may read and write it, the files " + options.path +
                      "-wal and -shm, and their folder"
                : ""
        );
    }
}

Connection::~Connection() = default;

Rows Connection::query(std::string_view sql, const Params& params) {
    Rows rows;
    impl_->run(sql, params, [&rows](SQLite::Statement& statement) {
        const int count = statement.getColumnCount();
        std::vector<Row::Cell> cells;
        cells.reserve(static_cast<std::size_t>(count));
        for (int i = 0; i < count; ++i) {
            cells.push_back(read_cell(statement.getColumn(i)));
        }
        rows.emplace_back(std::move(cells));
    });
    return rows;
}

std::int64_t Connection::execute(std::string_view sql, const Params& params) {
    // The count of changes is that of the last statement that changes rows, which need not be this
    // one.
    const int before = impl_->database.getTotalChanges();
    impl_->run(sql, params, [](SQLite::Statement&) {});
    return impl_->database.getTotalChanges() == before ? 0 : impl_->database.getChanges();
}

void Connection::script(std::string_view text) {
    ++impl_->uncounted;
    try {
        impl_->database.exec(std::string(text));
    } catch (const SQLite::Exception& error) {
        translate(error, text);
    }
}

void Connection::set_query_only(bool is_on) {
    impl_->database.exec(is_on ? "pragma query_only = 1" : "pragma query_only = 0");
}

std::uint64_t Connection::work_done() const noexcept {
    const auto rows = sqlite3_total_changes64(impl_->database.getHandle());
    return static_cast<std::uint64_t>(rows) + impl_->uncounted;
}

bool Connection::is_autocommit() const noexcept {
    return sqlite3_get_autocommit(impl_->database.getHandle()) != 0;
}

}  // namespace compute::store::sqlite
