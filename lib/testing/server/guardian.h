// Guardian: a helper process that cleans up after the harness, however the harness ends.
//
// It is a shell at the other end of a socket: told about every server and every temporary folder, it waits
// for the socket to close, which happens at the latest when the kernel reaps the harness (after SIGKILL
// too). Then it kills the servers that are left and removes the folders. There is one per harness process,
// started when first needed; it is a session of its own, so that Ctrl-C in the terminal does not reach it.
//
// Thread safety: any thread may call any function (one short message is one atomic send).
#pragma once

#include <string>

namespace guardian {

// The socket to the guardian, close-on-exec. Throws std::system_error when it cannot be started.
int socket();

// `folder` is removed with all that is in it when the harness is gone.
void watch_folder(const std::string& folder);

// A server announces itself between fork and exec, so that there is no instant at which it runs unknown.
// Async-signal-safe. It must lead a process group of its own (its children die with it).
void announce_self(int guardian_socket) noexcept;
// The same for another process, which a server has started.
void announce(int pid) noexcept;
// To be called after the death of `pid` and before it is reaped (then its number may be used again).
void forget(int pid) noexcept;

}  // namespace guardian
