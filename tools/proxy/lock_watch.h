// LockWatch: reads locks off the traffic of the proxies (sim/watched): who holds what, for `GET /traffic`,
// and the history of it, event by event, for a recording.
//
// What is recorded has the names of locks (keys), of clients and of proxies, and nothing else that passed: no
// value, no owner's token, no argument.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/client/recorder.h"
#include "sim/proxy/proxy.h"
#include "sim/watched/watcher.h"
#include "sim/world/world.h"
#include "tools/proxy/recording.h"

namespace holdfast::tools {

class LockWatch {
 public:
  // `recording`: null where nothing is written. `world` and `recording` outlive it.
  LockWatch(sim::World& world, const sim::Recogniser& recogniser, Recording* recording);

  // A message of a client link, of the client of that name.
  void see(const sim::Message& message, const std::string& client);
  void became(std::uint64_t exchange, sim::Fate fate);
  // Nothing more comes: tells of holds that ended with their leases.
  void finish();

  nlohmann::json held() const;

 private:
  void write();

  sim::World& world_;
  Recording* const recording_;
  sim::Recorder recorder_;
  sim::Watcher watcher_;
};

}  // namespace holdfast::tools
