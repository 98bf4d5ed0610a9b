#include "sim/redis/testing/oracle_player.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>

#include "lib/testing/server/server_connection.h"

namespace holdfast::sim::oracle {
namespace {

constexpr Duration kPatience = std::chrono::seconds(10);  // for what must come
constexpr Duration kGlance = std::chrono::milliseconds(20);

// A replica as far as the primary can see. Acknowledges what it has read.
class FakeReplica {
 public:
  FakeReplica(Target& target, MonotonicTime deadline)
      : target_(target), connection_(target.network(), target.server(), deadline) {
    connection_.call({"REPLCONF", "listening-port", "7777"}, deadline);
    connection_.call({"REPLCONF", "capa", "psync2"}, deadline);
    const std::vector<std::string> psync = {"PSYNC", "?", "-1"};
    connection_.send(format_command(psync), deadline);
    const std::string reply = line();
    if (!reply.starts_with("+FULLRESYNC ")) throw std::runtime_error("PSYNC: " + escape(reply));
    offset_ = std::stoll(reply.substr(reply.rfind(' ') + 1));
    const std::string size = line();
    if (size.starts_with("$EOF:")) {
      const std::string mark = size.substr(5, 40);
      std::string tail;
      while (tail != mark) {
        tail += bytes(1);
        if (tail.size() > 40) tail.erase(0, 1);
      }
    } else if (size.starts_with("$")) {
      bytes(static_cast<std::size_t>(std::stoll(size.substr(1))));
    } else {
      throw std::runtime_error("no snapshot: " + escape(size));
    }
    acknowledge();
  }

  void acknowledge() {
    const std::vector<std::string> ack = {"REPLCONF", "ACK", std::to_string(offset_)};
    connection_.send(format_command(ack), deadline_after(target_.runtime().now(), kPatience));
  }

  // The commands up to SET `mark`. What is sent for the link's own sake is left out.
  std::string stream_until(const std::string& mark) {
    std::string text;
    for (;;) {
      std::string raw = get([this](MonotonicTime deadline) { return connection_.read_raw(deadline); });
      offset_ += static_cast<std::int64_t>(raw.size());
      redis::Reply command;
      parse_reply(raw, &command);
      std::string words;
      for (const redis::Reply& word : command.items) words += (words.empty() ? "" : " ") + escape(word.text);
      if (words.find(mark) != std::string::npos) return text;
      if (words == "PING" || words == "ping" || words.starts_with("REPLCONF GETACK")) continue;
      text += "{" + words + "} ";
    }
  }

 private:
  template <class Read>
  std::string get(Read read) {
    for (int i = 0; i < 1000; ++i) {
      if (std::optional<std::string> got = read(deadline_after(target_.runtime().now(), kGlance)))
        return *got;
      target_.nudge();
    }
    throw std::runtime_error("the primary sends nothing");
  }
  std::string line() {
    std::string text = get([this](MonotonicTime deadline) { return connection_.read_line(deadline); });
    return text.substr(std::min(text.find_first_not_of('\n'), text.size()));  // keep-alives before it
  }
  std::string bytes(std::size_t count) {
    if (count == 0) return "";
    return get([this, count](MonotonicTime deadline) { return connection_.read_bytes(count, deadline); });
  }

  Target& target_;
  ServerConnection connection_;
  std::int64_t offset_ = 0;
};

class Player {
 public:
  Player(Target& target, int protocol) : target_(target), protocol_(protocol) {
    introduce("A", target.server(), target.bus_port());
    introduce("B", target.second_server(), target.second_bus_port());
  }

  std::string step(const std::string& line) {
    try {
      return by_name(act(parse_step(line)));
    } catch (const std::runtime_error& error) {
      const std::string what = error.what();
      // Whether the peer reads an end or a reset is a matter of bytes under way.
      const bool ended = what.find("connection closed by the peer") != std::string::npos ||
                         what.find("connection reset") != std::string::npos;
      return ended ? "(the connection has ended)" : "(" + what + ")";
    }
  }

 private:
  // Words of steps: "@A.host" and so on. In replies the address becomes "@A".
  void introduce(const std::string& name, const Endpoint& server, std::uint16_t bus_port) {
    variables_[name + ".host"] = server.host;
    variables_[name + ".port"] = std::to_string(server.port);
    variables_[name + ".bus"] = std::to_string(bus_port);
    if (!server.host.empty()) names_.try_emplace(server.to_string(), "@" + name);
  }

  // What differs from server to server, by the names that the case gave it: addresses, and long texts.
  std::string by_name(std::string text) const {
    for (const auto& [value, name] : names_) {
      for (std::size_t at = 0; (at = text.find(value, at)) != std::string::npos; at += name.size())
        text.replace(at, value.size(), name);
    }
    return text;
  }

  MonotonicTime deadline() { return deadline_after(target_.runtime().now(), kPatience); }

  ServerConnection& connection(const std::string& name) {
    auto& place = connections_[name];
    if (!place) {
      const Endpoint to = name[0] == 'B' ? target_.second_server() : target_.server();
      place = std::make_unique<ServerConnection>(target_.network(), to, deadline());
      if (protocol_ > 2) place->call({"HELLO", std::to_string(protocol_)}, deadline());
    }
    return *place;
  }

