#include "lib/redis/cluster_map.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "lib/redis/failure.h"
#include "lib/redis/hash_slot.h"
#include "lib/redis/primary_finder.h"
#include "lib/redis/question.h"

namespace holdfast::redis {
namespace {

using Kind = Error::Kind;

// What one node said.
struct Word {
  std::optional<ClusterMap> map = std::nullopt;
  bool well = false;  // cluster_state:ok
  std::string why_not = {};
  std::optional<Kind> hopeless = std::nullopt;
  std::string code = {};
};

// The rest of the line of CLUSTER INFO that begins with `name`.
std::string_view line_of(std::string_view info, std::string_view name) {
  for (std::size_t at = 0; at < info.size();) {
    const std::size_t end = std::min(info.find_first_of("\r\n", at), info.size());
    if (info.substr(at, end - at).starts_with(name))
      return info.substr(at + name.size(), end - at - name.size());
    at = end + 1;
  }
  return {};
}

Word refused(const Reply& reply) {
  const std::string code = reply.error_code();
  Word word{.why_not = legible(reply.text, 600), .code = code};
  if (code == "NOAUTH" || code == "WRONGPASS" || code == "NOPERM" || code == "DENIED") {
    word.why_not += ": check user and password in ClientOptions, and that the user may ask CLUSTER";
    word.hopeless = Kind::unauthorized;
  } else if (reply.text.starts_with("ERR This instance has cluster support disabled") ||
             reply.text.starts_with("ERR unknown command")) {
    word.why_not = "is no node of a Redis Cluster (" + word.why_not + "): leave ClientOptions::cluster unset";
    word.hopeless = Kind::unsupported;
  }
  return word;
}

bool read_slot(const Reply& item, std::size_t& slot) {
  if (item.type != Reply::Type::integer || item.integer < 0) return false;
  slot = static_cast<std::size_t>(item.integer);
  return slot < kHashSlots;
}

// CLUSTER SLOTS: {first slot, last slot, {host, port, id, ...} of the primary, of each replica}, ...
// A node that does not know its own address leaves the host out: it is where we reached it.
// `full`: the servers are too many, and a primary is none of them.
std::optional<ClusterMap> read_slots(const Reply& reply, const Endpoint& asked, Servers& servers,
                                     bool& full) {
  if (reply.type != Reply::Type::array) return std::nullopt;
  ClusterMap map;
  map.nodes.assign(kHashSlots, ClusterMap::kNobody);
  for (const Reply& range : reply.items) {
    std::size_t first = 0, last = 0;
    if (range.items.size() < 3 || !read_slot(range.items[0], first) || !read_slot(range.items[1], last) ||
        first > last)
      return std::nullopt;
    for (std::size_t i = 2; i < range.items.size(); ++i) {
      const Reply& node = range.items[i];
      if (node.items.size() < 2 || node.items[1].integer < 1 || node.items[1].integer > 65535)
        return std::nullopt;
      const std::string& host = node.items[0].text;
      if (host == "?") continue;  // its announced name is not known yet
      const std::optional<std::size_t> server = servers.at_address(
          {host.empty() ? asked.host : host, static_cast<std::uint16_t>(node.items[1].integer)});
      if (!server) {
        if (i > 2) continue;  // one replica less to ask
        full = true;
        return std::nullopt;
      }
      map.named.push_back(static_cast<std::uint16_t>(*server));
      if (i > 2) continue;  // a replica: it is known now, and can be asked when its primary is gone
      std::fill(map.nodes.begin() + static_cast<std::ptrdiff_t>(first),
                map.nodes.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                static_cast<std::uint16_t>(*server));
    }
  }
  std::sort(map.named.begin(), map.named.end());  // a server has many ranges
  map.named.erase(std::unique(map.named.begin(), map.named.end()), map.named.end());
  return map;
}

Word ask(Runtime& runtime, Network& network, const ClientOptions& options, Servers& servers,
         std::size_t node) {
  if (servers.ended()) return {.why_not = "the client is being destroyed"};
  Question question;
  question.log_in(options.user, options.password);
  question.add({"CLUSTER", "INFO"});
  question.add({"CLUSTER", "SLOTS"});
  const Endpoint endpoint = servers.at(node).endpoint;
  const MonotonicTime deadline = deadline_after(runtime.now(), options.connect_timeout);
  const Question::Answered answered = question.ask(runtime, network, endpoint, deadline, options);
  if (!answered.why_not.empty()) return {.why_not = answered.why_not, .hopeless = answered.hopeless};
  if (answered.log_in && answered.log_in->is_error()) return refused(*answered.log_in);
  const Reply& info = answered.replies[0];
  const Reply& slots = answered.replies[1];
  if (info.is_error()) return refused(info);
  if (slots.is_error()) return refused(slots);
  Word word;
  bool full = false;
  word.map = read_slots(slots, endpoint, servers, full);
  if (full) {
    word.why_not = "names a primary at the " + std::to_string(Servers::kMost + 1) +
                   "th address that this client is told: make another client";
    word.hopeless = Kind::protocol;
    return word;
  }
  if (!word.map) return {.why_not = "does not tell its slots as Redis does", .hopeless = Kind::protocol};
  word.well = line_of(info.text, "cluster_state:") == "ok";
  const std::string_view epoch = line_of(info.text, "cluster_current_epoch:");
  std::from_chars(epoch.data(), epoch.data() + epoch.size(), word.map->epoch);
  return word;
}

// Whom to ask, one after the other. Who is named now comes first: of the others many may be gone for good,
// each at the cost of connect_timeout. Within each group the order begins with any one.
std::vector<std::size_t> order_of(Runtime& runtime, const ClientOptions& options, std::size_t count,
                                  std::optional<std::size_t> last, const ClusterMap& known) {
  enum : std::uint8_t { kNamed, kGiven, kLast, kOthers, kLastOfAll };
  std::vector<std::uint8_t> group(count, kOthers);
  std::fill_n(group.begin(), std::min(count, options.nodes.size()), kGiven);
  for (const std::uint16_t node : known.named) group[node] = kNamed;
  for (const std::uint16_t node : known.nodes) {
    if (node != ClusterMap::kNobody) group[node] = kNamed;  // MOVED may have named it since
  }
  if (last && *last < count) group[*last] = group[*last] == kOthers ? kLastOfAll : kLast;
  const auto first = static_cast<std::size_t>(runtime.random_between(0, count - 1));
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < count; ++i) order.push_back((first + i) % count);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return group[a] < group[b]; });
  return order;
}

}  // namespace

