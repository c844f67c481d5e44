// Node name lists are shared with fleet documents; see capacity/name_list.h.
#pragma once

#include "capacity/name_list.h"
