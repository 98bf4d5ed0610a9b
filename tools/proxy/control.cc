#include "tools/proxy/control.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "tools/proxy/api_error.h"

namespace holdfast::tools {
namespace {

using nlohmann::json;
using sim::Direction;

HttpAnswer answer(int status, const json& body) { return {.status = status, .body = body.dump() + "\n"}; }
HttpAnswer nothing() { return {.status = 204}; }

json parse(const std::string& text) {
  json body = json::parse(text, nullptr, false);
  if (body.is_discarded()) throw bad_body(text.empty() ? "EOF" : "it is not JSON");
  return body;
}

template <typename T>
T field(const json& body, const char* name, const T& otherwise, const char* what) {
  const auto given = body.find(name);
  if (given == body.end() || given->is_null()) return otherwise;
  const bool fits = std::is_same_v<T, bool> ? given->is_boolean() : given->is_string();
  if (!fits) throw bad_body(std::string("`") + name + "` is " + what);
  return given->get<T>();
}

std::string text_field(const json& body, const char* name, const std::string& otherwise) {
  return field<std::string>(body, name, otherwise, "a text");
}

json object(const std::string& text) {
  json body = parse(text);
  if (!body.is_object()) throw bad_body("an object is expected");
  return body;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

std::string decoded(std::string_view part) {
  std::string text;
  for (std::size_t i = 0; i < part.size(); ++i) {
    unsigned char c = 0;
    const char* const digits = part.data() + i + 1;
    if (part[i] == '%' && i + 2 < part.size() &&
        std::from_chars(digits, digits + 2, c, 16).ptr == digits + 2) {
      text += static_cast<char>(c);
      i += 2;
    } else {
      text += part[i];
    }
  }
  return text;
}

std::vector<std::string> split(std::string_view target) {
  target = target.substr(0, target.find('?'));
  std::vector<std::string> path;
  while (!target.empty()) {
    const std::size_t end = std::min(target.find('/'), target.size());
    if (end > 0) path.push_back(decoded(target.substr(0, end)));
    target.remove_prefix(std::min(end + 1, target.size()));
  }
  return path;
}

constexpr std::uint64_t kForgetAfter = 1000;  // connections
constexpr std::int64_t kKeysWanted =
    30'000'000'000;  // ns for which keys are counted after they were asked for

// Names of clients and keys may be any bytes.
std::string text_of(const json& body) { return body.dump(-1, ' ', true, json::error_handler_t::replace); }

bool asks_for(std::string_view target, std::string_view what) {
  std::size_t at = target.find('?');
  while (at != std::string_view::npos) {
    target.remove_prefix(at + 1);
    at = target.find('&');
    if (target.substr(0, at) == what) return true;
  }
  return false;
}

// In a label of a metric.
std::string label(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace

Endpoint read_endpoint(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::uint16_t port = 0;
  if (colon == std::string::npos)
    throw std::invalid_argument("`" + text + "` is no HOST:PORT such as 127.0.0.1:6379");
  const char* const first = text.data() + colon + 1;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(first, last, port);
  if (error != std::errc{} || end != last)
    throw std::invalid_argument("`" + text + "` is no HOST:PORT such as 127.0.0.1:6379");
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return {host, port};
}

// Sees the messages of proxies that speak to a Redis, before any toxic acts on them.
class ProxyControl::Observer final : public sim::Rule {
 public:
  explicit Observer(ProxyControl& control) : control_(control) {}
  bool applies(const sim::Link& link) const override {
    const auto one = control_.all_.find(link.to);
    return one != control_.all_.end() && one->second.redis && link.of_client();
  }
  bool needs_messages() const override { return true; }
  sim::Action on_message(const sim::Message& message) override {
    return control_.observe(message), sim::Action{};
  }

 private:
  ProxyControl& control_;
};

ProxyControl::ProxyControl(sim::World& world, sim::Process& process, Network& dials, std::uint64_t seed,
                           bool anywhere, LockWatch* locks, TlsNetwork* guests)
    : world_(world),
      process_(process),
      dials_(dials),
      guests_(guests),
      locks_(locks),
      seed_(seed),
      anywhere_(anywhere),
      proxy_(world) {
  proxy_.count_bytes([this](const sim::Link& link, Direction direction, std::size_t bytes, bool written) {
    const auto one = all_.find(link.to);
    if (one == all_.end()) return;
    (written ? one->second.sent : one->second.received)[direction == Direction::request ? 0 : 1] += bytes;
    if (!written) traffic_.moved(link, client_of(link), direction, bytes);
  });
  proxy_.watch_fates([this](const sim::Link&, std::uint64_t exchange, sim::Fate fate) {
    traffic_.settled(exchange, fate, world_.now_ns());
    if (locks_ != nullptr) locks_->became(exchange, fate);
  });
  proxy_.add_rule(std::make_shared<Observer>(*this));
}

std::string ProxyControl::client_of(const sim::Link& link) const {
  std::string name = names_.of(link.connection);
  return name.empty() ? link.from : name;
}

void ProxyControl::observe(const sim::Message& message) {
  names_.see(message);
  const std::string client = client_of(message.link);
  if (message.direction == Direction::request) traffic_.asked(message, client, world_.now_ns());
  if (locks_ != nullptr) locks_->see(message, client);
  if (message.link.connection > last_connection_ + kForgetAfter) forget_closed();
}

// What is kept by connection goes with it.
void ProxyControl::forget_closed() {
  std::set<std::uint64_t> open;
  for (const sim::Link& link : proxy_.links()) {
    open.insert(link.connection);
    last_connection_ = std::max(last_connection_, link.connection);
  }
  names_.keep_only(open);
  traffic_.keep_only(open);
}

ProxyControl::~ProxyControl() = default;

ProxyControl::One& ProxyControl::find(const std::string& name) {
  const auto one = all_.find(name);
  if (one == all_.end()) throw ApiError(404, "proxy not found");
  return one->second;
}

std::vector<ProxyControl::Active>::iterator ProxyControl::find_toxic(One& one, const std::string& name) {
  return std::find_if(one.toxics.begin(), one.toxics.end(),
                      [&](const Active& active) { return active.toxic.name == name; });
}

// A door is known to the proxy by the name of the proxy.
void ProxyControl::open(One& one) {
  Endpoint at, upstream;
  try {
    at = read_endpoint(one.listen);
    upstream = read_endpoint(one.upstream);
  } catch (const std::invalid_argument& error) {
    throw bad_body(error.what());
  }
  if (at.host.empty()) at.host = anywhere_ ? "0.0.0.0" : "127.0.0.1";
  if (!anywhere_ && !is_loopback(at.host))
    throw ApiError(
        400, "`" + one.listen + "` is not of this machine alone; `holdfast proxy --anywhere` allows it");
  try {
    const Endpoint got = proxy_.expose_at(
        one.name, upstream, {.at = at, .dials = &dials_, .guests = guests_, .ends_orderly = true});
    one.listen = got.to_string();
  } catch (const std::system_error& error) {
    throw ApiError(500, "listen tcp " + one.listen + ": " + error.code().message());
  }
  one.enabled = true;
}

void ProxyControl::shut(One& one) {
  proxy_.close_doors(one.name);
  proxy_.close_links([&](const sim::Link& link) { return link.to == one.name; });
  one.enabled = false;
}

const std::string& ProxyControl::create(const std::string& name, const std::string& listen,
                                        const std::string& upstream, bool enabled, bool redis) {
  if (name.empty()) throw ApiError(400, "missing required field: name");
  if (upstream.empty()) throw ApiError(400, "missing required field: upstream");
  if (all_.count(name) > 0) throw ApiError(409, "proxy already exists");
  One one;
  one.name = name;
  one.listen = one.asked = listen.empty() ? kAnyPort : listen;
  one.upstream = upstream;
  one.redis = redis;
  if (enabled) open(one);
  return all_.emplace(name, std::move(one)).first->second.listen;
}

void ProxyControl::change(One& one, const std::string& listen, const std::string& upstream, bool enabled) {
  const bool moved = !one.listens_at(listen) || upstream != one.upstream;
  if (one.enabled && (moved || !enabled)) shut(one);
  if (moved) one.listen = one.asked = listen;
  one.upstream = upstream;
  if (enabled && !one.enabled) open(one);
}

void ProxyControl::remove(const std::string& name) {
  One& one = find(name);
  for (Active& active : one.toxics) deactivate(active);
  shut(one);
  traffic_.forget_proxy(name);
  all_.erase(name);
}

ProxyControl::Active ProxyControl::activate(const One& one, Toxic toxic) {
  Active active;
  active.rule = make_toxic_rule(toxic, one.name,
                                {.proxy = proxy_, .process = process_, .names = names_, .seed = seed_});
  active.toxic = std::move(toxic);
  active.id = proxy_.add_rule(active.rule);
  return active;
}

void ProxyControl::deactivate(Active& active) {
  active.rule->removed();
  proxy_.remove_rule(active.id);
}

void ProxyControl::reset() {
  for (auto& [name, one] : all_) {
    if (!one.enabled) open(one);
    for (Active& active : one.toxics) deactivate(active);
    one.toxics.clear();
  }
}

json ProxyControl::toxics_of(const One& one) const {
  json all = json::array();
  for (const bool upstream : {true, false}) {
    for (const Active& active : one.toxics) {
      if (active.toxic.upstream == upstream) all.push_back(active.toxic.to_json());
    }
  }
  return all;
}

json ProxyControl::to_json(const One& one) const {
  return {{"name", one.name},       {"listen", one.listen}, {"upstream", one.upstream},
          {"enabled", one.enabled}, {"redis", one.redis},   {"toxics", toxics_of(one)}};
}

HttpAnswer ProxyControl::populate(const std::string& body) {
  const json wanted = parse(body);
  if (!wanted.is_array()) throw bad_body("an array of proxies is expected");
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::string which = " at proxy " + std::to_string(i + 1);
    if (!wanted[i].is_object()) throw bad_body("an array of proxies is expected");
    for (const char* name : {"name", "upstream"}) {
      if (text_field(wanted[i], name, "").empty())
        throw ApiError(400, "missing required field: " + std::string(name) + which);
    }
  }
  json made = json::array();
  try {
    for (const json& given : wanted) {
      const std::string name = text_field(given, "name", ""), upstream = text_field(given, "upstream", "");
      const std::string listen = text_field(given, "listen", "");
      const bool enabled = field<bool>(given, "enabled", true, "true or false");
      const bool redis = field<bool>(given, "redis", false, "true or false");
      if (const auto old = all_.find(name); old != all_.end()) {
        if (!old->second.listens_at(listen) || old->second.upstream != upstream) {
          remove(name);
        } else {  // toxics stay
          change(old->second, listen, upstream, enabled);
        }
      }
      if (all_.count(name) == 0) create(name, listen, upstream, enabled, redis);
      made.push_back(to_json(all_.at(name)));
    }
  } catch (const ApiError& error) {
    return answer(error.status(), {{"error", error.what()}, {"status", error.status()}, {"proxies", made}});
  }
  return answer(201, {{"proxies", made}});
}

HttpAnswer ProxyControl::of_proxies(const HttpRequest& request) {
  if (request.method == "POST") {
    const json body = object(request.body);
    const std::string name = text_field(body, "name", "");
    create(name, text_field(body, "listen", ""), text_field(body, "upstream", ""),
           field<bool>(body, "enabled", true, "true or false"),
           field<bool>(body, "redis", false, "true or false"));
    return answer(201, to_json(find(name)));
  }
  if (request.method == "DELETE") {
    while (!all_.empty()) remove(all_.begin()->first);
    return nothing();
  }
  if (request.method != "GET") throw ApiError(405, "method not allowed");
  json all = json::object();
  for (const auto& [name, one] : all_) all[name] = to_json(one);
  return answer(200, all);
}

HttpAnswer ProxyControl::of_proxy(const HttpRequest& request, One& one) {
  if (request.method == "DELETE") return remove(std::string(one.name)), nothing();
  if (request.method == "POST" || request.method == "PATCH") {
    const json body = object(request.body);
    one.redis = field<bool>(body, "redis", one.redis, "true or false");
    change(one, text_field(body, "listen", one.listen), text_field(body, "upstream", one.upstream),
           field<bool>(body, "enabled", one.enabled, "true or false"));
  } else if (request.method != "GET") {
    throw ApiError(405, "method not allowed");
  }
  return answer(200, to_json(one));
}

HttpAnswer ProxyControl::of_toxics(const HttpRequest& request, One& one) {
  if (request.method == "GET") return answer(200, toxics_of(one));
  if (request.method != "POST") throw ApiError(405, "method not allowed");
  Toxic toxic = read_toxic(parse(request.body));
  if (find_toxic(one, toxic.name) != one.toxics.end()) throw ApiError(409, "toxic already exists");
  one.toxics.push_back(activate(one, std::move(toxic)));
  return answer(200, one.toxics.back().toxic.to_json());
}

HttpAnswer ProxyControl::of_toxic(const HttpRequest& request, One& one, const std::string& name) {
  const auto active = find_toxic(one, name);
  if (active == one.toxics.end()) throw ApiError(404, "toxic not found");
  if (request.method == "DELETE") {
    deactivate(*active);
    one.toxics.erase(active);
    return nothing();
  }
  if (request.method == "POST" || request.method == "PATCH") {
    Toxic changed = changed_toxic(active->toxic, parse(request.body));
    proxy_.remove_rule(active->id);
    *active = activate(one, std::move(changed));
  } else if (request.method != "GET") {
    throw ApiError(405, "method not allowed");
  }
  return answer(200, active->toxic.to_json());
}

std::string ProxyControl::metrics() const {
  std::string text;
  for (const bool written : {false, true}) {
    const std::string name =
        written ? "toxiproxy_proxy_sent_bytes_total" : "toxiproxy_proxy_received_bytes_total";
    text += "# HELP " + name + (written ? " Bytes passed on.\n" : " Bytes taken in.\n") + "# TYPE " + name +
            " counter\n";
    for (const auto& [proxy, one] : all_) {
      for (const int way : {0, 1}) {
        text += name + "{direction=\"" + (way == 0 ? "upstream" : "downstream") + "\",listener=\"" +
                label(one.listen) + "\",proxy=\"" + label(proxy) + "\",upstream=\"" + label(one.upstream) +
                "\"} " + std::to_string((written ? one.sent : one.received)[way]) + "\n";
      }
    }
  }
  return text;
}

HttpAnswer ProxyControl::traffic(const std::string& target) {
  forget_closed();
  std::map<std::string, std::map<std::string, std::size_t>> connections;
  for (const sim::Link& link : proxy_.links()) ++connections[link.to][client_of(link)];
  json proxies = json::array();
  for (const auto& [name, one] : all_) {
    json toxics = json::array();
    for (const Active& active : one.toxics) {
      toxics.push_back({{"name", active.toxic.name},
                        {"type", active.toxic.type},
                        {"stream", active.toxic.upstream ? "upstream" : "downstream"},
                        {"hits", active.rule->hits()}});
    }
    proxies.push_back({{"name", name},
                       {"listen", one.listen},
                       {"upstream", one.upstream},
                       {"enabled", one.enabled},
                       {"redis", one.redis},
                       {"clients", traffic_.clients_of(name, connections[name])},
                       {"toxics", std::move(toxics)}});
  }
  json body = {{"time_ns", world_.now_ns()}, {"proxies", std::move(proxies)}};
  if (asks_for(target, "keys=true")) {
    traffic_.want_keys(world_.now_ns() + kKeysWanted);
    body["keys"] = traffic_.keys();
  }
  if (locks_ != nullptr) body["locks"] = locks_->held();
  return {.body = text_of(body) + "\n"};
}

HttpAnswer ProxyControl::route(const HttpRequest& request, const std::vector<std::string>& path) {
  const std::string first = path.empty() ? "" : path[0];
  if (path.size() == 1 && first == "proxies") return of_proxies(request);
  if (path.size() == 1) {
    const bool posted = first == "reset" || first == "populate";
    const bool known = posted || first == "version" || first == "metrics" || first == "traffic";
    if (known && request.method != (posted ? "POST" : "GET")) throw ApiError(405, "method not allowed");
    if (first == "reset") return reset(), nothing();
    if (first == "populate") return populate(request.body);
    // The version of the API that is spoken.
    if (first == "version")
      return {.type = "application/json;charset=utf-8", .body = "{\"version\": \"2.9.0\"}\n"};
    if (first == "traffic") return traffic(request.target);
    if (first == "metrics") return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics()};
  }
  if (first == "proxies" && path.size() == 2) return of_proxy(request, find(path[1]));
  if (first == "proxies" && path.size() > 2 && path[2] == "toxics") {
    if (path.size() == 3) return of_toxics(request, find(path[1]));
    if (path.size() == 4) return of_toxic(request, find(path[1]), path[3]);
  }
  throw ApiError(404, "no such endpoint");
}

HttpAnswer ProxyControl::handle(const HttpRequest& request) {
  // A page in a browser must not reach it.
  if (request.user_agent.starts_with("Mozilla/"))
    return {.status = 403, .type = "text/plain; charset=utf-8", .body = "User agent not allowed\n"};
  try {
    return route(request, split(request.target));
  } catch (const ApiError& error) {
    return answer(error.status(), {{"error", error.what()}, {"status", error.status()}});
  }
}

}  // namespace holdfast::tools
