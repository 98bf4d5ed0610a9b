// The signals that end a command which serves.
#pragma once

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

namespace holdfast::tools {

// SIGINT and SIGTERM, made readable. REQUIRES: no other thread runs yet (threads inherit the mask).
class EndSignals {
 public:
  EndSignals() {
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGINT);
    sigaddset(&both, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &both, nullptr);
    fd_ = ::signalfd(-1, &both, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
  }
  ~EndSignals() { ::close(fd_); }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  int fd() const { return fd_; }
  // Which one came; 0: none.
  int take() {
    signalfd_siginfo told{};
    return ::read(fd_, &told, sizeof told) == sizeof told ? static_cast<int>(told.ssi_signo) : 0;
  }

 private:
  int fd_;
};

}  // namespace holdfast::tools
