#include "tests/support/postgres_slots.h"

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include <libpq-fe.h>
#include <unistd.h>

#include "crypto/crypto.h"
#include "store/migrate.h"

namespace compute::support {
namespace {

constexpr int kMaxSlots = 64;
constexpr int kTemplateLock = 420'925;  // advisory locks of the cluster's maintenance database
constexpr int kSlotLock = 420'926;

// A plain connection: CREATE DATABASE cannot run in a transaction, so it cannot go through the
// store.
class Connection {
public:
    explicit Connection(const std::string& url) : connection_(PQconnectdb(url.c_str())) {
        if (PQstatus(connection_) != CONNECTION_OK) {
            const std::string message = PQerrorMessage(connection_);
            PQfinish(connection_);
            throw std::runtime_error("test PostgreSQL: " + message);
        }
        run("set client_min_messages = error");
    }
    ~Connection() { PQfinish(connection_); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    // The first cell of the answer, empty when there is none.
    std::string run(const std::string& sql) {
        PGresult* result = PQexec(connection_, sql.c_str());
        const ExecStatusType status = PQresultStatus(result);
        std::string cell;
        if (status == PGRES_TUPLES_OK && PQntuples(result) > 0) {
            cell = PQgetvalue(result, 0, 0);
        }
        const std::string message = PQresultErrorMessage(result);
        PQclear(result);
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
            throw std::runtime_error("test PostgreSQL: " + message + " in: " + sql);
        }
        return cell;
    }

    // Asks: a test may have ended every session of its database.
    [[nodiscard]] bool is_alive() {
        PGresult* result = PQexec(connection_, "select 1");
        const bool is_alive = PQresultStatus(result) == PGRES_TUPLES_OK;
        PQclear(result);
        return is_alive;
    }

private:
    PGconn* connection_;
};

const std::string& cluster_url() {
    static const std::string url = [] {
        const char* value =
            std::getenv("BETTER_COMPUTE_TEST_POSTGRES");  // NOLINT(concurrency-mt-unsafe)
        return std::string(value != nullptr ? value : "");
    }();
    if (url.empty()) {
        throw std::runtime_error(
            "BETTER_COMPUTE_TEST_POSTGRES is not set: run the tests with ./dev test, or start a "
            "cluster with ./dev pg DIR and export the url it prints"
        );
    }
    return url;
}

std::string url_of(const std::string& database) {
    std::string url = cluster_url();
    const std::size_t path = url.find('/', url.find("://") + 3) + 1;
    return url.replace(path, url.find('?', path) - path, database);
}

// Runs inside the template, so that every slot has it.
constexpr const char* kResetFunctions = R"SQL(
create schema test_support;

create function test_support.fingerprint() returns text language sql as $$
    select md5(string_agg(c.relname || ' ' || c.relkind::text || ' ' || coalesce(a.attname || ' ' || a.atttypid, ''), ',' order by c.relname, a.attnum)
        || coalesce((select string_agg(proname, ',' order by proname) from pg_proc where pronamespace = 'public'::regnamespace), ''))
    from pg_class c left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and c.relkind = 'r'
    where c.relnamespace = 'public'::regnamespace
$$;

create table test_support.origin (fingerprint text);
insert into test_support.origin values (test_support.fingerprint());
create table test_support.known as select tablename as name from pg_tables where schemaname = 'public';

do $$
declare name text; filled boolean;
begin
    for name in select tablename from pg_tables where schemaname = 'public' loop
        execute format('select exists (select from public.%I)', name) into filled;
        if filled then
            execute format('create table test_support.%I as select * from public.%I', 'seed_' || name, name);
        end if;
    end loop;
end
$$;

create function test_support.reset() returns boolean language plpgsql as $$
declare name text; filled boolean;
begin
    perform pg_terminate_backend(pid, 5000) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid();
    for name in select tablename from pg_tables where schemaname = 'public' and tablename not in (select known.name from test_support.known) loop
        execute format('drop table public.%I cascade', name);
    end loop;
    if (select fingerprint from test_support.origin) <> test_support.fingerprint() then
        return false;
    end if;
    for name in select tablename from pg_tables where schemaname = 'public' loop
        execute format('select exists (select from public.%I)', name) into filled;
        if filled then
            execute format('delete from public.%I', name);
        end if;
    end loop;
    perform setval(oid::regclass, 1, false) from pg_class
        where relkind = 'S' and relnamespace = 'public'::regnamespace;
    for name in select substr(tablename, 6) from pg_tables where schemaname = 'test_support' and tablename like 'seed\_%' loop
        execute format('insert into public.%I overriding system value select * from test_support.%I', name, 'seed_' || name);
    end loop;
    return true;
end
$$;
)SQL";

class Slots {
public:
    Slots() : admin_(cluster_url()), template_(template_name()) { make_template(); }

    std::pair<int, std::string> take() {
        const std::lock_guard lock(mutex_);
        const int number = next_number();
        const std::string name = template_ + "_" + std::to_string(number);
        if (!is_there(name)) {
            admin_.run("create database " + name + " template " + template_);
        } else if (!reset(name)) {
            admin_.run("drop database " + name + " with (force)");
            admin_.run("create database " + name + " template " + template_);
        }
        return {number, url_of(name)};
    }

