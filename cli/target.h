// Where a webhooks command acts: on the configured database as the operating-system user, or with
// --url on a server as the bearer of a token.
#pragma once

#include <memory>
#include <string>

#include "cli/client.h"
#include "cli/options.h"
#include "cli/plane.h"

namespace compute::cli {

class Target {
public:
    // `url` empty: the database. Throws as Plane and Client do; remarks go to `console`.
    Target(const CommonOptions& common, const std::string& url, Console& console);

    [[nodiscard]] Json call(const std::string& path, const Json& input);
    // Null when it is a server.
    [[nodiscard]] Plane* plane() { return plane_.get(); }

private:
    std::unique_ptr<Plane> plane_;
    std::unique_ptr<Client> client_;
};

}  // namespace compute::cli
