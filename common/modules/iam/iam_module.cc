#include "modules/iam/iam_module.h"

#include "modules/iam/entries.h"

namespace compute::iam_methods {

method::Module operator_module() {
    method::Module module;
    module.id = "iam";
    for (auto entries :
         {document_methods(), token_methods(), confirmation_methods(), audit_methods()}) {
        for (method::MethodEntry& entry : entries) {
            module.methods.push_back(std::move(entry));
        }
    }
    return module;
}

}  // namespace compute::iam_methods