ClusterAnswer ask_cluster(Runtime& runtime, Network& network, const ClientOptions& options, Servers& servers,
                          std::optional<std::size_t> last, const ClusterMap& known) {
  ClusterAnswer answer;
  std::optional<ClusterMap> newest;
  const std::size_t count = servers.size();  // those that are learned now need not be asked
  const std::vector<std::size_t> order = order_of(runtime, options, count, last, known);
  std::size_t unreachable = 0;
  for (const std::size_t node : order) {
    Word word = ask(runtime, network, options, servers, node);
    if (word.map) {
      const bool serves = std::any_of(word.map->nodes.begin(), word.map->nodes.end(),
                                      [](std::uint16_t at) { return at != ClusterMap::kNobody; });
      if (word.well && serves && word.map->epoch >= known.epoch) return {.map = std::move(word.map)};
      if (!newest || word.map->epoch > newest->epoch) newest = std::move(word.map);
      word.why_not = "says that the cluster is down, or is behind the others";
    } else if (word.hopeless == Kind::unreachable) {
      ++unreachable;
    } else if (word.hopeless && !answer.hopeless) {
      answer.hopeless = word.hopeless;
      answer.code = std::move(word.code);
      answer.hopeless_node = servers.name(node);
    }
    if (!answer.why_not.empty()) answer.why_not += "; ";
    answer.why_not += servers.name(node) + ": " + word.why_not;
  }
  if (newest) return {.map = std::move(newest), .why_not = std::move(answer.why_not)};
  if (unreachable == order.size()) answer.hopeless = Kind::unreachable;
  return answer;
}

}  // namespace holdfast::redis
