#include <nlohmann/json.hpp>

#include "iam/local/document.h"
#include "modules/iam/entries.h"

namespace compute::iam_methods {

namespace {

namespace local = iam::local;

struct ApplyInput {
    Json document;
    bool is_prune = false;
    local::Contents contents;  // of the document, read before a transaction is open
};

struct NoInput {};

method::Method<ApplyInput> make_apply(bool is_dry_run) {
    const auto manifest =
        schema::Manifest<ApplyInput>()
            .required("document", &ApplyInput::document, schema::any_object(), "The IAM document.")
            .defaulted(
                "prune",
                &ApplyInput::is_prune,
                schema::boolean(),
                "Removes what the document does not name."
            );
    method::Method<ApplyInput> method;
    method.kind = is_dry_run ? method::Kind::Read : method::Kind::Mutation;
    method.input(manifest);
    method.validate = [manifest](const Json& raw) {
        ApplyInput input = manifest.parse(raw);
        input.contents = local::parse_document(input.document);
        return input;
    };
    method.handler = [is_dry_run](method::Context& context, ApplyInput& input) {
        local::ApplyOptions options;
        options.root_tenant = context.root_tenant_id();
        options.is_dry_run = is_dry_run;
        options.is_prune = input.is_prune;
        return local::to_json(
            local::apply_document(context.transaction(), input.contents, options, context.now())
        );
    };
    return method;
}

method::Method<NoInput> make_export() {
    method::Method<NoInput> method;
    method.kind = method::Kind::Read;
    method.input(schema::Manifest<NoInput>());
    method.handler = [](method::Context& context, NoInput&) {
        return local::export_document(context.transaction());
    };
    return method;
}

}  // namespace

std::vector<method::MethodEntry> document_methods() {
    std::vector<method::MethodEntry> entries;
    entries.push_back(on_fleet("iam", "apply", kManage, make_apply(false)));
    entries.push_back(on_fleet("iam", "plan", kRead, make_apply(true)));
    entries.push_back(on_fleet("iam", "export", kRead, make_export()));
    return entries;
}

}  // namespace compute::iam_methods
