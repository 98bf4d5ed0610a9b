// ScriptWitness: is told which lines of its scripts a server runs. It is a KeyspaceWitness as well, and comes
// to the engine as such (Engine::set_witness). Without one an engine does nothing for it.
#pragma once

#include <string_view>

namespace holdfast::sim::embedded {

class ScriptWitness {
 public:
  virtual ~ScriptWitness() = default;
  // All calls on the server's task, which must not park.
  virtual void begins(std::string_view sha1) = 0;  // the script of that name; its lines follow
  virtual void line(int number) = 0;               // is about to run, from 1
};

// Of one run of a script: one without an end says nothing new after so many.
inline constexpr int kLinesTold = 2'000;

}  // namespace holdfast::sim::embedded
