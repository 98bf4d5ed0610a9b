// Assertions for what cannot happen. They stay on in every build.
#pragma once

namespace holdfast::internal {

// Prints where and why to standard error and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const char* why) noexcept;

}  // namespace holdfast::internal

// HF_CHECK(condition, "why this must hold")
#define HF_CHECK(condition, why)                       \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::holdfast::internal::check_failed(__FILE__, __LINE__, #condition, (why)))
