// ShownParker: the parker of the task that runs, in a place where others find it to wake the task, as long as
// this object lives; also where the task unwinds because its process was killed.
#pragma once

#include "lib/runtime/runtime.h"

namespace holdfast::sim {

class ShownParker {
 public:
  ShownParker(Parker*& place, Parker& parker) : place_(place) { place = &parker; }
  ~ShownParker() { place_ = nullptr; }
  ShownParker(const ShownParker&) = delete;
  ShownParker& operator=(const ShownParker&) = delete;

 private:
  Parker*& place_;
};

}  // namespace holdfast::sim
