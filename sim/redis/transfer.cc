#include "sim/redis/transfer.h"

#include <array>
#include <optional>

namespace holdfast::sim::embedded {
namespace {

// The answers of the target, line by line.
class Answers {
 public:
  Answers(Runtime& runtime, Stream& stream, Duration patience)
      : runtime_(runtime), stream_(stream), patience_(patience) {}

  std::optional<std::string> next() {
    for (;;) {
      if (const std::size_t end = in_.find("\r\n"); end != std::string::npos) {
        std::string line = in_.substr(0, end);
        in_.erase(0, end + 2);
        return line;
      }
      std::array<char, 1024> piece{};
      const IoResult got = stream_.read(piece, deadline_after(runtime_.now(), patience_));
      late_ = got.status == IoStatus::timed_out;
      if (!got.ok()) return std::nullopt;
      in_.append(piece.data(), got.bytes);
    }
  }
  bool late() const { return late_; }

 private:
  Runtime& runtime_;
  Stream& stream_;
  const Duration patience_;
  std::string in_;
  bool late_ = false;
};

std::string error(std::string_view what) { return "-IOERR error or timeout " + std::string(what) + "\r\n"; }

}  // namespace

Carried carry(Runtime& runtime, Network& network, const Transfer& transfer) {
  Carried carried;
  for (bool again = true;; again = false) {
    const auto limit = [&] { return deadline_after(runtime.now(), transfer.patience); };
    const Connected connected = network.connect(transfer.to, limit());
    if (connected.status != IoStatus::ok) {  // Redis finds out that it was refused when it writes
      if (again && connected.status != IoStatus::timed_out) continue;
      carried.reply = error(connected.status == IoStatus::timed_out ? "connecting to the client"
                                                                    : "writing to target instance");
      return carried;
    }
    Stream& stream = *connected.stream;
    const std::string bytes = transfer.preface + transfer.requests;
    const IoResult sent = stream.write(bytes, limit());
    if (!sent.ok()) {
      if (again && sent.status != IoStatus::timed_out) continue;
      carried.reply = error("writing to target instance");
      return carried;
    }
    Answers answers(runtime, stream, transfer.patience);
    std::string refused;
    bool let_in = true;
    const std::size_t wanted = transfer.prefaces + transfer.keys.size();
    std::size_t came = 0;
    for (; came < wanted; ++came) {
      const std::optional<std::string> line = answers.next();
      if (!line) break;
      const bool fails = line->starts_with('-');
      if (fails && refused.empty()) refused = line->substr(1);
      if (came >= transfer.prefaces) {
        carried.arrived.push_back(!fails && let_in);
      } else {
        let_in = let_in && !fails;
      }
    }
    stream.close();
    if (came < wanted && carried.arrived.empty() && again && !answers.late()) continue;
    if (!refused.empty()) {
      carried.reply = "-ERR Target instance replied with error: " + refused + "\r\n";
    } else if (came < wanted) {
      carried.reply = error("reading to target instance");
    } else {
      carried.reply = "+OK\r\n";
    }
    return carried;
  }
}

}  // namespace holdfast::sim::embedded
