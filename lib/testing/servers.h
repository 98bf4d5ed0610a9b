// Servers: several independent Redis servers, for tests of locks that vote: real ones on threads and on the
// event loop, embedded ones in virtual time.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <vector>

#include "lib/testing/fixture.h"
#include "lib/testing/server/redis_process.h"
#include "lib/testing/server/temporary_folder.h"

namespace holdfast::testing {

class Servers {
 public:
  virtual ~Servers() = default;
  virtual std::size_t size() const = 0;
  virtual Endpoint endpoint(std::size_t server) const = 0;
  virtual void crash(std::size_t server) = 0;
  virtual void restart(std::size_t server) = 0;  // [parks] after a crash; it has forgotten everything
  virtual void pause(std::size_t server) = 0;    // it hangs: takes connections and bytes, says nothing
  virtual void resume(std::size_t server) = 0;
};

// Real ones, in a temporary folder.
class RealServers final : public Servers {
 public:
  RealServers(Runtime& runtime, Network& network, int count);  // [parks] until they answer
  std::size_t size() const override { return servers_.size(); }
  Endpoint endpoint(std::size_t server) const override { return at(server).endpoint(); }
  void crash(std::size_t server) override { at(server).kill(); }
  void restart(std::size_t server) override { at(server).start(); }
  void pause(std::size_t server) override { at(server).pause(); }
  void resume(std::size_t server) override { at(server).resume(); }

 private:
  RedisProcess& at(std::size_t server) const;
  const TemporaryFolder folder_;
  mutable std::list<RedisProcess> servers_;
};

// Brings `count` servers up and runs `body` on a task of a process. Exceptions are passed on.
void on_servers(Where where, int count, const std::function<void(Fixture&, Servers&)>& body);

}  // namespace holdfast::testing
