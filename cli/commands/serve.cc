#include "daemon/serve.h"

#include "cli/commands/commands.h"
#include "cli/console.h"
#include "cli/options.h"
#include "cli/version.h"

namespace compute::cli::commands {

namespace {

struct ServeFlags {
    std::string listen;
    std::string roles;
    std::string tls_cert;
    std::string tls_key;
    bool is_behind_proxy = false;
    std::string ready_file;
    bool is_migrating = false;
};

int serve(CommonOptions& common, const ServeFlags& flags, Console& console) {
    common.apply(console);
    const std::pair<const char*, const std::string*> texts[] = {
        {"listen", &flags.listen},
        {"roles", &flags.roles},
        {"tls.cert", &flags.tls_cert},
        {"tls.key", &flags.tls_key}};
    const char* const names[] = {"--listen", "--roles", "--tls-cert", "--tls-key"};
    for (std::size_t i = 0; i < std::size(texts); ++i) {
        if (!texts[i].second->empty()) {
            common.flags.push_back({texts[i].first, names[i], *texts[i].second});
        }
    }
    if (flags.is_behind_proxy) {
        common.flags.push_back({"behind_proxy", "--behind-proxy", "true"});
    }
    daemon::ServeOptions options;
    options.ready_file = flags.ready_file;
    options.migrate = flags.is_migrating;
    options.version = version().number;
    options.reload = [&common] { return common.load(); };
    return daemon::serve(common.load(), options);
}

}  // namespace

void define_serve(const Definition& definition) {
    const auto common = add_common(definition, Prints::Nothing);
    const auto flags = std::make_shared<ServeFlags>();
    CLI::App& app = definition.app();
    app.add_option("--listen", flags->listen, "Where the API listens; port 0 picks a free one")
        ->type_name("HOST:PORT");
    app.add_option("--roles", flags->roles, "api, controllers or both, separated by a comma")
        ->type_name("ROLES");
    app.add_option("--tls-cert", flags->tls_cert, "PEM file with the certificate and its chain")
        ->type_name("FILE");
    app.add_option("--tls-key", flags->tls_key, "PEM file with the private key")->type_name("FILE");
    app.add_flag(
        "--behind-proxy",
        flags->is_behind_proxy,
        "A proxy in front ends TLS and adds X-Forwarded-For"
    );
    app.add_option(
           "--ready-file",
           flags->ready_file,
           "Written when requests are answered: url, pid and version as JSON"
    )
        ->type_name("FILE");
    app.add_flag("--migrate", flags->is_migrating, "Applies pending migrations on PostgreSQL too");
    definition.run([common, flags](Console& console) { return serve(*common, *flags, console); });
}

}  // namespace compute::cli::commands
