// The shape of every message, by who sends it. Included by this room only.
#pragma once

#include <string_view>

#include "schema/manifest.h"

namespace compute::agent_protocol {

enum class Sender { Agent, Daemon };

// The shape of the message `type` without its member `type`; null when there is none.
[[nodiscard]] const schema::Shape* find_shape(Sender sender, std::string_view type);

}  // namespace compute::agent_protocol
