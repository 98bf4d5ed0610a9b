// Toxics: what the API adds to a proxy, each a rule of sim/proxy. The kinds of Toxiproxy 2 (latency,
// bandwidth, slow_close, timeout, reset_peer, slicer, limit_data), and `redis`, which looks at commands.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "sim/proxy/proxy.h"

namespace holdfast::tools {

struct Toxic {
  std::string name, type;
  bool upstream = false;  // from the client to the server; else the other way
  double toxicity = 1;    // the part of the connections that it acts on
  nlohmann::json attributes = nlohmann::json::object();

  nlohmann::json to_json() const;
};

// Reads a toxic as it is posted; what is not given has its default. Throws ApiError.
Toxic read_toxic(const nlohmann::json& body);
// The same toxic with what `body` changes: attributes and toxicity. Throws ApiError.
Toxic changed_toxic(const Toxic& toxic, const nlohmann::json& body);

// The names that clients gave themselves (CLIENT SETNAME, HELLO ... SETNAME), by connection.
class ClientNames {
 public:
  void see(const sim::Message& message);
  std::string of(std::uint64_t connection) const;
  void keep_only(const std::set<std::uint64_t>& connections);

 private:
  std::map<std::uint64_t, std::string> names_;
};

// What toxics act through. All of it outlives them.
struct ToxicSurroundings {
  sim::Proxy& proxy;
  sim::Process& process;  // whose clock times what is timed
  const ClientNames& names;
  std::uint64_t seed;
};

class ToxicRule : public sim::Rule {
 public:
  // The toxic was removed: connections that cannot go on end.
  virtual void removed() {}
  // How often it did something: to a message, or to a piece of what passes.
  virtual std::uint64_t hits() const { return 0; }
};

// The rule of `toxic` on the connections of `proxy_name`.
std::shared_ptr<ToxicRule> make_toxic_rule(const Toxic& toxic, const std::string& proxy_name,
                                           const ToxicSurroundings& around);

}  // namespace holdfast::tools
