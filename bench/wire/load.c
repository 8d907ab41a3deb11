// A bounded load: so many requests over so many connections, at most so many seconds; prints one JSON line.
//
//   load PORT PATH BODY.json CONNECTIONS REQUESTS MOST_SECONDS FIRST [HEADER]...
//
// Always POST to 127.0.0.1, on connections that are kept, with these headers beside those of the connection. Each "0000000000"
// in the headers and the body becomes the number of the request, counted from FIRST: who sends the same numbers again goes on
// with the same conversations. Counts events (blank lines), and times each answer to its first content (the first
// `content_block_delta`; else the first byte of the body) and to its end.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST_REQUESTS 2000000
#define CONTENT "content_block_delta"
#define STAMP "0000000000"
#define STAMP_SIZE (sizeof STAMP - 1)
#define MOST_STAMPS 8

enum Chunk { SIZE, EXTENSION, DATA, AFTER_DATA, TRAILER };

typedef struct {
  int fd, status, in_body, chunked, closes;
  size_t sent;
  char *out; // the request with its number
  uint64_t began, content;
  char head[16384];
  int head_size;
  long length, got, events, left;
  enum Chunk chunk;
  int blank_next;
} Exchange;

static int port, poll_fd, asked, begun, done, failed, refused, stop;
static char *request;
static size_t request_size, stamps[MOST_STAMPS];
static int stamped;
static uint64_t number;
static uint32_t *times, *contents;
static long events, bytes;

static uint64_t now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000ull + t.tv_nsec / 1000;
}

static int by_size(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

// Sending.

static void watch(Exchange *e, int operation, int writing) {
  struct epoll_event event = {.events = EPOLLIN | (writing ? EPOLLOUT : 0), .data.ptr = e};
  epoll_ctl(poll_fd, operation, e->fd, &event);
}

static void dial(Exchange *e) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int one = 1;
  e->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  setsockopt(e->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (connect(e->fd, (void *)&address, sizeof address) && errno != EINPROGRESS) { perror("connect"); exit(2); }
  watch(e, EPOLL_CTL_ADD, 1);
}

static void stamp(char *out) {
  char digits[STAMP_SIZE + 1];
  snprintf(digits, sizeof digits, "%010llu", (unsigned long long)(number++ % 10000000000ull));
  for (int i = 0; i < stamped; i++) memcpy(out + stamps[i], digits, STAMP_SIZE);
}

// 0: nothing is left to ask for.
static int begin(Exchange *e) {
  if (begun >= asked || stop) {
    if (e->fd >= 0) close(e->fd);
    e->fd = -1;
    return 0;
  }
  begun++;
  int fd = e->fd;
  char *out = e->out;
  memset(e, 0, sizeof *e);
  e->fd = fd;
  e->out = out ? out : stamped ? memcpy(malloc(request_size), request, request_size) : request;
  stamp(e->out);
  e->length = -1;
  e->began = now_us();
  return 1;
}

static int send_more(Exchange *e) {
  while (e->sent < request_size) {
    ssize_t wrote = send(e->fd, e->out + e->sent, request_size - e->sent, MSG_NOSIGNAL);
    if (wrote < 0 && (errno == EAGAIN || errno == ENOTCONN)) { watch(e, EPOLL_CTL_MOD, 1); return 0; }
    if (wrote < 0) return -1;
    e->sent += wrote;
  }
  watch(e, EPOLL_CTL_MOD, 0);
  return 0;
}

static void finish(Exchange *e, int whole) {
  uint64_t now = now_us();
  if (whole) {
    refused += e->status != 200;
    times[done] = now - e->began;
    contents[done++] = (e->content ? e->content : now) - e->began;
    events += e->events;
    bytes += e->got;
  } else if (++failed > 50) stop = 1;
  int again = e->closes || !whole;
  if (again) { close(e->fd); e->fd = -1; }
  if (!begin(e)) return;
  if (again) dial(e);
  else if (send_more(e) < 0) finish(e, 0);
}

// Reading.

static void count(Exchange *e, const char *data, size_t size) {
  const char *end = data + size;
  e->got += size;
  if (!e->content && (e->length >= 0 || memmem(data, size, CONTENT, sizeof CONTENT - 1))) e->content = now_us();
  while (data < end) {
    if (e->blank_next && *data == '\n') { e->events++; e->blank_next = 0; data++; continue; }
    const char *newline = memchr(data, '\n', end - data);
    e->blank_next = newline != NULL;
    if (!newline) return;
    data = newline + 1;
  }
}

static void count_digit(Exchange *e, char digit) {
  e->left = e->left * 16 + (digit <= '9' ? digit - '0' : (digit | 32) - 'a' + 10);
}

// 1: the answer is whole.
static int read_body(Exchange *e, const char *data, size_t size) {
  if (!e->chunked) { count(e, data, size); return e->length >= 0 && e->got >= e->length; }
  while (size) {
    if (e->chunk == DATA) {
      size_t taken = size < (size_t)e->left ? size : (size_t)e->left;
      count(e, data, taken);
      data += taken; size -= taken; e->left -= taken;
      if (!e->left) e->chunk = AFTER_DATA;
      continue;
    }
    char c = *data++; size--;
    if (e->chunk == TRAILER) { if (c == '\n') return 1; }
    else if (c == '\n') e->chunk = e->chunk == AFTER_DATA ? SIZE : e->left ? DATA : TRAILER;
    else if (c == ';') e->chunk = EXTENSION;
    else if (e->chunk == SIZE && c != '\r') count_digit(e, c);
  }
  return 0;
}

// How many bytes of the head are in `data`; -1 while it is not whole.
static long read_head(Exchange *e, const char *data, size_t size) {
  size_t room = sizeof e->head - 1 - e->head_size, taken = size < room ? size : room;
  int before = e->head_size;
  memcpy(e->head + before, data, taken);
  e->head[e->head_size += taken] = 0;
  char *end = strstr(e->head, "\r\n\r\n");
  if (!end) return -1;
  end[2] = 0;
  char *length = strcasestr(e->head, "\r\ncontent-length:");
  e->status = atoi(e->head + 9);
  e->length = length ? atol(length + 17) : -1;
  e->chunked = strcasestr(e->head, "\r\ntransfer-encoding: chunked") != NULL;
  e->closes = strcasestr(e->head, "\r\nconnection: close") != NULL;
  e->in_body = 1;
  return end + 4 - e->head - before;
}

static void receive(Exchange *e) {
  static char buffer[262144];
  ssize_t got = recv(e->fd, buffer, sizeof buffer, 0);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) { finish(e, 0); return; }
  char *data = buffer;
  if (!e->in_body) {
    long head = read_head(e, data, got);
    if (head < 0) return;
    data += head;
    got -= head;
  }
  if ((got && read_body(e, data, got)) || e->length == 0) finish(e, 1);
}

