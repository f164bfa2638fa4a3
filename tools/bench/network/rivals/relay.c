// A chain of plain relays, memory to memory: each host receives into its object, and sends each part on as soon as it has
// arrived, with one thread and blocking sockets. The least that a chain can cost: no checks on the way, no failures handled.
//   cc -O2 relay.c -o relay
//   ./relay BYTES PORT [NEXT]   a host: listens, keeps the object, passes it to NEXT
//   ./relay BYTES 0 NEXT PORT   the root: sends its object after a line on standard input
// Prints `ready`, then the moment by CLOCK_MONOTONIC at which the root began or a host had all bytes, and the processor seconds
// from `ready` on. After a line on standard input a host checks every byte. Memory is touched, and connections are open, before `ready`.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const size_t PART = 256 << 10;

static void check(int holds, const char *what) {
  if (holds) return;
  perror(what);
  exit(1);
}

static double nowSeconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

static double processorSeconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static unsigned char pattern(size_t i) { return (unsigned char)(i * 31 + (i >> 12)); }

static int dial(const char *host, int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  check(inet_pton(AF_INET, host, &address.sin_addr) == 1, "the address");
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  check(connect(fd, (struct sockaddr *)&address, sizeof address) == 0, "connect");
  return fd;
}

static int acceptOne(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  const int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  check(bind(listener, (struct sockaddr *)&address, sizeof address) == 0, "bind");
  check(listen(listener, 1) == 0, "listen");
  const int fd = accept(listener, NULL, NULL);
  check(fd >= 0, "accept");
  close(listener);
  return fd;
}

static void sendAll(int fd, const unsigned char *from, size_t length) {
  while (length > 0) {
    const ssize_t sent = send(fd, from, length, MSG_NOSIGNAL);
    check(sent > 0, "send");
    from += sent;
    length -= sent;
  }
}

static void report(double at, double before) {
  printf("%.6f %.6f\n", at, processorSeconds() - before);
  fflush(stdout);
}

static void ready(void) {
  puts("ready");
  fflush(stdout);
}

static void root(unsigned char *object, size_t bytes, int next) {
  for (size_t i = 0; i < bytes; i++) object[i] = pattern(i);
  ready();
  const double before = processorSeconds();
  check(getchar() != EOF, "the line that begins");
  const double start = nowSeconds();
  sendAll(next, object, bytes);
  report(start, before);
}

static void host(unsigned char *object, size_t bytes, int from, int next) {
  memset(object, 0, bytes);
  ready();
  const double before = processorSeconds();
  for (size_t have = 0; have < bytes;) {
    const ssize_t got = recv(from, object + have, bytes - have < PART ? bytes - have : PART, 0);
    check(got > 0, "recv");
    if (next >= 0) sendAll(next, object + have, got);
    have += got;
  }
  report(nowSeconds(), before);
  check(getchar() != EOF, "the line after which the content is checked");
  for (size_t i = 0; i < bytes; i++) check(object[i] == pattern(i), "the content");
}

int main(int argc, char **argv) {
  const size_t bytes = argc > 2 ? strtoull(argv[1], NULL, 10) : 0;
  const int port = argc > 2 ? atoi(argv[2]) : 0;
  unsigned char *object = malloc(bytes);
  check(bytes > 0 && object != NULL, "usage: relay BYTES PORT [NEXT], relay BYTES 0 NEXT PORT");
  if (port == 0) root(object, bytes, dial(argv[3], atoi(argv[4])));
  else {
    // The next host listens already, and the one before connects last.
    const int next = argc > 3 ? dial(argv[3], port) : -1;
    host(object, bytes, acceptOne(port), next);
  }
  return 0;
}
