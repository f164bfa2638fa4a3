// An open loop of SETs on a server that speaks RESP: request i is due i / RATE seconds after the begin, whether or not earlier ones are
// answered, and its latency counts from then. So the time that a slow server makes later requests wait is not omitted. It is in C,
// because a timer of Node.js is late by up to a millisecond.
//   cc -O2 open-loop.c -o open-loop && ./open-loop PORT CONNECTIONS RATE SECONDS WAIT TAG
// Keys of 30 bytes begin with TAG; values of 100 bytes. With WAIT > 0 each SET is followed by that WAIT, and ends with the WAIT's reply.
// Prints one JSON document: requests per second, percentiles in microseconds, error replies, and WAITs with fewer replicas.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { KEY_BYTES = 30, VALUE_BYTES = 100, RECORDS = 20000, REQUEST_BYTES = 512, LINE_BYTES = 128 };
/** After the last request is due: what is not answered then never will be. */
static const double LAST_REPLY_SECONDS = 10;

/** Connection c carries the requests c, c + connections, c + 2 connections, ... in this order. */
struct connection {
  long sent, answered;
  char request[REQUEST_BYTES];
  size_t length, written;
  char line[LINE_BYTES];
  size_t lineLength;
  int linesOfRequest;
};

static int connections, waitFor;
static long requests;
static double rate, began;
static const char *tag;
static struct connection *all;
static struct pollfd *polled;
static double *latencies;
static long answered, errors, shortWaits;

static double nowSeconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

static void fail(const char *what) {
  fprintf(stderr, "open-loop: %s: %s\n", what, strerror(errno));
  exit(1);
}

static int openConnection(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0) fail("connect");
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

/** The number of the next request of this connection. */
static long nextOf(int index) { return all[index].sent * connections + index; }

static void fillRequest(struct connection *one) {
  char key[KEY_BYTES + 1], value[VALUE_BYTES + 1];
  snprintf(key, sizeof key, "%s%0*ld", tag, KEY_BYTES - (int)strlen(tag), random() % RECORDS);
  memset(value, 'v', VALUE_BYTES);
  value[VALUE_BYTES] = 0;
  one->length = snprintf(one->request, REQUEST_BYTES, "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", KEY_BYTES, key,
                         VALUE_BYTES, value);
  if (waitFor > 0) {
    one->length += snprintf(one->request + one->length, REQUEST_BYTES - one->length,
                            "*3\r\n$4\r\nWAIT\r\n$1\r\n%d\r\n$1\r\n0\r\n", waitFor);
  }
  one->written = 0;
}

/** Sends what is due; keeps the rest of a request that the socket does not take. */
static void sendDue(int index, long due) {
  struct connection *one = &all[index];
  for (;;) {
    if (one->written == one->length) {
      if (nextOf(index) >= due) break;
      fillRequest(one);
      one->sent += 1;
    }
    ssize_t count = send(polled[index].fd, one->request + one->written, one->length - one->written, MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN) fail("send");
    if (count < 0) break;
    one->written += count;
  }
  polled[index].events = POLLIN | (one->written < one->length ? POLLOUT : 0);
}

static void takeLine(int index) {
  struct connection *one = &all[index];
  const char *line = one->line;
  one->linesOfRequest += 1;
  if (line[0] == '-') {
    if (errors == 0) fprintf(stderr, "open-loop: %.*s\n", (int)one->lineLength, line);
    errors += 1;
  } else if (line[0] == ':' && atoi(line + 1) < waitFor) shortWaits += 1;
  if (one->linesOfRequest <= (waitFor > 0)) return;
  long number = one->answered * connections + index;
  latencies[answered++] = nowSeconds() - (began + number / rate);
  one->answered += 1;
  one->linesOfRequest = 0;
}

static void readReplies(int index) {
  char buffer[1 << 16];
  struct connection *one = &all[index];
  ssize_t count = recv(polled[index].fd, buffer, sizeof buffer, MSG_DONTWAIT);
  if (count < 0 && errno == EAGAIN) return;
  if (count <= 0) fail("the server closed a connection");
  for (ssize_t i = 0; i < count; i += 1) {
    if (buffer[i] != '\n') {
      if (one->lineLength < LINE_BYTES) one->line[one->lineLength++] = buffer[i];
      continue;
    }
    takeLine(index);
    one->lineLength = 0;
  }
}

static int byValue(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/** In microseconds. */
static double percentile(double percent) {
  long index = (long)(answered * percent / 100);
  return answered == 0 ? 0 : 1e6 * latencies[index < answered ? index : answered - 1];
}

static void run(void) {
  began = nowSeconds();
  const double end = began + requests / rate + LAST_REPLY_SECONDS;
  for (double now = began; answered < requests && now < end; now = nowSeconds()) {
    long due = (long)((now - began) * rate) + 1;
    if (due > requests) due = requests;
    for (int i = 0; i < connections; i += 1) {
      if (all[i].written < all[i].length || nextOf(i) < due) sendDue(i, due);
    }
    double pause = due < requests ? began + due / rate - nowSeconds() : 0.1;
    if (pause < 0) pause = 0;
    struct timespec timeout = {.tv_sec = (time_t)pause, .tv_nsec = (long)((pause - (time_t)pause) * 1e9)};
    if (ppoll(polled, connections, &timeout, NULL) < 0 && errno != EINTR) fail("ppoll");
    for (int i = 0; i < connections; i += 1) {
      if (polled[i].revents & (POLLIN | POLLHUP | POLLERR)) readReplies(i);
    }
  }
}

int main(int argc, char **argv) {
  if (argc != 7) {
    fprintf(stderr, "usage: open-loop PORT CONNECTIONS RATE SECONDS WAIT TAG\n");
    return 2;
  }
  connections = atoi(argv[2]);
  rate = atof(argv[3]);
  requests = (long)(rate * atof(argv[4]));
  waitFor = atoi(argv[5]);
  tag = argv[6];
  if (connections < 1 || requests < 1 || strlen(tag) > 20) return 2;
  all = calloc(connections, sizeof *all);
  polled = calloc(connections, sizeof *polled);
  latencies = calloc(requests, sizeof *latencies);
  if (!all || !polled || !latencies) fail("memory");
  for (int i = 0; i < connections; i += 1) polled[i] = (struct pollfd){.fd = openConnection(atoi(argv[1])), .events = POLLIN};
  // Else the kernel may wake this thread 50 µs late.
  prctl(PR_SET_TIMERSLACK, 1);
  run();
  double seconds = nowSeconds() - began;
  qsort(latencies, answered, sizeof *latencies, byValue);
  printf("{\"perSecond\":%.1f,\"p50\":%.1f,\"p99\":%.1f,\"errors\":%ld,\"shortWaits\":%ld,\"unanswered\":%ld}\n",
         answered / seconds, percentile(50), percentile(99), errors, shortWaits, requests - answered);
  return 0;
}
