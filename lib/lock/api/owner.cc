#include "lib/lock/api/owner.h"

#include <any>

namespace holdfast {
namespace {

struct Identity {
  std::shared_ptr<const char> life;
  const Owner* acting = nullptr;
};

Identity& identity(Runtime& runtime) {
  static const char key = 0;
  std::any& slot = runtime.task_local_slot(&key);
  if (!slot.has_value()) slot = Identity{std::make_shared<const char>(), nullptr};
  return *std::any_cast<Identity>(&slot);
}

constexpr HolderId kOwnerBit = HolderId{1} << 63U;  // task ids count up from 1

}  // namespace

Owner::Owner(Runtime& runtime) : id_(runtime.random() | kOwnerBit) {}

ActAs::ActAs(Runtime& runtime, const Owner& owner)
    : runtime_(runtime), owner_(owner), before_(identity(runtime).acting) {
  identity(runtime_).acting = &owner_;
}

ActAs::~ActAs() { identity(runtime_).acting = before_; }

HolderId current_holder(Runtime& runtime) {
  const Owner* const acting = identity(runtime).acting;
  return acting == nullptr ? runtime.task_id() : acting->id();
}

std::weak_ptr<const void> life_of_holder(Runtime& runtime) {
  const Identity& me = identity(runtime);
  return me.acting == nullptr ? me.life : me.acting->life_;
}

}  // namespace holdfast
