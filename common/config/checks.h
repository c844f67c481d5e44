// Checks of single values, pure: what is right in each and how a wrong one is told.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace compute::config {

struct HostPort {
    std::string host;  // without brackets
    int port = 0;
};

// `HOST:PORT` or `[V6]:PORT`, port 0..65535.
[[nodiscard]] std::optional<HostPort> find_host_port(std::string_view text);
// 127.0.0.0/8, ::1 or localhost.
[[nodiscard]] bool is_loopback_host(std::string_view host);

[[nodiscard]] bool is_cidr(std::string_view text
);  // 10.0.0.0/8, fd00::/8 or one address; no host bits set
[[nodiscard]] bool is_base_path(std::string_view text
);  // /api/compute: no trailing slash, no empty or dotted segment
[[nodiscard]] bool is_tenant_id(std::string_view text);        // [A-Za-z0-9._:-]{1,128}
[[nodiscard]] bool is_event_family(std::string_view text);     // acme.widget.*
[[nodiscard]] bool is_http_url(std::string_view text);         // http(s)://host..., no user name
[[nodiscard]] bool is_resource_prefix(std::string_view text);  // [a-z][a-z0-9-]{0,31}

// `sqlite:PATH`, a path ending in `.db`, or postgres(ql)://...
[[nodiscard]] bool is_database_url(std::string_view text);
// The file of an embedded database; nullopt for PostgreSQL and for `sqlite::memory:`.
[[nodiscard]] std::optional<std::string> find_database_file(std::string_view url);
// The name of a PostgreSQL database as part of a file's name: its last path segment, whatever is
// no letter, digit, - or _ replaced by _; "postgres" when the url names none. nullopt for others.
[[nodiscard]] std::optional<std::string> find_database_name(std::string_view url);
// Whether a database url carries a password, as user:password@ or as a parameter (percent-encoded
// names included).
[[nodiscard]] bool has_password(std::string_view url);
// The url with each password replaced by the mask.
[[nodiscard]] std::string mask_password(std::string_view url);

// UTF-8 characters; a broken byte counts as one.
[[nodiscard]] std::size_t count_characters(std::string_view text);

}  // namespace compute::config
