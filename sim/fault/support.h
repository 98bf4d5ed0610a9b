// What several faults share: who is meant by the parties of a link, and faults that are a rule in the proxy.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster/cluster.h"
#include "sim/fault/fault.h"
#include "sim/proxy/proxy.h"
#include "sim/proxy/rules.h"

namespace holdfast::sim {

// --- keys -------------------------------------------------------------------------------------------------

std::string text_of(const FaultConfig& config, std::string_view key, std::string_view otherwise = "");
std::int64_t count_of(const FaultConfig& config, std::string_view key, std::int64_t otherwise);
bool flag_of(const FaultConfig& config, std::string_view key);
// A name or a list of names; {"*"} when the key is absent.
std::vector<std::string> parties_of(const FaultConfig& config, std::string_view key);

// The keys `between`, `and`, `direction`: which links a fault of the network means.
std::vector<FaultKey> party_keys();
// `direction` is told from `between` to `and`, whoever of them made the connection.
LaneFilter lanes_of(const FaultConfig& config);

// The key `p`, and what it or `probability` say; absent: always.
FaultKey p_key();
Chance chance_of(const FaultConfig& config);
// For FaultKind::problem: at most one of `p` and `probability`.
std::string one_probability(const FaultConfig& config);

// For FaultKind::problem: exactly one of `node` and `client`.
std::string one_of_node_and_client(const FaultConfig& config);

// Throws std::runtime_error when there is none of that name (files are checked before any run).
ClusterNode& node_of(FaultTargets& targets, const std::string& name);

// Kills a node that runs, by `how` (ClusterNode::crash), and tells so. The healing starts it again, unless
// somebody else did meanwhile. A node that is dead already: does nothing, heals nothing.
Healing take_down(FaultTargets& targets, const std::string& name, void (ClusterNode::*how)(), bool keep_disk);

// [parks] Starts a node that is dead, and tells so (unless it was killed again meanwhile).
void restart_node(FaultTargets& targets, ClusterNode& node, bool keep_disk);

// [parks] Does `what` to a node that runs, again and again while it answers BUSY or LOADING, and for a second
// where connections break: another fault may throw out all clients, this one, too, or the node is on its way
// down; for as long as it stands still (kPaused), as it may not listen yet. So doing it twice must be as
// doing it once. False: it died before it was done. Errors: those of
// `what`.
inline constexpr const char* kPaused = "pause-server";  // ClusterNode::in_force()
bool ask_patiently(FaultTargets& targets, ClusterNode& node, const std::function<void()>& what);

// Tells a hit whenever a client gets an error with this code from that node. To be removed by the healing.
RuleId hit_by_errors(FaultTargets& targets, const std::string& node, std::string code);

// --- faults that are a command of an administrator --------------------------------------------------------

// A command to one node, and another one that takes it back. Acts of one kind at a node may overlap: the
// first sends the command, the healing of the last takes it back. Of a node that is dead, or dies before it
// answers, nothing is asked. The kind tells hits.
class CommandFault : public Fault {
 public:
  using Command = std::vector<std::string>;
  // `heals` empty: it is over at once.
  CommandFault(std::string kind, std::string node, Command command, Command heals = {});
  Healing act(FaultTargets& targets) override;

 private:
  const std::string kind_, node_;
  const Command command_, heals_;
};

// --- faults that are a rule -------------------------------------------------------------------------------

// Each act adds a rule, and its healing removes that rule.
class RuleFault : public Fault {
 public:
  Healing act(FaultTargets& targets) override {
    const RuleId rule = targets.proxy.add_rule(make_rule(targets));
    return [rule](FaultTargets& later) { later.proxy.remove_rule(rule); };
  }

 protected:
  virtual std::shared_ptr<Rule> make_rule(FaultTargets& targets) = 0;
};

// A fault that meets the nth message of some sort after it began to act, or each with some probability: keys
// client, node, nth, count, probability, p. Its kind tells hits.
class MessageFault : public Fault {
 public:
  using Matches = std::function<bool(const Message&)>;
  using Act = std::function<Action(const Message& message, Rng& rng)>;
  MessageFault(const FaultConfig& config, Direction direction, Action action, Matches matches);
  // `each` says what becomes of each message that is met.
  MessageFault(const FaultConfig& config, Direction direction, Act each, Matches matches);
  Healing act(FaultTargets& targets) override;

 private:
  NthMessage options_;
  Act each_;
};

std::vector<FaultKey> message_keys();  // client, node, nth, count, probability, p

// Requests and replies to requests of the command named by the key `command` (absent: of any).
std::function<bool(const Message&)> command_matcher(const FaultConfig& config);
std::vector<FaultKey> command_keys();  // command, and those of message_keys()

}  // namespace holdfast::sim
