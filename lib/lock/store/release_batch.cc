#include "lib/lock/store/release_batch.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "lib/lock/store/sharded_scripts.h"
#include "lib/redis/failure.h"

namespace holdfast {
namespace {

using Command = std::vector<std::string_view>;

// So many owners of one lock that give back at once are mostly waiters that have given up.
constexpr std::size_t kMany = 16;

// One request: of one release, or of all that withdraw from one queue.
struct Parcel {
  const redis::Script* script = nullptr;
  const Wire* wire = nullptr;
  std::vector<std::string_view> args = {};
  std::vector<std::size_t> releases = {};  // those it is about
};

// What the names of a process's owners begin with.
std::string_view process_of(std::string_view owner) { return owner.substr(0, owner.rfind(':') + 1); }

Parcel single(std::span<const Store::Release> releases, std::size_t i) {
  const Wire* wire = releases[i].wire;
  return {
      .script = wire->release, .wire = wire, .args = wire->release_args(releases[i].owner), .releases = {i}};
}

std::vector<Parcel> parcels_of(std::span<const Store::Release> releases) {
  std::vector<Parcel> parcels;
  // By the wire's address for speed only: the order is that of the first release of each.
  std::map<std::pair<const Wire*, std::string_view>, std::vector<std::size_t>> crowds;
  for (std::size_t i = 0; i < releases.size(); ++i) {
    if (releases[i].wire->withdraw != nullptr) {
      crowds[{releases[i].wire, process_of(releases[i].owner)}].push_back(i);
    }
  }
  for (std::size_t i = 0; i < releases.size(); ++i) {
    const Wire* wire = releases[i].wire;
    const std::string_view process = process_of(releases[i].owner);
    const auto crowd = crowds.find({wire, process});
    if (crowd == crowds.end() || crowd->second.size() < kMany) {
      parcels.push_back(single(releases, i));
    } else if (crowd->second.front() == i) {
      Parcel& parcel =
          parcels.emplace_back(Parcel{.script = wire->withdraw, .wire = wire, .args = {process}});
      parcel.releases = crowd->second;
      for (const std::size_t of : parcel.releases) {
        parcel.args.push_back(releases[of].owner.substr(process.size()));
      }
    }
  }
  return parcels;
}

// Which of its releases have to go by themselves.
std::vector<std::size_t> named_in(const redis::Reply& reply, const Parcel& parcel) {
  std::set<std::string_view> names;
  for (const redis::Reply& item : reply.items) names.insert(item.text);
  std::vector<std::size_t> named;
  for (std::size_t i = 0; i < parcel.releases.size(); ++i) {
    if (names.contains(parcel.args[i + 1])) named.push_back(parcel.releases[i]);
  }
  return named;
}

// Those whose script the server does not know go out again with its text, once for each script.
std::vector<redis::Answer> send(redis::Client& client, const std::vector<Parcel>& parcels,
                                const redis::CallOptions& options) {
  std::vector<redis::Answer> answers(parcels.size());
  std::vector<std::size_t> left(parcels.size());
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
  for (const bool with_text : {false, true}) {
    std::set<const redis::Script*> sent;
    std::vector<Command> commands;
    std::vector<std::string> counts;
    counts.reserve(left.size());
    for (const std::size_t i : left) {
      const Parcel& parcel = parcels[i];
      const redis::Script& script = script_for(client.options(), *parcel.script);
      const bool text = with_text && sent.insert(&script).second;
      Command& command = commands.emplace_back(
          Command{text ? "EVAL" : "EVALSHA", text ? script.text : script.sha1,
                  counts.emplace_back(std::to_string(parcel.wire->release_keys.size()))});
      command.insert(command.end(), parcel.wire->release_keys.begin(), parcel.wire->release_keys.end());
      command.insert(command.end(), parcel.args.begin(), parcel.args.end());
    }
    std::vector<redis::Answer> answered = client.call_all(commands, options);
    std::vector<std::size_t> unknown;
    for (std::size_t at = 0; at < left.size(); ++at) {
      const redis::Reply& reply = answered[at].reply;
      if (reply.is_error() && redis::meaning_of(reply.text) == redis::Meaning::unknown) {
        unknown.push_back(left[at]);
      }
      answers[left[at]] = std::move(answered[at]);
    }
    if (unknown.empty()) break;
    left = std::move(unknown);
  }
  return answers;
}

}  // namespace

std::vector<std::optional<redis::Error>> release_together(redis::Client& client,
                                                          std::span<const Store::Release> releases,
                                                          const redis::CallOptions& options) {
  std::vector<std::optional<redis::Error>> errors(releases.size());
  std::vector<Parcel> parcels = parcels_of(releases);
  while (!parcels.empty()) {
    std::vector<redis::Answer> answers;
    try {
      answers = send(client, parcels, options);
    } catch (const redis::Error& error) {
      for (const Parcel& parcel : parcels) {
        for (const std::size_t i : parcel.releases) errors[i] = error;
      }
      return errors;
    }
    std::vector<Parcel> alone;
    for (std::size_t at = 0; at < parcels.size(); ++at) {
      const Parcel& parcel = parcels[at];
      if (answers[at].reply.is_error()) {
        for (const std::size_t i : parcel.releases) errors[i] = client.refusal("EVALSHA", answers[at]);
      } else if (parcel.script == parcel.wire->withdraw) {
        for (const std::size_t i : named_in(answers[at].reply, parcel)) alone.push_back(single(releases, i));
      }
    }
    parcels = std::move(alone);
  }
  return errors;
}

}  // namespace holdfast
