// ClientStore: what stores of one client have in common, whatever they ask of a grant.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/lock/store/store.h"

namespace holdfast {

// Names the servers of a client with these options, by their addresses.
std::string place_of(const redis::ClientOptions& options);

class ClientStore : public Store {
 public:
  explicit ClientStore(redis::Client& client) : client_(client) {}

  redis::Answer call(const redis::Script& script, redis::Arguments keys, redis::Arguments args,
                     const redis::CallOptions& options) override;
  std::vector<std::optional<redis::Error>> release_all(std::span<const Release> releases,
                                                       const redis::CallOptions& options) override;
  bool run_callback(std::function<void()> callback) override;
  std::unique_ptr<redis::Subscription> subscribe(const std::string& channel,
                                                 std::function<void(std::string_view)> on_message,
                                                 std::function<void()> on_subscribed) override;
  std::unique_ptr<redis::Subscription> subscribe_sharded(
      const std::string& channel, std::function<void(std::string_view)> on_message,
      std::function<void(std::string_view)> on_subscribed) override;
  std::string place() const override { return place_of(client_.options()); }
  Runtime& runtime() noexcept override { return client_.runtime(); }
  const redis::ClientOptions& options() const noexcept override { return client_.options(); }

 protected:
  using Command = std::vector<std::string_view>;
  // EVAL or EVALSHA of the script or its name.
  static Command script_call(std::string_view name, std::string_view script, std::string_view count,
                             redis::Arguments keys, redis::Arguments args);
  static bool is_unknown_script(const redis::Reply& reply);
  static redis::CallOptions on_lane(redis::CallOptions options, redis::Lane lane);

  redis::Client& client_;
};

}  // namespace holdfast
