#include "sim/planted/edited_network.h"

#include <string_view>
#include <utility>

namespace holdfast::sim {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

std::string bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

// REQUIRES: each write has whole commands, as those of redis::Client have.
class EditedStream final : public Stream {
 public:
  EditedStream(std::unique_ptr<Stream> stream, const std::vector<EditedScript>& scripts)
      : stream_(std::move(stream)), scripts_(scripts) {}

  IoResult read(std::span<char> into, MonotonicTime deadline) override {
    return stream_->read(into, deadline);
  }
  IoResult write(std::string_view bytes, MonotonicTime deadline) override {
    if (bytes.find("EVAL") == std::string_view::npos) return stream_->write(bytes, deadline);
    std::string changed(bytes);
    for (const EditedScript& one : scripts_) {
      replace_all(changed, one.script->sha1, one.sha1);
      if (changed.find("\r\nEVAL\r\n") != std::string::npos)
        replace_all(changed, bulk(one.script->text), bulk(one.text));
    }
    const IoResult result = stream_->write(changed, deadline);
    // All or nothing of it counts as handed over; what may have gone may have been executed.
    return {result.status, result.bytes == 0 ? 0 : bytes.size()};
  }
  void finish_writing() noexcept override { stream_->finish_writing(); }
  void close() noexcept override { stream_->close(); }
  void reset() noexcept override { stream_->reset(); }
  Endpoint local() const override { return stream_->local(); }
  Endpoint peer() const override { return stream_->peer(); }

 private:
  const std::unique_ptr<Stream> stream_;
  const std::vector<EditedScript>& scripts_;
};

}  // namespace

EditedNetwork::EditedNetwork(Network& network, const std::vector<EditedScript>& scripts)
    : network_(network), scripts_(scripts) {}

Connected EditedNetwork::connect(const Endpoint& to, MonotonicTime deadline) {
  Connected connected = network_.connect(to, deadline);
  if (connected.stream)
    connected.stream = std::make_unique<EditedStream>(std::move(connected.stream), scripts_);
  return connected;
}

}  // namespace holdfast::sim