// The whole.

static void write_request(const char *to, const char *path, int count, char **headers) {
  FILE *file = fopen(path, "rb");
  if (!file) { perror(path); exit(1); }
  fseek(file, 0, SEEK_END);
  size_t size = ftell(file);
  rewind(file);
  request = malloc(size + 8192);
  int at = sprintf(request, "POST %s HTTP/1.1\r\nhost: 127.0.0.1:%d\r\n", to, port);
  for (int i = 0; i < count; i++) at += sprintf(request + at, "%s\r\n", headers[i]);
  at += sprintf(request + at, "content-length: %zu\r\n\r\n", size);
  if (fread(request + at, 1, size, file) != size) exit(1);
  request_size = at + size;
  for (char *found = request; stamped < MOST_STAMPS; found += STAMP_SIZE) {
    if (!(found = memmem(found, request + request_size - found, STAMP, STAMP_SIZE))) break;
    stamps[stamped++] = found - request;
  }
}

static void report(uint64_t start, const Exchange *exchanges, int count) {
  int streaming = 0;
  for (int i = 0; i < count; i++) streaming += exchanges[i].fd >= 0 && exchanges[i].in_body;
  qsort(times, done, sizeof *times, by_size);
  qsort(contents, done, sizeof *contents, by_size);
  printf("{\"done\":%d,\"failed\":%d,\"refused\":%d,\"unfinished\":%d,\"streaming\":%d,\"seconds\":%.4f,\"events\":%ld,"
         "\"bytes\":%ld,\"time_p50\":%u,\"time_p99\":%u,\"content_p50\":%u,\"content_p99\":%u}\n",
         done, failed, refused, begun - done - failed, streaming, (now_us() - start) / 1e6, events, bytes,
         done ? times[done / 2] : 0, done ? times[done * 99 / 100] : 0, done ? contents[done / 2] : 0,
         done ? contents[done * 99 / 100] : 0);
}

int main(int count, char **given) {
  if (count < 8) { fprintf(stderr, "usage: load PORT PATH BODY.json CONNECTIONS REQUESTS MOST_SECONDS FIRST [HEADER]...\n"); return 2; }
  signal(SIGPIPE, SIG_IGN);
  port = atoi(given[1]);
  int connections = atoi(given[4]);
  number = strtoull(given[7], NULL, 10);
  asked = atoi(given[5]) < MOST_REQUESTS ? atoi(given[5]) : MOST_REQUESTS;
  write_request(given[2], given[3], count - 8, given + 8);
  times = malloc(sizeof *times * (asked + connections));
  contents = malloc(sizeof *contents * (asked + connections));
  Exchange *exchanges = calloc(connections, sizeof *exchanges);
  poll_fd = epoll_create1(0);
  uint64_t start = now_us(), end = start + (uint64_t)(atof(given[6]) * 1e6);
  for (int i = 0; i < connections; i++) {
    exchanges[i].fd = -1;
    if (begin(&exchanges[i])) dial(&exchanges[i]);
  }
  struct epoll_event ready[512];
  while ((done + failed < begun || (begun < asked && !stop)) && now_us() < end) {
    int n = epoll_wait(poll_fd, ready, 512, 50);
    for (int i = 0; i < n; i++) {
      Exchange *e = ready[i].data.ptr;
      if (e->fd < 0) continue;
      if (ready[i].events & EPOLLOUT && e->sent < request_size && send_more(e) < 0) { finish(e, 0); continue; }
      if (ready[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(e);
    }
  }
  report(start, exchanges, connections);
  return 0;
}