  std::string read(const Step& step) {
    const MonotonicTime limit = deadline();
    std::optional<std::string> raw;
    while (!raw && target_.runtime().now() < limit) {
      raw = connection(step.connection).read_raw(deadline_after(target_.runtime().now(), kGlance));
      if (!raw) target_.nudge();
    }
    if (!raw) return "(no reply)";
    if (step.normalise == "let") {
      redis::Reply reply;
      parse_reply(*raw, &reply);
      std::string& value = variables_[step.wanted.at(0)];
      value = reply.type == redis::Reply::Type::integer ? std::to_string(reply.integer) : reply.text;
      constexpr std::size_t kLong = 40;
      if (value.size() >= kLong) names_[value] = "@" + step.wanted.at(0);
    }
    return show_reply(*raw, step);
  }

  std::string act(const Step& step) {
    if (step.form == "command" || step.form == "send") {
      connection(step.connection).send(format_command(substitute(step.words)), deadline());
      return step.form == "send" ? "" : read(step);
    }
    if (step.form == "raw") {
      connection(step.connection).send(step.words.at(0), deadline());
      return read(step);
    }
    if (step.form == "until") {
      const MonotonicTime limit = deadline();
      while (target_.runtime().now() < limit) {
        connection(step.connection).send(format_command(substitute(step.words)), deadline());
        if (by_name(read(step)).find(step.wanted.at(0)) != std::string::npos) return "";
        target_.advance(std::chrono::milliseconds(20));
      }
      return "(it does not come)";
    }
    if (step.form == "read") return read(step);
    if (step.form == "drain") return drain(step);
    if (step.form == "close") {
      connections_.erase(step.connection);
      return "";
    }
    if (step.form == "advance") {
      target_.advance(parse_duration(step.words.at(0)));
      return "";
    }
    if (step.form == "wait-replica") return wait_replica();
    if (step.form == "attach") {
      replica_ = std::make_unique<FakeReplica>(target_, deadline());
      return "";
    }
    if (step.form == "detach") {
      replica_.reset();
      return "";
    }
    if (!replica_) throw std::runtime_error("no replica is attached");
    if (step.form == "ack") {
      replica_->acknowledge();
      return "";
    }
    return stream();
  }

  std::string drain(Step step) {
    const std::vector<std::string> ping = {"PING", "the-end"};
    connection(step.connection).send(format_command(ping), deadline());
    std::string text;
    for (;;) {
      const std::string got = read(step);
      text += got + " ";
      if (got.find("the-end") != std::string::npos || got[0] == '+' || got[0] == '-' || got[0] == '(')
        return text;
    }
  }

  std::string stream() {
    const std::string mark = "mark:" + std::to_string(++marks_);
    const redis::Reply reply = connection("0").call({"SET", mark, "x"}, deadline());
    if (reply.is_error()) return "no mark: " + reply.text;
    const std::string text = replica_->stream_until(mark);
    connection("0").call({"DEL", mark}, deadline());
    replica_->stream_until(mark);
    return text;
  }

  // A write of the player's own has arrived, so everything before it has.
  std::string wait_replica() {
    const std::string mark = "mark:" + std::to_string(++marks_);
    const redis::Reply set = connection("0").call({"SET", mark, "x"}, deadline());
    if (set.is_error()) return "no mark: " + set.text;
    for (int i = 0; i < 1000; ++i) {
      if (connection("B0").call({"EXISTS", mark}, deadline()).integer == 1) {
        connection("0").call({"DEL", mark}, deadline());
        return "";
      }
      if (i > 5) target_.nudge();
    }
    return "(the replica does not follow)";
  }

  std::vector<std::string> substitute(std::vector<std::string> words) {
    for (std::string& word : words) {
      if (!word.starts_with("@")) continue;
      const auto now = target_.wall().time_since_epoch();
      const auto plus = [&word](auto value) {
        return std::to_string(value.count() + std::stoll(word.substr(4)));
      };
      if (word.starts_with("@now")) {
        word = plus(std::chrono::duration_cast<std::chrono::milliseconds>(now));
      } else if (word.starts_with("@sec")) {
        word = plus(std::chrono::duration_cast<std::chrono::seconds>(now));
      } else if (const auto it = variables_.find(word.substr(1)); it != variables_.end()) {
        word = it->second;
      }
    }
    return words;
  }

  Target& target_;
  int protocol_;
  std::map<std::string, std::unique_ptr<ServerConnection>> connections_;
  std::map<std::string, std::string> variables_;
  std::map<std::string, std::string> names_;
  std::unique_ptr<FakeReplica> replica_;
  int marks_ = 0;
};

}  // namespace

Transcript play(const std::vector<std::string>& steps, Target& target, int protocol) {
  Player player(target, protocol);
  Transcript transcript;
  for (const std::string& step : steps) transcript.push_back(step + "\n      " + player.step(step));
  return transcript;
}

std::string differences(const Transcript& embedded, const Transcript& real) {
  std::string text;
  for (std::size_t i = 0; i < std::max(embedded.size(), real.size()); ++i) {
    const std::string ours = i < embedded.size() ? embedded[i] : "(no such step)";
    const std::string theirs = i < real.size() ? real[i] : "(no such step)";
    if (ours == theirs) continue;
    text += theirs.substr(0, theirs.find('\n')) + "\n  embedded: " + ours.substr(ours.find("\n      ") + 7) +
            "\n  real:     " + theirs.substr(theirs.find("\n      ") + 7) + "\n";
  }
  return text;
}

}  // namespace holdfast::sim::oracle
