#include "cli/target.h"

#include <nlohmann/json.hpp>

namespace compute::cli {

Target::Target(const CommonOptions& common, const std::string& url, Console& console) {
    config::Config config = common.load();
    if (url.empty()) {
        plane_ = std::make_unique<Plane>(std::move(config));
    } else {
        warn_of_plain_http(url, console);
        client_ = std::make_unique<Client>(url, config, bearer_token(config));
    }
}

Json Target::call(const std::string& path, const Json& input) {
    return plane_ ? plane_->call_as_operator(path, input) : client_->call(path, input);
}

}  // namespace compute::cli
