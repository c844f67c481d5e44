#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "schema/manifest.h"
#include "surface/surface.h"

namespace compute::surface {
namespace {

using ::testing::HasSubstr;

struct Input {
    TenantId tenant_id;
    std::string name;
};

method::MethodEntry entry(const std::string& name, std::optional<method::MethodRow> row) {
    schema::Manifest<Input> manifest;
    manifest.required("tenantId", &Input::tenant_id, schema::tenant_id())
        .required("name", &Input::name, schema::name(), "what it is called");
    method::Method<Input> method;
    method.action = row ? row->action : "compute:acme:poke";
    method.kind = method::Kind::Mutation;
    method.resource = [](const Input& input) {
        return method::Resource::tenant(input.tenant_id.str());
    };
    method.input(manifest);
    method.handler = [](method::Context&, Input&) { return Json::object(); };
    return {"widgets", name, method::define_method(std::move(method)), std::move(row)};
}

method::Registry registry() {
    method::Module module;
    module.id = "widgets";
    module.methods.push_back(entry(
        "create",
        method::MethodRow{
            .action = "compute:widgets:create",
            .resource_type = "tenant",
            .alternatives = {{"compute:widgets:admin", "fleet"}}}
    ));
    module.planned.push_back(
        {.path = "widgets/poke",
         .kind = method::Kind::Read,
         .row =
             {.action = "compute:widgets:poke",
              .resource_type = "widget",
              .alternatives = {},
              .is_list_per_item = true,
              .status = method::MethodStatus::Planned,
              .phase = 2}}
    );
    method::Module plugin;
    plugin.id = "acme";
    plugin.is_plugin = true;
    plugin.methods.push_back(entry("poke", std::nullopt));
    method::Registry registry;
    registry.add(module);
    registry.add(plugin);
    return registry;
}

const Product kProduct{.version = "1.2.3", .base_path = "/api/compute"};

TEST(SurfaceDocument, TheDumpHasEveryFieldOfAMethod) {
    const Json surface = dump_surface(registry());

    EXPECT_EQ(surface.at("version"), 1);
    const Json& method = surface.at("methods").at("widgets/create");
    EXPECT_EQ(method.at("kind"), "mutation");
    EXPECT_EQ(method.at("action"), "compute:widgets:create");
    EXPECT_EQ(method.at("resource"), "tenant");
    EXPECT_EQ(
        method.at("alternatives"),
        Json::array({Json{{"action", "compute:widgets:admin"}, {"resource", "fleet"}}})
    );
    EXPECT_EQ(method.at("list"), false);
    EXPECT_EQ(method.at("status"), "served");
    EXPECT_EQ(method.at("phase"), 1);
    EXPECT_EQ(method.at("input").at("additionalProperties"), false);
    EXPECT_EQ(
        surface.at("methods").at("widgets/poke"),
        (Json{
            {"kind", "read"},
            {"action", "compute:widgets:poke"},
            {"resource", "widget"},
            {"alternatives", Json::array()},
            {"list", true},
            {"status", "planned"},
            {"phase", 2}})
    );
    EXPECT_EQ(surface.at("methods").at("plugins/acme/widgets/poke").at("resource"), Json());
    EXPECT_EQ(surface.at("errors").size(), error_table().size());
    EXPECT_EQ(surface.at("errors").at("CONFLICT"), 409);
}

TEST(SurfaceDocument, TheTextIsStable) {
    EXPECT_EQ(surface_text(dump_surface(registry())), surface_text(dump_surface(registry())));
    EXPECT_EQ(surface_text(Json{{"b", 1}, {"a", 2}}), "{\n  \"a\": 2,\n  \"b\": 1\n}\n");
}

TEST(SurfaceDocument, TheDumpComparesCleanWithItself) {
    const Comparison comparison = compare(dump_surface(registry()), dump_surface(registry()));
    EXPECT_TRUE(comparison.is_ok());
    EXPECT_TRUE(comparison.additions.empty());
}

TEST(SurfaceDocument, M58_ToolsCarryTheAttachedSchemas) {
    const auto with = registry();
    const Json tools = tool_schemas(with);

    ASSERT_EQ(tools.size(), 2U);
    EXPECT_EQ(tools[1].at("name"), "widgets_create");
    EXPECT_EQ(tools[1].at("inputSchema"), *with.find("widgets/create")->definition.json_schema);
}

TEST(SurfaceDocument, OpenApiHasAPathPerServedMethod) {
    const Json api = openapi_document(registry(), kProduct);

    EXPECT_EQ(api.at("openapi"), "3.1.0");
    EXPECT_EQ(api.at("info").at("version"), "1.2.3");
    EXPECT_EQ(api.at("paths").size(), 2U);
    const Json& post = api.at("paths").at("/api/compute/widgets/create").at("post");
    EXPECT_EQ(post.at("operationId"), "widgets_create");
    EXPECT_EQ(
        post.at("requestBody").at("content").at("application/json").at("schema").at("required"),
        (Json{"name", "tenantId"})
    );
    // Every reference leads somewhere.
    const Json flat = api.flatten();
    for (const auto& [key, value] : flat.items()) {
        if (key.ends_with("/$ref")) {
            EXPECT_TRUE(api.contains(Json::json_pointer(value.get<std::string>().substr(1))))
                << value;
        }
    }
}

TEST(SurfaceDocument, M149_TheErrorPageListsEveryCode) {
    const std::string page = reference_files(registry(), {}, kProduct).at("errors.md");
    for (const ErrorInfo& info : error_table()) {
        EXPECT_THAT(
            page,
            HasSubstr(
                "| `" + std::string(info.name) + "` | " + std::to_string(info.http_status) + " |"
            )
        );
    }
}

TEST(SurfaceDocument, ThePagesTellMethodsFieldsAndEvents) {
    const outbox::EventFamily family{
        .name = "widget",
        .subject = "widget/{id}",
        .module = "widgets",
        .description = "A widget.",
        .types = {"widget.made"}};
    const auto files = reference_files(registry(), {family}, kProduct);

    EXPECT_THAT(
        files.at("methods.md"), HasSubstr("[widgets.create](methods-widgets.md#widgetscreate)")
    );
    EXPECT_THAT(
        files.at("methods.md"),
        HasSubstr("| widgets.poke | read | `compute:widgets:poke` | `widget` |")
    );
    EXPECT_THAT(files.at("methods-widgets.md"), HasSubstr("| `name` | string | yes |"));
    EXPECT_THAT(files.at("methods-widgets.md"), HasSubstr("what it is called"));
    EXPECT_THAT(
        files.at("methods-plugins-acme-widgets.md"), HasSubstr("plugins.acme.widgets.poke")
    );
    EXPECT_THAT(
        files.at("events.md"), HasSubstr("| `widget.*` | `widget/{id}` | widgets | A widget. |")
    );
    EXPECT_THAT(files.at("events.md"), HasSubstr("- `widget.made`"));
}

TEST(SurfaceDocument, EveryRuleIsNamedOnceAndSorted) {
    std::vector<std::string> ids;
    for (const Rule& rule : all_rules()) {
        ids.emplace_back(rule.id);
    }
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
    EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
}

}  // namespace
}  // namespace compute::surface
