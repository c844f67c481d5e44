// Row M129: a composite of the shape of fleet.apply over templates that mount volumes. The methods
// are of the shape that capacity.md gives sandboxTemplates.create and update: an admission without
// a denied hook whose check decides each volume as the caller and notes it in the input, and a
// handler that mounts only what is noted there.
#include "tests/contract/methods/composite_lab.h"

namespace compute::contract {
namespace {

class Templates : public Contract {};
COMPUTE_BOTH_ENGINES(Templates);

struct Template {
    std::string tenant_id;
    std::string name;
    std::vector<std::string> volumes;
    std::vector<std::string> decided_volumes;  // what check leaves for the handler
};

void decide_each_volume(Context& context, Template& input, const Resource& /*resource*/) {
    for (const std::string& volume : input.volumes) {
        const iam::Question question{
            .tenant_id = *context.tenant_id,
            .action = "compute:volumes:mount",
            .resource = {"compute-volume", volume},
            .source_ip = context.source_ip,
            .request_hash = context.request_hash};
        if (!context.iam().require(*context.session, question).is_allowed) {
            throw ComputeError(ErrorCode::AccessDenied, "Access denied");
        }
        input.decided_volumes.push_back(volume);
    }
}

std::string mounted(const Template& input) {
    if (input.decided_volumes != input.volumes) {
        throw internal_error("a volume that nobody decided on");
    }
    return Json(input.decided_volumes).dump();
}

Method<Template> template_method(
    std::string action,
    std::function<Resource(const Template&)> decided_on,
    std::function<void(store::Transaction&, const Template&)> write
) {
    Method<Template> method;
    method.kind = Kind::Mutation;
    method.action = std::move(action);
    method.resource = [](const Template&) -> std::optional<Resource> { return std::nullopt; };
    method.input(schema::Manifest<Template>()
                     .required("tenantId", &Template::tenant_id, schema::tenant_id())
                     .required("name", &Template::name, schema::name())
                     .required("volumes", &Template::volumes, schema::array(schema::string())));
    auto& admission = method.admission.emplace();
    admission.prepare = [decided_on](Context&, Template& input, store::Transaction&) {
        return Prepared::decide(decided_on(input));
    };
    admission.check = decide_each_volume;
    method.handler = [write](Context& context, Template& input) {
        write(context.transaction(), input);
        return Json{{"name", input.name}};
    };
    return method;
}

std::vector<MethodEntry> template_methods() {
    return {
        entry(
            "sandboxTemplates",
            "create",
            template_method(
                "compute:sandbox-templates:create",
                [](const Template& input) { return Resource::tenant(input.tenant_id); },
                [](store::Transaction& tx, const Template& input) {
                    insert_row(tx, input.name, mounted(input));
                }
            )
        ),
        entry(
            "sandboxTemplates",
            "update",
            template_method(
                "compute:sandbox-templates:update",
                [](const Template& input) {
                    return Resource{"template", input.name, std::nullopt};
                },
                [](store::Transaction& tx, const Template& input) {
                    tx.execute(
                        "update lab_rows set note = $2 where id = $1", {input.name, mounted(input)}
                    );
                }
            )
        )};
}

// Applies a document of templates: makes those that are not there, changes the others; all or none.
Module applying(const Json& document) {
    return with(
        [&document](Context& context) {
            std::vector<std::pair<std::string, Json>> calls;
            for (const Json& item : document.at("sandboxTemplates")) {
                Json input = item;
                input["tenantId"] = document.at("tenantId");
                const bool is_there = !context.sql()
                                           .query(
                                               "select id from lab_rows where id = $1",
                                               {item.at("name").get<std::string>()}
                                           )
                                           .empty();
                calls.emplace_back(
                    is_there ? "sandboxTemplates/update" : "sandboxTemplates/create",
                    std::move(input)
                );
            }
            for (const auto& [path, input] : calls) {
                context.check(path, input);
            }
            context.sql().transaction([&](store::Transaction& tx) {
                for (const auto& [path, input] : calls) {
                    context.invoke(tx, path, input);
                }
            });
            return Json{{"applied", calls.size()}};
        },
        template_methods()
    );
}

Json template_item(const std::string& name, std::vector<std::string> volumes) {
    return Json{{"name", name}, {"volumes", std::move(volumes)}};
}

std::string volumes_of(LabPlane& plane, const std::string& name) {
    const auto rows =
        plane.test_database().database().query("select note from lab_rows where id = $1", {name});
    return rows.empty() ? "absent" : rows.at(0).get_text(0);
}

std::vector<std::string> decided(const LabPlane& plane) {
    std::vector<std::string> out;
    for (const auto& asked : plane.iam.calls()) {
        if (asked.what == "require") {
            out.push_back(asked.action + " " + asked.resource.type + "/" + asked.resource.id);
        }
    }
    return out;
}

TEST_P(Templates, M129_ADocumentMakesATemplateThatMountsVolumes) {
    const Json document{
        {"tenantId", "acme"},
        {"sandboxTemplates", Json::array({template_item("train", {"vol-1", "vol-2"})})}};
    LabPlane plane(GetParam(), {applying(document)});

    EXPECT_EQ(run(plane), Json({{"applied", 1}}));

    EXPECT_EQ(volumes_of(plane, "train"), R"(["vol-1","vol-2"])");
    EXPECT_THAT(
        decided(plane),
        ElementsAre(
            "compute:fleet:admin compute-fleet/global",
            "compute:sandbox-templates:create compute-tenant/acme",
            "compute:volumes:mount compute-volume/vol-1",
            "compute:volumes:mount compute-volume/vol-2"
        )
    );
    EXPECT_EQ(plane.audit().size(), 2U);
}

TEST_P(Templates, M129_ADocumentChangesWhatATemplateMounts) {
    Json document{
        {"tenantId", "acme"},
        {"sandboxTemplates", Json::array({template_item("train", {"vol-1"})})}};
    LabPlane plane(GetParam(), {applying(document)});
    run(plane);
    document["sandboxTemplates"] =
        Json::array({template_item("train", {"vol-3"}), template_item("serve", {"vol-1"})});
    plane.clear();

    EXPECT_EQ(run(plane), Json({{"applied", 2}}));

    EXPECT_EQ(volumes_of(plane, "train"), R"(["vol-3"])");
    EXPECT_EQ(volumes_of(plane, "serve"), R"(["vol-1"])");
    EXPECT_THAT(
        decided(plane),
        ElementsAre(
            "compute:fleet:admin compute-fleet/global",
            "compute:sandbox-templates:update compute-template/train",
            "compute:volumes:mount compute-volume/vol-3",
            "compute:sandbox-templates:create compute-tenant/acme",
            "compute:volumes:mount compute-volume/vol-1"
        )
    );
}

TEST_P(Templates, M129_AVolumeThatMayNotBeMountedRefusesTheDocument) {
    const Json document{
        {"tenantId", "acme"},
        {"sandboxTemplates",
         Json::array(
             {template_item("serve", {"vol-1"}), template_item("train", {"vol-1", "secret"})}
         )}};
    LabPlane plane(GetParam(), {applying(document)});
    plane.iam.set_policy([](const iam::Session&, const iam::Question& question) {
        return question.resource.id != "secret";
    });

    EXPECT_EQ(plane.error_of("fleet/apply", kRoot, Json::object()).code(), ErrorCode::AccessDenied);

    EXPECT_EQ(plane.rows(), 0);
    EXPECT_THAT(plane.audit(), IsEmpty());
}

}  // namespace
}  // namespace compute::contract
