// Plays a role story: does what it says, waits until the servers are at rest, and looks at them.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <functional>
#include <string_view>
#include <utility>

#include "lib/lock/store/survivor_scripts.h"
#include "lib/lock/store/survivor_store.h"
#include "sim/cluster/testing/role_rules.h"
#include "sim/cluster/testing/role_story.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using Kind = RoleEventKind;

// The value of a field of INFO, "" if there is none.
std::string field(const std::string& info, const std::string& name) {
  const std::size_t at = info.find("\n" + name + ":");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + name.size() + 2;
  return info.substr(begin, info.find('\r', begin) - begin);
}

// The reentrant lock's, with the guard around it.
std::string guarded_acquire() {
  for (const GuardedScript& each : guarded_scripts()) {
    if (each.plain->name == "reentrant_acquire") return std::string(each.guarded->text);
  }
  return "return redis.error_reply('NOSCRIPT reentrant_acquire has no guard')";
}

std::int64_t number(std::string_view text) {
  std::int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    all.push_back(text.substr(at, end - at));
  return all;
}

template <class Items>
std::string joined(const Items& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ",") + item;
  return text.empty() ? "none" : text;
}

class Player {
 public:
  explicit Player(Scene& scene)
      : scene_(scene), constants_(constants_of(30ms)), other_constants_(constants_of(40ms)) {}

  RoleReport play(const RoleStory& story) {
    MonotonicTime begun = now();
    if (!rests({})) return report_;
    look_ = look();
    RoleRules rules(roles_, look_, begun);
    tell(rules);
    for (const RoleEvent& event : story) {
      if (!roles_.can(event)) continue;
      begun = now();
      const Gone gone = act(event);
      roles_.apply(event);
      if (!rests(gone)) {
        report_.broken.push_back(to_text(event) + ": the servers do not come to rest: " + why_);
        break;
      }
      look_ = look();
      rules.saw(event, roles_, look_, begun);
      tell(rules);
      if (!rests({}) || !same_data()) {
        report_.broken.push_back(to_text(event) + ": what was written is not everywhere: " + why_);
        break;
      }
    }
    report_.broken.insert(report_.broken.begin(), rules.broken().begin(), rules.broken().end());
    return report_;
  }

 private:
  // What the event has ended: the servers may not have noticed it yet.
  struct Gone {
    std::size_t node = Roles::kNobody;
    std::vector<std::int64_t> links = {};  // of that node
    std::int64_t joins = -1;               // that node has had so many, and gets one more
  };

  MonotonicTime now() const { return scene_.world.harness().runtime().now(); }
  ClusterNode& server(std::size_t node) const { return *scene_.cluster.nodes().at(node); }
  redis::Reply ask(std::size_t node, std::initializer_list<std::string> command) {
    return scene_.ask(role_node(node), command);
  }
  std::string info(std::size_t node) {
    return ask(node, {"INFO", "replication"}).text + ask(node, {"INFO", "stats"}).text;
  }

  std::string constants_of(Duration longest_lease) const {
    SurvivorOptions options{.members = {}, .longest_lease = longest_lease, .skew = 1ms};
    for (std::size_t i = 0; i < kRoleMembers; ++i)
      options.members.push_back(server(i).endpoint().to_string());
    return survivor_constants(options);
  }

  static std::vector<RoleSight::Link> links_in(const std::string& list) {
    std::vector<RoleSight::Link> links;
    for (const std::string& line : lines(list)) {
      const std::size_t age = line.find(" age=");
      if (!line.starts_with("id=") || age == std::string::npos) continue;
      links.push_back(
          {number(std::string_view(line).substr(3)), number(std::string_view(line).substr(age + 5))});
    }
    return links;
  }

