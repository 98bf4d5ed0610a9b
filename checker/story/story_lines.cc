#include "checker/story/story_lines.h"

#include <fmt/format.h>

#include "checker/history/effects.h"
#include "checker/holds/holds.h"

namespace holdfast::checker {

std::string describe_fault(const History& history, const Event& event) {
  const std::string kind(history.text(event.error)), id(history.text(event.key));
  if (id.empty()) return kind.empty() ? "fault" : kind;
  return kind.empty() || kind == id ? id : fmt::format("{} ({})", id, kind);
}

std::string describe_effect(const History& history, const Event& event) {
  const std::string party(history.text(event.node));
  Effect effect{};
  if (!effect_of(history, event, effect)) return fmt::format("{}: {}", party, history.text(event.mode));
  switch (effect) {
    case Effect::paused: return party + " stands still";
    case Effect::resumed: return party + " goes on";
    case Effect::crashed: return party + " is dead";
    case Effect::restarted: return party + " runs again";
    case Effect::promoted: return party + " is a primary now";
    case Effect::demoted: return party + " is a replica now: what it alone had is lost";
    case Effect::lagging: return party + " gets its primary's writes late";
    case Effect::caught_up: return party + " gets its primary's writes again";
    case Effect::clock_stepped:
      return fmt::format("the clock of {} jumps by {} ms", party, format_ms(event.value.number_or(0)));
    case Effect::clock_drifts:
      return event.value == 0
                 ? fmt::format("the clock of {} runs right again", party)
                 : fmt::format("the clock of {} runs {} ppm {}", party, std::abs(event.value.number_or(0)),
                               event.value.number_or(0) > 0 ? "fast" : "slow");
  }
  return party;
}

std::string describe_event(const History& history, const Event& event, const Wording& words) {
  const auto text = [&](Symbol symbol) { return std::string(history.text(symbol)); };
  const std::string key = event.key == 0 ? "the lock" : text(event.key);
  const std::string because = event.error == 0 ? "" : ": " + text(event.error);
  const auto unclear = [&](const std::string& what) {
    return event.type == EventType::fail ? what + " fails" + because
                                         : "never learns what became of its " + what + because;
  };
  const bool invoked = event.type == EventType::invoke, ok = event.type == EventType::ok;
  switch (event.f) {
    case Function::acquire: {
      if (invoked) return "asks for " + key + (event.mode == 0 ? "" : " to " + text(event.mode));
      if (!ok) return unclear("acquire of " + key);
      std::string line = "is granted " + key;
      if (event.node != 0) line += " by " + text(event.node);
      if (event.id != 0) line += " as " + text(event.id);
      if (!event.token.empty()) line += ", token " + history.shown(event.token);
      if (event.valid_until_ns != kAbsent) line += ", valid until " + words.time(event.valid_until_ns);
      return line;
    }
    case Function::release:
      if (invoked) return "releases " + key;
      return ok ? "has released " + key : unclear("release of " + key);
    case Function::renew:
      if (invoked) return "asks to renew " + text(event.id);
      if (!ok) return unclear("renewal of " + text(event.id));
      return "renews " + text(event.id) +
             (event.valid_until_ns == kAbsent ? "" : ", valid until " + words.time(event.valid_until_ns));
    case Function::lost:
      return "is told that " + (event.id == 0 ? key : text(event.id)) + " is lost" + because;
    case Function::read:
      if (invoked) return "reads " + key;
      return ok ? fmt::format("reads {}: {}", key,
                              event.value.empty() ? "nothing" : history.shown(event.value))
                : unclear("read of " + key);
    case Function::write:
    case Function::cas: {
      const std::string from =
          event.f == Function::cas && !event.token.empty() ? " over " + history.shown(event.token) : "";
      const std::string value = event.value.empty() ? "" : " " + history.shown(event.value);
      if (invoked) return fmt::format("sets out to write{}{} to {}", value, from, key);
      return ok ? fmt::format("writes{}{} to {}", value, from, key) : unclear("write to " + key);
    }
    case Function::sell:
      if (invoked) return "sets out to sell from " + key;
      return ok ? fmt::format("sells {} of {}", event.permits == 0 ? 1 : event.permits, key)
                : unclear("sale of " + key);
    case Function::store_grant:
    case Function::store_remove:
    case Function::store_extend: {
      const std::string_view what = event.f == Function::store_grant    ? "grant"
                                    : event.f == Function::store_remove ? "remove"
                                                                        : "extend";
      const std::string whose = event.id == 0 ? "somebody" : text(event.id);
      if (invoked) return fmt::format("command for {} goes to {}: {} {}", whose, text(event.node), what, key);
      return fmt::format("{} answers the command for {}: {}", text(event.node), whose,
                         event.value == 1 ? fmt::format("{} done", what)
                         : ok             ? fmt::format("nothing to {}", what)
                                          : fmt::format("{} done, or nothing to do", what));
    }
    case Function::fault: return (event.value == 0 ? "healed: " : "fault: ") + describe_fault(history, event);
    case Function::effect: return describe_effect(history, event);
    case Function::mark: return "mark: " + key;
    case Function::crash: return "dies";
    case Function::queue: return "waits in the queue of";
    case Function::resize:
      return invoked ? fmt::format("sets {} to {}", key, history.shown(event.value))
                     : fmt::format("has set {}", key);
    case Function::count_down:
      return invoked ? "counts down " + key
             : ok    ? "has counted down " + key
                     : unclear("count-down of " + key);
    case Function::await:
      return invoked ? "waits for " + key + " to open"
             : ok    ? "finds " + key + " open"
                     : unclear("wait for " + key);
    case Function::append:
    case Function::enqueue:
    case Function::dequeue:
    case Function::add:
    case Function::txn: {
      const std::string what(to_string(event.f));
      const std::string value = event.value.empty() ? "" : " " + history.shown(event.value);
      if (invoked) return fmt::format("sets out to {}{} on {}", what, value, key);
      return ok ? fmt::format("{}{} on {}: done", what, value, key) : unclear(what + " on " + key);
    }
    case Function::other:
      if (text(event.error) == kLeft) return "is done with " + key + ", and does not release it";
      break;
  }
  std::string line = text(event.error);
  if (event.key != 0) line += " " + key;
  if (!event.value.empty()) line += ": " + history.shown(event.value);
  return fmt::format("{} ({})", line, to_string(event.type));
}

}  // namespace holdfast::checker
