#include "lib/testing/server/guardian.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

namespace guardian {
namespace {

// "+ pid" a server, "- pid" it is gone, "d folder". The loops at the end are bounded: a zombie that nobody
// reaps still answers kill -0.
constexpr const char* kScript = R"sh(
trap '' INT TERM HUP QUIT
pids=' '
while read -r op arg; do
  case $op in
  +) pids="$pids$arg " ;;
  -) case $pids in *" $arg "*) pids="${pids%% $arg *} ${pids#* $arg }" ;; esac ;;
  d) set -- "$@" "$arg" ;;
  esac
done
for p in $pids; do kill -s KILL -- "-$p"; kill -s KILL "$p"; done
n=0
for p in $pids; do
  while kill -s 0 "$p" && [ $n -lt 30 ]; do sleep 0.01; n=$((n + 1)); done
done
for folder do
  n=0
  while [ -e "$folder" ] && [ $n -lt 100 ]; do
    rm -rf -- "$folder"
    if [ -e "$folder" ]; then sleep 0.02; fi
    n=$((n + 1))
  done
done
)sh";

[[noreturn]] void become_guardian(int end) {
  ::setsid();
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(end, 0);
  ::dup2(null, 1);
  ::dup2(null, 2);
  ::close_range(3, ~0u, 0);
  if (::chdir("/") != 0) ::_exit(127);
  ::execl("/bin/sh", "sh", "-c", kScript, "holdfast-guardian", static_cast<char*>(nullptr));
  ::_exit(127);
}

int start() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error(errno, std::generic_category(), "guardian: socketpair");
  }
  const pid_t pid = ::fork();
  if (pid < 0) {
    const int error = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    throw std::system_error(error, std::generic_category(), "guardian: fork");
  }
  if (pid == 0) become_guardian(ends[1]);
  ::close(ends[1]);
  return ends[0];
}

// Async-signal-safe.
void tell(int to, char op, int pid) noexcept {
  char message[16];
  char* at = message + sizeof message;
  *--at = '\n';
  do {
    *--at = static_cast<char>('0' + pid % 10);
    pid /= 10;
  } while (pid > 0);
  *--at = ' ';
  *--at = op;
  // An error means that the guardian has ended; nothing can be done about that here.
  static_cast<void>(!::send(to, at, static_cast<std::size_t>(message + sizeof message - at), MSG_NOSIGNAL));
}

}  // namespace

int socket() {
  static const int end = start();  // never closed: it closes with the harness
  return end;
}

void watch_folder(const std::string& folder) {
  const std::string message = "d " + folder + "\n";
  static_cast<void>(!::send(socket(), message.data(), message.size(), MSG_NOSIGNAL));
}

void announce_self(int guardian_socket) noexcept { tell(guardian_socket, '+', ::getpid()); }

void announce(int pid) noexcept { tell(socket(), '+', pid); }

void forget(int pid) noexcept { tell(socket(), '-', pid); }

}  // namespace guardian
