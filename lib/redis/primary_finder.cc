#include "primary_finder.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "command.h"
#include "reply_reader.h"

namespace holdfast::redis {
namespace {

enum class Step { auth, select, set_name, role };

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
  if (options.database != 0) shake.add(Step::select, {"SELECT", std::to_string(options.database)});
  if (!options.client_name.empty()) {
    shake.add(Step::set_name, {"CLIENT", "SETNAME", options.client_name});
  }
  if (ask_role) shake.add(Step::role, {"ROLE"});
  return shake;
}

// Empty when the reply is as it should be.
std::string objection(Step step, const Reply& reply, bool& unauthorized) {
  const std::string code = reply.error_code();
  if (code == "NOAUTH" || code == "WRONGPASS" || (reply.is_error() && step == Step::auth)) {
    unauthorized = true;
    return "refused user or password (" + reply.text + "): check them in ClientOptions";
  }
  switch (step) {
    case Step::auth:
    case Step::set_name: return {};  // a name is a courtesy
    case Step::select: return reply.is_error() ? "SELECT failed: " + reply.text : std::string();
    case Step::role: break;
  }
  if (code == "NOPERM") {
    unauthorized = true;
    return "does not let this user ask for ROLE (" + reply.text + "): grant it";
  }
  if (reply.is_error()) return "did not tell its role: " + reply.text;
  if (reply.type != Reply::Type::array || reply.items.empty()) return "did not tell its role";
  const std::string& role = reply.items[0].text;
  return role == "master" ? std::string() : "is a " + (role.empty() ? "stranger" : role);
}

}  // namespace

std::string node_name(const Node& node) { return node.name.empty() ? node.endpoint.to_string() : node.name; }

Found connect_to_node(Runtime& runtime, Network& network, const ClientOptions& options, std::size_t node,
                      bool ask_role) {
  const MonotonicTime deadline = deadline_after(runtime.now(), options.connect_timeout);
  Found found;
  found.node = node;
  const auto fail = [&](std::string why) {
    const Node& which = options.nodes[node];
    found.stream.reset();
    found.why_not = node_name(which);
    if (!which.name.empty()) found.why_not += " (" + which.endpoint.to_string() + ")";
    found.why_not += ": " + std::move(why);
    return std::move(found);
  };

  Connected connected = network.connect(options.nodes[node].endpoint, deadline);
  if (!connected.stream) return fail(std::string(to_string(connected.status)));
  found.stream = std::move(connected.stream);

  const Handshake shake = handshake(options, ask_role);
  if (shake.steps.empty()) return found;
  if (const IoResult wrote = found.stream->write(shake.bytes, deadline); !wrote.ok()) {
    return fail("handshake: " + std::string(to_string(wrote.status)));
  }
  ReplyReader reader;
  Reply reply;
  std::array<char, 512> buffer;
  for (std::size_t step = 0; step < shake.steps.size();) {
    const ReplyReader::Next next = reader.next(reply);
    if (next == ReplyReader::Next::broken) {
      return fail("does not speak RESP (" + reader.error() + "): is this a Redis server?");
    }
    if (next == ReplyReader::Next::reply) {
      std::string why = objection(shake.steps[step++], reply, found.unauthorized);
      if (!why.empty()) return fail(std::move(why));
      continue;
    }
    const IoResult got = found.stream->read(buffer, deadline);
    if (!got.ok()) return fail("handshake: " + std::string(to_string(got.status)));
    reader.feed({buffer.data(), got.bytes});
  }
  return found;
}

Found find_primary(Runtime& runtime, Network& network, const ClientOptions& options, std::size_t first) {
  const std::size_t count = options.nodes.size();
  if (count == 1) return connect_to_node(runtime, network, options, 0, false);
  Found result;
  for (std::size_t i = 0; i < count; ++i) {
    Found found = connect_to_node(runtime, network, options, (first + i) % count, true);
    if (found.stream) return found;
    result.unauthorized = result.unauthorized || found.unauthorized;
    if (!result.why_not.empty()) result.why_not += "; ";
    result.why_not += found.why_not;
  }
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
