#include "lib/redis/primary_finder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/redis/command.h"
#include "lib/redis/failure.h"
#include "lib/redis/reply_reader.h"
#include "lib/redis/sentinels.h"
#include "lib/runtime/task_pool.h"

namespace holdfast::redis {
namespace {

using Kind = Error::Kind;

enum class Step { auth, hello, select, set_name, memory, role };

struct Handshake {
  std::vector<Step> steps;
  std::string bytes;

  void add(Step step, std::initializer_list<std::string_view> command) {
    steps.push_back(step);
    append_command(bytes, {{Arguments(command.begin(), command.size()), {}, {}}});
  }
};

Handshake handshake(const ClientOptions& options, bool ask_role) {
  Handshake shake;
  if (!options.password.empty()) {
    if (options.user.empty()) {
      shake.add(Step::auth, {"AUTH", options.password});
    } else {
      shake.add(Step::auth, {"AUTH", options.user, options.password});
    }
  }
  // Without arguments: a question that only 6.2 and newer answer, and that changes nothing.
  shake.add(Step::hello, {"HELLO"});
  if (options.database != 0) shake.add(Step::select, {"SELECT", std::to_string(options.database)});
  if (!options.client_name.empty()) {
    shake.add(Step::set_name, {"CLIENT", "SETNAME", options.client_name});
  }
  shake.add(Step::memory, {"INFO", "memory"});
  if (ask_role) shake.add(Step::role, {"ROLE"});
  return shake;
}

// What speaks against going on; `text` empty: nothing.
struct Objection {
  std::string text = {};
  std::optional<Kind> hopeless = std::nullopt;
};

bool older_than_6_2(std::string_view version) {
  int major = 0, minor = 0;
  const char* const end = version.data() + version.size();
  const auto first = std::from_chars(version.data(), end, major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return false;
  if (std::from_chars(first.ptr + 1, end, minor).ec != std::errc()) return false;
  return major < 6 || (major == 6 && minor < 2);
}

Objection objection_to_hello(const Reply& reply, bool cluster) {
  constexpr std::string_view kNeeded = ": Redis 6.2 or newer is needed; upgrade it or name another server";
  if (reply.is_error()) {
    if (reply.error_code() == "NOPERM") return {};
    // 6.0 knows HELLO, but not without arguments.
    if (reply.text.starts_with("ERR unknown command") ||
        reply.text.starts_with("ERR wrong number of arguments")) {
      return {"is older than Redis 6.2 (" + reply.text + ")" + std::string(kNeeded), Kind::unsupported};
    }
    return {"did not greet: " + reply.text};
  }
  std::string version, mode;
  for (std::size_t i = 0; i + 1 < reply.items.size(); i += 2) {
    if (reply.items[i].text == "version") version = reply.items[i + 1].text;
    if (reply.items[i].text == "mode") mode = reply.items[i + 1].text;
  }
  if (version.empty()) return {"does not greet as Redis does: is this a Redis server?", Kind::protocol};
  if (older_than_6_2(version)) return {"is Redis " + version + std::string(kNeeded), Kind::unsupported};
  if (mode == "sentinel") {
    return {"is a Sentinel: name it in ClientOptions::sentinels, or name the Redis servers that it watches",
            Kind::unsupported};
  }
  if (mode == "cluster" && !cluster) {
    return {
        "is a node of a Redis Cluster: set ClientOptions::cluster, or name a server or a replicated set "
        "outside it",
        Kind::unsupported};
  }
  if (cluster && mode != "cluster") {
    return {"is no node of a Redis Cluster, but ClientOptions::cluster is set", Kind::unsupported};
  }
  return {};
}

// The rest of the line of INFO that begins with `name`.
std::string_view line_of(std::string_view info, std::string_view name) {
  std::size_t at = info.starts_with(name) ? 0 : info.find("\n" + std::string(name));
  if (at == std::string_view::npos) return {};
  at += name.size() + (at == 0 ? 0 : 1);
  return info.substr(at, info.find_first_of("\r\n", at) - at);
}

// What will go wrong when the server's memory is full; "": nothing. Whoever may not ask is not told.
std::string evicts(const Reply& reply) {
  if (reply.type != Reply::Type::bulk) return {};
  const std::string_view limit = line_of(reply.text, "maxmemory:");
  const std::string_view policy = line_of(reply.text, "maxmemory_policy:");
  if (limit.empty() || limit == "0" || policy.empty() || policy == "noeviction") return {};
  return "evicts keys when it reaches maxmemory (maxmemory-policy " + std::string(policy) +
         "), locks that are held among them: set noeviction, or give locks a server of their own";
}

Objection objection(Step step, const Reply& reply, bool cluster) {
  const std::string code = reply.error_code();
  if (code == "NOAUTH" && step != Step::auth) {
    return {"asks for a password (" + reply.text + "): set user and password in ClientOptions",
            Kind::unauthorized};
  }
  if (code == "DENIED") return {"does not let this machine in (" + reply.text + ")", Kind::unauthorized};
  if (step == Step::auth && reply.text.starts_with("ERR wrong number of arguments")) {
    return {"is too old for users (" + reply.text + "): Redis 6.2 or newer is needed", Kind::unsupported};
  }
  if (code == "WRONGPASS" || (reply.is_error() && step == Step::auth)) {
    return {"refused user or password (" + reply.text + "): check them in ClientOptions", Kind::unauthorized};
  }
  switch (step) {
    case Step::auth:
    case Step::set_name: return {};  // a name is a courtesy
    case Step::memory: return {};    // see evicts()
    case Step::hello: return objection_to_hello(reply, cluster);
    case Step::select:
      if (!reply.is_error()) return {};
      return {"SELECT failed: " + reply.text};
    case Step::role: break;
  }
  if (code == "NOPERM") {
    return {"does not let this user ask for ROLE (" + reply.text + "): grant it", Kind::unauthorized};
  }
  if (reply.is_error()) return {"did not tell its role: " + reply.text};
  if (reply.type != Reply::Type::array || reply.items.empty()) return {"did not tell its role"};
  const std::string& role = reply.items[0].text;
  if (role == "master") return {};
  return {"is a " + (role.empty() ? "stranger" : role)};
}

// Which protocol begins like this, where a Redis was expected.
std::string_view guess(std::string_view first_bytes) {
  if (first_bytes.starts_with("HTTP/")) return "; it speaks HTTP";
  if (first_bytes.starts_with("SSH-")) return "; it speaks SSH";
  if (first_bytes.starts_with("\x15\x03"))
    return "; it speaks TLS: write rediss://, or set ClientOptions::tls";
  return {};
}

}  // namespace

std::string node_name(const Node& node) { return node.name.empty() ? node.endpoint.to_string() : node.name; }

Found connect_to_node(Runtime& runtime, Network& network, const ClientOptions& options,
                      const Servers& servers, std::size_t node, bool ask_role) {
  Found found;
  found.node = node;
  found.why_not = "the client is being destroyed";
  if (servers.ended()) return found;
  const Node which = servers.at(node);
  const MonotonicTime deadline = deadline_after(runtime.now(), options.connect_timeout);
  found.why_not.clear();
  const auto fail = [&](std::string why, std::optional<Kind> hopeless = std::nullopt, std::string code = {}) {
    found.stream.reset();
    found.warning.clear();
    found.why_not = node_name(which);
    if (!which.name.empty()) found.why_not += " (" + which.endpoint.to_string() + ")";
    found.why_not += ": " + std::move(why);
    found.hopeless = hopeless;
    found.code = std::move(code);
    found.hopeless_node = node_name(which);
    ++servers.counts().failed_connections;
    return std::move(found);
  };

  Connected connected = network.connect(which.endpoint, deadline);
  if (!connected.stream) {
    const bool nobody = connected.status == IoStatus::refused || connected.status == IoStatus::unreachable;
    return fail(describe(connected.status, connected.why), nobody ? std::optional(Kind::unreachable)
                                                           : connected.status == IoStatus::untrusted
                                                               ? std::optional(Kind::untrusted)
                                                               : std::nullopt);
  }
  found.stream = std::move(connected.stream);

  std::string first;  // what came first, to guess by
  const auto broken = [&](IoStatus status) {
    const std::string more = found.stream->trouble();
    return fail("handshake: " + (first.empty() ? ended_without_a_word(status, more, options.tls.has_value())
                                               : describe(status, more)),
                status == IoStatus::untrusted ? std::optional(Kind::untrusted) : std::nullopt);
  };
  const Handshake shake = handshake(options, ask_role);
  if (const IoResult wrote = found.stream->write(shake.bytes, deadline); !wrote.ok()) {
    return broken(wrote.status);
  }
  ReplyReader reader(options.max_reply);
  Reply reply;
  std::array<char, 512> buffer;
  for (std::size_t step = 0; step < shake.steps.size();) {
    const ReplyReader::Next next = reader.next(reply);
    if (next == ReplyReader::Next::broken) {
      if (reader.too_large()) return fail("sends " + reader.error(), Kind::protocol);
      return fail(
          "does not speak RESP (" + reader.error() + "): is this a Redis server?" + std::string(guess(first)),
          Kind::protocol);
    }
    if (next == ReplyReader::Next::reply) {
      const Step done = shake.steps[step++];
      Objection why = objection(done, reply, options.cluster);
      if (done == Step::memory) found.warning = legible(evicts(reply), 600);
      if (options.strict && !found.warning.empty()) why = {found.warning, Kind::unsupported};
      if (!why.text.empty()) return fail(legible(why.text, 600), why.hopeless, reply.error_code());
      continue;
    }
    if (runtime.now() >= deadline) return fail("handshake: " + std::string(to_string(IoStatus::timed_out)));
    const IoResult got = found.stream->read(buffer, deadline);
    if (!got.ok()) return broken(got.status);
    if (first.empty()) first.assign(buffer.data(), std::min<std::size_t>(got.bytes, 8));
    reader.feed({buffer.data(), got.bytes});
  }
  if (!found.warning.empty()) found.warning = node_name(which) + ": the server " + found.warning;
  ++servers.counts().connections;
  return found;
}

namespace {

// Whether a Sentinel told the truth say the others, and the server itself. All are asked beside each other.
Found find_by_sentinels(Runtime& runtime, Network& network, const ClientOptions& options, Servers& servers,
                        const Hint& hint) {
  SentinelAnswer answer;
  std::optional<Found> early;
  const std::optional<std::size_t> likely =
      hint.primary ? servers.at_address(*hint.primary) : std::optional<std::size_t>();
  std::vector<std::function<void()>> jobs;
  if (likely)
    jobs.push_back([&] { early = connect_to_node(runtime, network, options, servers, *likely, true); });
  jobs.push_back([&] { answer = ask_sentinels(runtime, network, options, hint.sentinel, servers.ended()); });
  TaskPool(runtime, "seeker", Duration::zero()).run_all(std::move(jobs));
  Found found;
  found.why_not = answer.why_not;
  found.hopeless = answer.hopeless;
  found.code = answer.code;
  found.hopeless_node = answer.hopeless_node;
  if (!answer.primary) return found;
  const std::optional<std::size_t> node = servers.at_address(*answer.primary);
  if (!node) {
    found.why_not = "Sentinels have named more than " + std::to_string(Servers::kMost) + " addresses";
    return found;
  }
  // What they name may be gone, or a replica by now: the next attempt asks them again.
  found = early && *likely == *node ? std::move(*early)
                                    : connect_to_node(runtime, network, options, servers, *node, true);
  if (found.hopeless == Kind::unreachable) found.hopeless.reset();
  if (!found.stream) found.why_not = "the Sentinels name " + found.why_not;
  return found;
}

}  // namespace

Found find_primary(Runtime& runtime, Network& network, const ClientOptions& options, Servers& servers,
                   std::size_t first, const Hint& hint) {
  if (!options.sentinels.empty()) return find_by_sentinels(runtime, network, options, servers, hint);
  const std::size_t count = options.nodes.size();
  if (count == 1) return connect_to_node(runtime, network, options, servers, 0, false);
  Found result;
  std::size_t unreachable = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Found found = connect_to_node(runtime, network, options, servers, (first + i) % count, true);
    if (found.stream) return found;
    if (found.hopeless == Kind::unreachable) {
      ++unreachable;
    } else if (found.hopeless && !result.hopeless) {
      result.hopeless = found.hopeless;
      result.code = std::move(found.code);
      result.hopeless_node = std::move(found.hopeless_node);
    }
    if (!result.why_not.empty()) result.why_not += "; ";
    result.why_not += found.why_not;
  }
  if (unreachable == count) result.hopeless = Kind::unreachable;
  return result;
}

Duration backoff(Runtime& runtime, const ClientOptions& options, std::size_t failures) {
  Duration longest = std::max(options.backoff_min, Duration(1));
  for (std::size_t i = 1; i < failures && longest < options.backoff_max; ++i) longest *= 2;
  longest = std::max(std::min(longest, options.backoff_max), Duration(1));
  const auto high = static_cast<std::uint64_t>(longest.count());
  return Duration(static_cast<std::int64_t>(runtime.random_between(high / 2, high)));
}

}  // namespace holdfast::redis