  // Which nodes INFO lists, by what they announce; "?...": none of them. Sorted.
  std::vector<std::string> replicas_in(const std::string& info) const {
    std::vector<std::string> found;
    for (const std::string& line : lines(info)) {
      const std::size_t at = line.find(":ip=");
      if (!line.starts_with("slave") || at == std::string::npos) continue;
      const std::size_t comma = line.find(",port=");
      const std::string host = line.substr(at + 4, comma - at - 4);
      const std::string address = host + ":" + line.substr(comma + 6, line.find(',', comma + 6) - comma - 6);
      std::string name = "?" + line;
      for (std::size_t i = 0; i < kRoleNodes; ++i) {
        if (server(i).endpoint().to_string() == address) name = role_node(i);
      }
      found.push_back(line.find(",state=online,") == std::string::npos ? "?" + line : name);
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  // --- events ---

  std::function<bool(const Link&)> link_of(std::size_t node) const {
    return [name = role_node(node)](const Link& link) { return link.replication && link.from == name; };
  }

  Gone act(const RoleEvent& event) {
    const std::size_t node = event.node;
    switch (event.kind) {
      case Kind::promote: server(node).promote(); break;
      case Kind::follow: scene_.cluster.demote(role_node(node), role_node(event.other)); break;
      case Kind::crash: server(node).crash(); break;
      case Kind::restart_empty: server(node).restart(false); break;
      case Kind::restart_saved: server(node).restart(true); break;
      case Kind::save: administer(node, {"SAVE"}); break;
      case Kind::kill_links: {
        Gone gone{.node = node};
        for (const RoleSight::Link& link : links_in(ask(node, {"CLIENT", "LIST", "TYPE", "replica"}).text))
          gone.links.push_back(link.id);
        administer(node, {"CLIENT", "KILL", "TYPE", "replica"});
        return gone;
      }
      case Kind::break_link: {
        const std::size_t of = roles_.nodes[node].follows;
        const std::string before = info(of);
        scene_.proxy.reset_links(link_of(node));
        return {.node = of,
                .joins = number(field(before, "sync_full")) + number(field(before, "sync_partial_ok"))};
      }
      case Kind::cut:
        cuts_[node] = scene_.proxy.add_rule(make_refuse_rule(link_of(node)));
        scene_.proxy.reset_links(link_of(node));
        break;
      case Kind::heal: scene_.proxy.remove_rule(std::exchange(cuts_[node], 0)); break;
      case Kind::freeze: freeze(node); break;
      case Kind::flush: administer(node, {"FLUSHALL"}); break;
    }
    return {};
  }

  void administer(std::size_t node, const std::vector<std::string>& command) {
    server(node).administer(command);
  }

  // WAIT counts whom it can reach, and on a connection that has run no command whom it knows.
  void freeze(std::size_t node) {
    const std::size_t of = roles_.nodes[node].follows;
    const auto known = static_cast<std::int64_t>(replicas_in(info(of)).size());
    const RuleId rule = scene_.proxy.add_rule(make_hold_rule([which = link_of(node)](const Link& link) {
      return Lanes{.request = which(link), .reply = which(link)};
    }));
    const MonotonicTime deadline = now() + 30s;
    ServerConnection asker(scene_.world.harness().network(), server(of).endpoint(), deadline);
    asker.call({"SET", "written", "while frozen"}, deadline);
    const std::int64_t others = asker.call({"WAIT", std::to_string(known - 1), "10000"}, deadline).integer;
    const std::int64_t all = asker.call({"WAIT", std::to_string(known), "100"}, deadline).integer;
    ServerConnection bare(scene_.world.harness().network(), server(of).endpoint(), deadline);
    const std::int64_t without = bare.call({"WAIT", std::to_string(known), "0"}, deadline).integer;
    scene_.proxy.remove_rule(rule);
    if (others != known - 1 || all != known - 1 || without != known) {
      report_.broken.push_back("one of " + std::to_string(known) + " links of " + role_node(of) +
                               " is frozen, and WAIT says " + std::to_string(others) + ", " +
                               std::to_string(all) + ", without a command before it " +
                               std::to_string(without));
    }
  }

  // --- coming to rest ---

  // [parks] Both ends of each link say the same of it, all that can be up are, and have the same data.
  bool rests(const Gone& gone) {
    return scene_.comes_to([&] {
      try {
        why_ = unrest(gone);
      } catch (const std::runtime_error& error) {
        why_ = error.what();
      }
      return why_.empty();
    });
  }

  // What is not as it will be; "": nothing.
  std::string unrest(const Gone& gone) {
    std::array<std::string, kRoleNodes> infos;
    std::array<bool, kRoleNodes> up{};
    for (std::size_t i = 0; i < kRoleNodes; ++i) {
      if (!roles_.nodes[i].running) continue;
      infos[i] = info(i);
      up[i] = field(infos[i], "master_link_status") == "up";
    }
    for (std::size_t i = 0; i < kRoleNodes; ++i) {
      if (!roles_.nodes[i].running || roles_.primary(i)) continue;
      const bool can_be = roles_.reaches(i);
      // Whom it follows serves it, be its own link as it may; else it stays as it is, or cannot come back.
      const std::size_t above = roles_.nodes[i].follows;
      if (!up[i] && can_be && (roles_.primary(above) || up[above])) return role_node(i) + " is not up";
      if (up[i] && !can_be) return role_node(i) + " is up";
    }
    for (std::size_t i = 0; i < kRoleNodes; ++i) {
      if (!roles_.nodes[i].running) continue;
      std::vector<std::string> expected;
      for (std::size_t other = 0; other < kRoleNodes; ++other) {
        if (up[other] && roles_.nodes[other].follows == i) expected.push_back(role_node(other));
      }
      if (const auto listed = replicas_in(infos[i]); listed != expected)
        return role_node(i) + " lists " + joined(listed) + " instead of " + joined(expected);
      const auto links = links_in(ask(i, {"CLIENT", "LIST", "TYPE", "replica"}).text);
      if (links.size() != expected.size()) return role_node(i) + " has a link too many";
      const std::size_t root = roles_.root(i);
      if (root != Roles::kNobody && root != i &&
          field(infos[i], "slave_repl_offset") != field(infos[root], "master_repl_offset"))
        return role_node(i) + " has not all data";
      if (gone.node != i) continue;
      for (const RoleSight::Link& link : links) {
        if (std::find(gone.links.begin(), gone.links.end(), link.id) != gone.links.end())
          return role_node(i) + " still has a link that was killed";
      }
      if (number(field(infos[i], "sync_full")) + number(field(infos[i], "sync_partial_ok")) <= gone.joins)
        return role_node(i) + " has nobody back yet";
    }
    return "";
  }

  // Replicas have what their primary has.
  bool same_data() {
    std::array<std::string, kRoleNodes> digests;
    for (std::size_t i = 0; i < kRoleNodes; ++i) {
      if (roles_.nodes[i].running) digests[i] = ask(i, {"DEBUG", "DIGEST"}).text;
    }
    for (std::size_t i = 0; i < kRoleNodes; ++i) {
      const std::size_t root = roles_.root(i);
      if (root == Roles::kNobody || digests[i] == digests[root]) continue;
      why_ = role_node(i) + " has other data than " + role_node(root);
      return false;
    }
    return true;
  }

  // --- looking ---

  RoleLook look() {
    RoleLook all;
    for (std::size_t i = 0; i < kRoleNodes; ++i) {
      RoleSight& one = all[i];
      one.running = roles_.nodes[i].running;
      one.incarnation = server(i).incarnation();
      if (!one.running) continue;
      const std::string text = info(i);
      one.primary = field(text, "role") == "master";
      one.up = field(text, "master_link_status") == "up";
      one.id = field(text, "master_replid");
      one.second_id = field(text, "master_replid2");
      one.backlog = field(text, "repl_backlog_active") == "1";
      one.full = number(field(text, "sync_full"));
      one.partial = number(field(text, "sync_partial_ok"));
      one.replicas = replicas_in(text);
      one.listed_from = now();
      one.links = links_in(ask(i, {"CLIENT", "LIST", "TYPE", "replica"}).text);
      one.listed_until = now();
      ask_guard(i, one);
    }
    return all;
  }

  void ask_guard(std::size_t node, RoleSight& sight) {
    const std::string online = std::to_string(sight.replicas.size());
    if (sight.primary) sight.bare_wait = ask(node, {"WAIT", online, "0"}).integer;
    const MonotonicTime deadline = now() + 30s;
    ServerConnection asker(scene_.world.harness().network(), server(node).endpoint(), deadline);
    // What it writes first and last is in one database: who goes on in the middle has to know in which.
    const auto count = [&] {
      asker.call({"SELECT", "5"}, deadline);
      asker.call({"INCR", "looks"}, deadline);
      asker.call({"SELECT", "0"}, deadline);
    };
    if (sight.primary) count();
    std::int64_t wait_ms = 0;
    sight.first = sight.later = acquire(asker, deadline, constants_, &wait_ms);
    while (sight.later == "quarantine" && now() < deadline) {
      scene_.world.harness().runtime().sleep_for(std::chrono::milliseconds(wait_ms));
      sight.later = acquire(asker, deadline, constants_, &wait_ms);
    }
    if (sight.primary) {
      sight.other = acquire(asker, deadline, other_constants_, nullptr);
      if (sight.later == "granted") sight.wait = asker.call({"WAIT", online, "10000"}, deadline).integer;
      asker.call({"DEL", "k"}, deadline);
      count();
    }
  }

  static std::string acquire(ServerConnection& asker, MonotonicTime deadline, const std::string& constants,
                             std::int64_t* wait_ms) {
    const redis::Reply reply =
        asker.call({"EVAL", guarded_acquire(), "5", "k", "k:queue", "k:patience", "holdfast:token:k",
                    std::string(kSurvivorMark), "somebody", "30", "0", "0", constants, "acquire"},
                   deadline);
    if (reply.is_error()) return std::string(reply.error_code());
    if (reply.items.size() != 3 || reply.items[0].items.size() < 2) return "?";
    const std::vector<redis::Reply>& answer = reply.items[0].items;
    if (answer[0].integer == 1) return "granted";
    if (wait_ms != nullptr) *wait_ms = answer[1].integer;
    return "quarantine";
  }

  // --- telling ---

  void tell(const RoleRules& rules) {
    std::string text;
    for (std::size_t i = 0; i < kRoleNodes; ++i) {
      const RoleSight& one = look_[i];
      text += "\n  " + role_node(i) + " ";
      if (!one.running) {
        text += "down";
        continue;
      }
      text += one.primary ? "primary" : std::string("replica ") + (one.up ? "up" : "down");
      text += " id=" + rules.short_name(one.id);
      text += "/" + rules.short_name(one.second_id);
      text += one.backlog ? " backlog" : " no backlog";
      text += " joins=" + std::to_string(one.full) + "+" + std::to_string(one.partial);
      text += " replicas=" + joined(one.replicas) + " since=";
      std::vector<std::string> since;
      for (const RoleSight::Link& link : one.links)
        since.push_back(std::to_string(rules.link_since(i, one, link.id)));
      std::sort(since.begin(), since.end());
      text += joined(since) + " guard=" + one.first;
      if (one.primary) {
        text += "," + one.later + "," + one.other + " wait=" + std::to_string(one.bare_wait) + "," +
                std::to_string(one.wait);
      }
    }
    report_.seen.push_back(text);
  }

  Scene& scene_;
  const std::string constants_, other_constants_;
  Roles roles_;
  RoleLook look_;
  std::array<RuleId, kRoleNodes> cuts_{};
  std::string why_;
  RoleReport report_;
};

}  // namespace

RoleReport play_role_story(Scene& scene, const RoleStory& story) { return Player(scene).play(story); }

RoleReport play_role_story(bool embedded, const RoleStory& story) {
  ClusterOptions options{.topology = Topology::independent, .nodes = {}, .persistence = Persistence::rdb};
  for (std::size_t i = 0; i < kRoleNodes; ++i) options.nodes.push_back(role_node(i));
  // Nothing goes to replicas but what is written here.
  options.settings = {{"repl-ping-replica-period", "3600"}};
  RoleReport report;
  in_scene(embedded, options, [&](Scene& scene) { report = play_role_story(scene, story); });
  return report;
}

std::string role_difference(const RoleStory& story, const RoleReport& ours, const RoleReport& real) {
  const std::size_t both = std::min(ours.seen.size(), real.seen.size());
  for (std::size_t i = 0; i < both || ours.seen.size() != real.seen.size(); ++i) {
    if (i < both && ours.seen[i] == real.seen[i]) continue;
    std::string text;
    for (std::size_t event = 0; event < i && event < story.size(); ++event)
      text += std::to_string(event + 1) + ". " + to_text(story[event]) + "\n";
    return text + "embedded:" + (i < ours.seen.size() ? ours.seen[i] : " nothing") +
           "\nreal:" + (i < real.seen.size() ? real.seen[i] : " nothing");
  }
  return "";
}

}  // namespace holdfast::sim
