// The checks of this build. A new check is one file check_NAME.cc, one line here and one line in
// check_registry.cc.
#pragma once

#include "checker/checks/check.h"

namespace holdfast::checker {

const Check& mutual_exclusion_check();
const Check& lease_exclusion_check();
const Check& told_in_time_check();
const Check& linearizable_check();
const Check& no_foreign_release_check();
const Check& progress_check();
const Check& at_rest_check();
const Check& oversell_check();
const Check& lost_update_check();
const Check& negative_stock_check();
const Check& balance_check();
const Check& job_once_check();
const Check& fencing_monotonic_check();
const Check& fair_order_check();
const Check& share_check();
const Check& latch_check();
const Check& effects_inside_hold_check();
const Check& no_abandoned_hold_check();
const Check& truth_check();
const Check& reached_check();

}  // namespace holdfast::checker
