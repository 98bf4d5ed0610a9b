/* What is preloaded into a foreign client besides the clock shim (sim/cluster/clock_shim.c): its connections on
 * this machine come from the address in HOLDFAST_CLIENT_ADDRESS, so that the proxy knows whose they are. A
 * client that learns of servers by Sentinels goes to doors that are everybody's. And what it connects to at port
 * HOLDFAST_PORT of this machine is HOLDFAST_DOOR ("127.0.0.2:4711"): an address that is written in it.
 *
 * A program without the C library (or with a static one) does not see any of this. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Its clock is attached before it runs. */
__attribute__((constructor)) static void attach(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
}

static int is_stream(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

/* The socket has no address of its own yet. */
static int is_unbound(int fd) {
  struct sockaddr_storage at;
  socklen_t size = sizeof at;
  memset(&at, 0, sizeof at);
  if (getsockname(fd, (struct sockaddr*)&at, &size) != 0) return 0;
  return at.ss_family == AF_INET ? ((struct sockaddr_in*)&at)->sin_port == 0
                                 : ((struct sockaddr_in6*)&at)->sin6_port == 0;
}

static void come_from(int fd, sa_family_t family, const struct in_addr* address) {
  const int yes = 1; /* the port is drawn when it connects, of those that are free towards that door */
  setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
  if (family == AF_INET) {
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr = *address};
    bind(fd, (const struct sockaddr*)&from, sizeof from);
    return;
  }
  struct sockaddr_in6 from = {.sin6_family = AF_INET6};
  from.sin6_addr.s6_addr[10] = from.sin6_addr.s6_addr[11] = 0xff; /* ::ffff:A.B.C.D */
  memcpy(&from.sin6_addr.s6_addr[12], address, sizeof *address);
  bind(fd, (const struct sockaddr*)&from, sizeof from);
}

/* On this machine's loopback network. */
static int goes_here(const struct sockaddr* to, socklen_t length) {
  if (to->sa_family == AF_INET && length >= sizeof(struct sockaddr_in))
    return ntohl(((const struct sockaddr_in*)to)->sin_addr.s_addr) >> 24 == 127;
  if (to->sa_family != AF_INET6 || length < sizeof(struct sockaddr_in6)) return 0;
  const struct in6_addr* address = &((const struct sockaddr_in6*)to)->sin6_addr;
  return IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127;
}

static int is_loopback(const struct sockaddr* to, socklen_t length) {
  return goes_here(to, length) || (to->sa_family == AF_INET6 && length >= sizeof(struct sockaddr_in6) &&
                                   IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6*)to)->sin6_addr));
}

/* Where the door is instead, in the family of the socket; its length, 0: it is not asked for. */
static socklen_t door_for(const struct sockaddr* to, socklen_t length, struct sockaddr_storage* door) {
  const char *port = getenv("HOLDFAST_PORT"), *text = getenv("HOLDFAST_DOOR");
  const char* colon = text ? strrchr(text, ':') : NULL;
  char host[INET_ADDRSTRLEN] = {0};
  struct in_addr address;
  if (!port || !colon || (size_t)(colon - text) >= sizeof host || !is_loopback(to, length)) return 0;
  const in_port_t meant = to->sa_family == AF_INET ? ((const struct sockaddr_in*)to)->sin_port
                                                   : ((const struct sockaddr_in6*)to)->sin6_port;
  memcpy(host, text, (size_t)(colon - text));
  if (ntohs(meant) != atoi(port) || inet_pton(AF_INET, host, &address) != 1) return 0;
  const in_port_t there = htons((in_port_t)atoi(colon + 1));
  memset(door, 0, sizeof *door);
  if (to->sa_family == AF_INET) {
    struct sockaddr_in* at = (struct sockaddr_in*)door;
    at->sin_family = AF_INET;
    at->sin_port = there;
    at->sin_addr = address;
    return sizeof *at;
  }
  struct sockaddr_in6* at = (struct sockaddr_in6*)door;
  at->sin6_family = AF_INET6;
  at->sin6_port = there;
  at->sin6_addr.s6_addr[10] = at->sin6_addr.s6_addr[11] = 0xff;
  memcpy(&at->sin6_addr.s6_addr[12], &address, sizeof address);
  return sizeof *at;
}

int connect(int fd, const struct sockaddr* to, socklen_t length) {
  const int error = errno;
  struct sockaddr_storage door;
  const socklen_t instead = to && is_stream(fd) ? door_for(to, length, &door) : 0;
  if (instead > 0) {
    to = (const struct sockaddr*)&door;
    length = instead;
  }
  errno = error;
  const char* text = getenv("HOLDFAST_CLIENT_ADDRESS");
  struct in_addr address;
  if (text && to && goes_here(to, length) && inet_pton(AF_INET, text, &address) == 1 && is_stream(fd) &&
      is_unbound(fd)) {
    come_from(fd, to->sa_family, &address);
    errno = error; /* where it could not be bound it connects as it would have */
  }
  return (int)syscall(SYS_connect, fd, to, length);
}
