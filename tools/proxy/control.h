// ProxyControl: the proxies of `holdfast proxy` and their toxics, and the HTTP API to them: the endpoints,
// JSON and errors of Toxiproxy 2 (README.md has each).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/net/network.h"
#include "sim/proxy/proxy.h"
#include "sim/world/world.h"
#include "tools/proxy/http.h"
#include "tools/proxy/lock_watch.h"
#include "tools/proxy/toxics.h"
#include "tools/proxy/traffic.h"

namespace holdfast::tools {

// "host:port". Throws std::invalid_argument.
Endpoint read_endpoint(const std::string& text);

class ProxyControl {
 public:
  // On tasks of `process`, a real one. `dials` connects to upstreams. `guests` ends the TLS of who connects
  // to a proxy; null: nobody speaks it, or it is passed on as it is. `locks`, which may be null, sees the
  // messages of proxies that speak to a Redis. All three outlive it.
  ProxyControl(sim::World& world, sim::Process& process, Network& dials, std::uint64_t seed, bool anywhere,
               LockWatch* locks = nullptr, TlsNetwork* guests = nullptr);
  ~ProxyControl();

  // Throws ApiError. `redis`: what clients call themselves is followed from their first message on.
  const std::string& create(const std::string& name, const std::string& listen, const std::string& upstream,
                            bool enabled, bool redis);
  HttpAnswer handle(const HttpRequest& request);

 private:
  static constexpr const char* kAnyPort = "127.0.0.1:0";

  struct Active {
    Toxic toxic;
    std::shared_ptr<ToxicRule> rule;
    sim::RuleId id = 0;
  };
  struct One {
    std::string name, listen, upstream;
    std::string asked;  // the address that `listen`, where it listens, was asked for by
    bool listens_at(const std::string& address) const {
      return address == listen || address == asked || (address.empty() && asked == kAnyPort);
    }
    bool enabled = false, redis = false;
    std::vector<Active> toxics;                            // in the order in which they were added
    std::uint64_t received[2] = {0, 0}, sent[2] = {0, 0};  // by direction
  };

  class Observer;

  One& find(const std::string& name);
  std::vector<Active>::iterator find_toxic(One& one, const std::string& name);
  void open(One& one);
  void shut(One& one);
  void change(One& one, const std::string& listen, const std::string& upstream, bool enabled);
  void remove(const std::string& name);
  Active activate(const One& one, Toxic toxic);
  void deactivate(Active& active);
  void reset();
  nlohmann::json to_json(const One& one) const;
  nlohmann::json toxics_of(const One& one) const;

  HttpAnswer route(const HttpRequest& request, const std::vector<std::string>& path);
  HttpAnswer of_proxies(const HttpRequest& request);
  HttpAnswer of_proxy(const HttpRequest& request, One& one);
  HttpAnswer of_toxics(const HttpRequest& request, One& one);
  HttpAnswer of_toxic(const HttpRequest& request, One& one, const std::string& name);
  HttpAnswer populate(const std::string& body);
  HttpAnswer traffic(const std::string& target);
  std::string metrics() const;
  std::string client_of(const sim::Link& link) const;
  void observe(const sim::Message& message);
  void forget_closed();

  sim::World& world_;
  sim::Process& process_;
  Network& dials_;
  TlsNetwork* const guests_;
  LockWatch* const locks_;
  const std::uint64_t seed_;
  const bool anywhere_;
  ClientNames names_;
  Traffic traffic_;
  std::uint64_t last_connection_ = 0;
  std::map<std::string, One> all_;
  sim::Proxy proxy_;  // its tasks use what is above
};

}  // namespace holdfast::tools
