// The proof is in models/README.md: a hold lasts from its acquire's completion to its release's invocation.
// Whether a release will end well is not known when it is invoked; so it frees the key at once, and what its
// completion says is compared with what it did. Only a failed release of a holder would have to be taken
// back: then this pass gives up.
#include "mutex_pass.h"

#include <vector>

namespace holdfast::checker {

bool mutex_holds_in_one_pass(const History& history) {
  enum State : std::uint8_t { idle, acquiring, releasing_held, releasing_nothing, retired };
  std::vector<Symbol> holder(history.symbols(), 0);   // by key
  std::vector<State> state(history.symbols(), idle);  // by process
  for (const Event& event : history.events()) {
    if (event.f > Function::release) continue;
    if (event.owner != 0 && event.owner != event.process) return false;
    State& mine = state[event.process];
    Symbol& held_by = holder[event.key];
    if (event.type == EventType::invoke) {
      if (mine != idle) return false;
      if (event.f == Function::acquire) {
        mine = acquiring;
      } else if (held_by == event.process) {
        held_by = 0;
        mine = releasing_held;
      } else {
        mine = releasing_nothing;
      }
      continue;
    }
    if (mine == idle || mine == retired || (mine == acquiring) != (event.f == Function::acquire))
      return false;
    switch (event.type) {
      case EventType::ok:
        if (mine == acquiring) {
          if (held_by != 0) return false;
          held_by = event.process;
        } else if (mine == releasing_nothing) {
          return false;
        }
        mine = idle;
        break;
      case EventType::fail:
        if (mine == releasing_held) return false;
        mine = idle;
        break;
      default: mine = retired; break;
    }
  }
  return true;
}

}  // namespace holdfast::checker
