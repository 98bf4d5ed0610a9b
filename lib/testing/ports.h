// The places (place.h) for suites that need the ports alone.
#pragma once

#include <gtest/gtest.h>

#include "lib/testing/place.h"

namespace holdfast::redis::testing {

using Ports = holdfast::testing::Where;
using holdfast::testing::on_ports;
using holdfast::testing::to_string;
inline auto all_ports() { return ::testing::ValuesIn(holdfast::testing::everywhere()); }

}  // namespace holdfast::redis::testing