    void give_back(int number) {
        const std::lock_guard lock(mutex_);
        free_.push_back(number);
    }

    std::string make_empty() {
        const std::lock_guard lock(mutex_);
        static int count = 0;
        const std::string name =
            "bct_empty_" + std::to_string(::getpid()) + "_" + std::to_string(++count);
        admin_.run("drop database if exists " + name);
        admin_.run("create database " + name + " template template0");
        return name;
    }

    void drop(const std::string& name) noexcept {
        const std::lock_guard lock(mutex_);
        try {
            admin_.run("drop database if exists " + name + " with (force)");
        } catch (const std::exception&) {
            // The cluster is thrown away as a whole; a database that stays harms nobody.
        }
    }

private:
    // A number this process holds the lock of; kept until the process ends.
    int next_number() {
        if (!free_.empty()) {
            const int number = free_.back();
            free_.pop_back();
            return number;
        }
        for (int number = 1; number <= kMaxSlots; ++number) {
            if (number <= highest_) {
                continue;
            }
            highest_ = number;
            if (admin_.run(
                    "select pg_try_advisory_lock(" + std::to_string(kSlotLock) + ", " +
                    std::to_string(number) + ")"
                ) == "t") {
                return number;
            }
        }
        throw std::runtime_error("test PostgreSQL: all databases are in use");
    }

    bool is_there(const std::string& name) {
        return admin_.run("select count(*) from pg_database where datname = '" + name + "'") == "1";
    }

    // Over a connection that is kept: a fresh one spends five times as long on filling its caches.
    bool reset(const std::string& name) {
        std::unique_ptr<Connection>& connection = cleaners_[name];
        if (!connection || !connection->is_alive()) {
            connection = std::make_unique<Connection>(url_of(name));
            // Foreign keys are not followed while tables are emptied one by one.
            connection->run("set session_replication_role = replica");
        }
        return connection->run("select test_support.reset()") == "t";
    }

    static std::string template_name() {
        std::string all = kResetFunctions;
        for (const store::Migration& migration : store::built_in_migrations()) {
            all += std::string(migration.name) + "\n" + std::string(migration.postgres);
        }
        return "bct_" + crypto::to_hex(crypto::sha256(all)).substr(0, 12);
    }

    // Under a lock; a template that was left half done has another name.
    void make_template() {
        admin_.run("select pg_advisory_lock(" + std::to_string(kTemplateLock) + ", 1)");
        if (!is_there(template_)) {
            const std::string draft = template_ + "_draft";
            admin_.run("drop database if exists " + draft + " with (force)");
            admin_.run("create database " + draft + " template template0");
            {
                store::Options options;
                options.url = url_of(draft);
                options.pool_size = 1;
                const auto database = store::open_database(options);
                store::migrate_up(*database, store::built_in_migrations(), 1'790'000'000'000);
            }
            Connection(url_of(draft)).run(kResetFunctions);
            rename(draft);
        }
        admin_.run("select pg_advisory_unlock(" + std::to_string(kTemplateLock) + ", 1)");
    }

    // The server notices a moment later that the connections are closed.
    void rename(const std::string& draft) {
        admin_.run(
            "select count(pg_terminate_backend(pid, 5000)) from pg_stat_activity where datname = "
            "'" +
            draft + "'"
        );
        admin_.run("alter database " + draft + " rename to " + template_);
    }

    std::mutex mutex_;
    std::map<std::string, std::unique_ptr<Connection>> cleaners_;
    Connection admin_;
    std::string template_;
    std::vector<int> free_;
    int highest_ = 0;
};

Slots& slots() {
    static Slots all;
    return all;
}

class MigratedSlot final : public PostgresSlot {
public:
    explicit MigratedSlot(std::pair<int, std::string> taken)
        : number_(taken.first), url_(std::move(taken.second)) {}
    ~MigratedSlot() override { slots().give_back(number_); }
    MigratedSlot(const MigratedSlot&) = delete;
    MigratedSlot& operator=(const MigratedSlot&) = delete;
    [[nodiscard]] std::string url() const override { return url_; }

private:
    int number_;
    std::string url_;
};

class EmptyDatabase final : public PostgresSlot {
public:
    explicit EmptyDatabase(std::string name) : name_(std::move(name)) {}
    ~EmptyDatabase() override { slots().drop(name_); }
    EmptyDatabase(const EmptyDatabase&) = delete;
    EmptyDatabase& operator=(const EmptyDatabase&) = delete;
    [[nodiscard]] std::string url() const override { return url_of(name_); }

private:
    std::string name_;
};

}  // namespace

std::unique_ptr<PostgresSlot> take_migrated_slot() {
    return std::make_unique<MigratedSlot>(slots().take());
}

std::unique_ptr<PostgresSlot> make_empty_database() {
    return std::make_unique<EmptyDatabase>(slots().make_empty());
}

}  // namespace compute::support
