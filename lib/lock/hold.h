// Hold: one outermost acquisition of one lock, from its grant to its release or loss.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "../runtime/time.h"
#include "turnstile.h"

namespace holdfast {

struct Hold {
  // Fixed at the grant.
  std::shared_ptr<const std::string> key;
  std::string owner;      // "uuid:number", never used twice
  std::string_view node;  // who granted; its name lives as long as the client
  bool renew = true;
  std::shared_ptr<Turnstile> turn;  // the local turn that belongs to the hold: passed on when it is lost
  std::weak_ptr<const void> task;   // expires with the task that holds it

  // Written by the watchdog, read by anybody.
  std::atomic<Duration::rep> valid_until_ns{0};
  std::atomic<bool> is_lost{false};

  // The watchdog's own, under its mutex.
  std::optional<std::stop_source> lost;  // made when somebody asks for a token
  bool lost_was_told = false;
  static constexpr std::size_t kUnwatched = static_cast<std::size_t>(-1);
  std::size_t place = kUnwatched;
  MonotonicTime next_renewal{};
  bool renewal_unanswered = false;  // one may have lengthened the record without our knowing

  MonotonicTime valid_until() const { return MonotonicTime(Duration(valid_until_ns.load())); }
};

}  // namespace holdfast
