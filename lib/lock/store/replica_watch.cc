#include "lib/lock/store/replica_watch.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <set>
#include <utility>

namespace holdfast {
namespace {

// The value of "NAME=" in "a=1,b=2".
std::string_view part(std::string_view line, std::string_view name) {
  const std::size_t at = line.find(name);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + name.size());
  return line.substr(0, line.find(','));
}

}  // namespace

std::string_view info_value(std::string_view info, std::string_view name) {
  for (std::size_t at = info.find(name); at != std::string_view::npos; at = info.find(name, at + 1)) {
    const std::size_t colon = at + name.size();
    if ((at > 0 && info[at - 1] != '\n') || colon >= info.size() || info[colon] != ':') continue;
    const std::string_view rest = info.substr(colon + 1);
    return rest.substr(0, rest.find_first_of("\r\n"));
  }
  return {};
}

std::vector<FollowingReplica> replicas_in(std::string_view info) {
  std::vector<FollowingReplica> replicas;
  for (int i = 0;; ++i) {
    const std::string_view line = info_value(info, "slave" + std::to_string(i));
    if (line.empty()) return replicas;
    FollowingReplica& replica = replicas.emplace_back();
    replica.address.append(part(line, "ip=")).append(1, ':').append(part(line, "port="));
    replica.online = part(line, "state=") == "online";
    const std::string_view offset = part(line, "offset=");
    std::from_chars(offset.data(), offset.data() + offset.size(), replica.offset);
  }
}

void ReplicaWatch::saw(const Stint& stint, const std::vector<FollowingReplica>& replicas, MonotonicTime asked,
                       MonotonicTime seen) {
  const bool counted_on = stint.joined >= stint_.joined;  // else by an earlier look, or anew (RESETSTAT)
  if (stint.replication_id == stint_.replication_id && !counted_on && asked < seen_) return;
  const bool same_primary = stint.replication_id == stint_.replication_id && counted_on;
  std::set<std::string> there, twice;
  for (const FollowingReplica& replica : replicas) {
    if (!there.insert(replica.address).second) twice.insert(replica.address);
  }
  const auto is_new = [this](const std::string& address) { return !since_.contains(address); };
  const std::int64_t joined = stint.joined - stint_.joined;
  const bool new_ones_joined =
      joined == 0 || (twice.empty() && std::count_if(there.begin(), there.end(), is_new) == joined);
  std::map<std::string, MonotonicTime> since;
  for (const std::string& address : there) {
    if (twice.contains(address)) continue;  // a link that is dead, and its successor
    const auto before = since_.find(address);
    const bool stayed = same_primary && new_ones_joined && before != since_.end();
    since.emplace(address, stayed ? before->second : seen);
  }
  stint_ = stint;
  seen_ = seen;
  since_ = std::move(since);
}

std::vector<std::string> ReplicaWatch::followed(const Stint& stint, MonotonicTime since) const {
  std::vector<std::string> found;
  if (stint != stint_) return found;
  for (const auto& [address, from] : since_) {
    if (from <= since) found.push_back(address);
  }
  return found;
}

MonotonicTime ReplicaWatch::so_many_since(std::size_t count) const {
  if (since_.size() < count) return kNever;
  std::vector<MonotonicTime> since;
  for (const auto& [address, from] : since_) since.push_back(from);
  std::nth_element(since.begin(), since.begin() + static_cast<std::ptrdiff_t>(count - 1), since.end());
  return since[count - 1];
}

std::size_t ReplicaWatch::followed_the_last(MonotonicTime since) const {
  return followed(stint_, since).size();
}

}  // namespace holdfast
