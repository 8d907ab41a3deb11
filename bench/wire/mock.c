// A backend that costs nothing: one epoll loop that answers every POST with the same messages.
//
//   mock PORT NAME=FILE...
//
// Near the end of its body a request says which answer it wants, and how many milliseconds are to pass between two events:
// `answer:NAME pace:10`. Without a name it is the first. A file that ends in .json is sent in one piece; any other is a
// stream, one HTTP chunk an event. With a pace of 0 all comes in one burst, else everything up to the first piece of content
// comes at once, and then one event at a time. To count tokens is to ask for the answer `count`. No two answers are the same:
// each "0000000000" in the files becomes the number of the answer, so that whoever records answers sees ids and signatures as
// they are in life. It listens on 127.0.0.1 only, and says "listening" when it does.
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

#define MOST_CONNECTIONS 65536
#define MOST_EVENTS 100000
#define MOST_STAMPS 512
#define MOST_ANSWERS 16
#define MARK_NEAR_END 65536
#define TICKS (1 << 17)
#define STAMP "0000000000"
#define STAMP_SIZE (sizeof STAMP - 1)

// What goes out: the bytes, the ends of its events, and where the number of the answer stands.
typedef struct {
  const char *name;
  char *bytes;
  size_t size, *ends, stamps[MOST_STAMPS];
  int events, opening, stamped;
} Answer;

typedef struct {
  int open, event; // `event`: the next one of a paced answer
  uint32_t life;   // tells a connection from the next one with the same number
  uint64_t number;
  char *in;
  size_t room, filled, sent, until;
  const Answer *answer;
  uint64_t pace; // microseconds; 0: all at once
} Connection;

typedef struct {
  int fd;
  uint32_t life;
  uint64_t due;
} Tick;

static Connection connections[MOST_CONNECTIONS];
static Tick ticks[TICKS]; // a ring; in order of time, since there is one pace at a time
static size_t first_tick, next_tick;
static Answer answers[MOST_ANSWERS];
static uint64_t answered;
static int poll_fd, answer_count;

static uint64_t now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000ull + t.tv_nsec / 1000;
}

// Reading the files.

static char *slurp(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) { perror(path); exit(1); }
  fseek(file, 0, SEEK_END);
  *size = ftell(file);
  rewind(file);
  char *bytes = malloc(*size + 1);
  if (fread(bytes, 1, *size, file) != *size) exit(1);
  bytes[*size] = 0;
  fclose(file);
  return bytes;
}

static void find_stamps(Answer *answer) {
  char *at = answer->bytes, *end = answer->bytes + answer->size;
  while ((at = memmem(at, end - at, STAMP, STAMP_SIZE)) && answer->stamped < MOST_STAMPS) {
    answer->stamps[answer->stamped++] = at - answer->bytes;
    at += STAMP_SIZE;
  }
}

static int has_content(const char *event, size_t size) {
  const char *word = memmem(event, size, "\"reasoning_content\":\"", 21);
  if (memmem(event, size, "\"tool_calls\":[", 14)) return 1;
  return memmem(event, size, "_delta", 6) || memmem(event, size, ".delta", 6) || (word && word[21] != '"');
}

static void load_stream(Answer *answer, const char *path) {
  size_t size;
  char *file = slurp(path, &size), *event = file;
  answer->bytes = malloc(size * 2 + 4096);
  answer->ends = malloc(sizeof(size_t) * MOST_EVENTS);
  size_t at = sprintf(answer->bytes, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
                                     "cache-control: no-cache\r\nrequest-id: req_" STAMP "\r\ntransfer-encoding: chunked\r\n\r\n");
  while (event < file + size) {
    char *end = memmem(event, file + size - event, "\n\n", 2);
    size_t length = end ? (size_t)(end + 2 - event) : (size_t)(file + size - event);
    at += sprintf(answer->bytes + at, "%zx\r\n", length);
    memcpy(answer->bytes + at, event, length);
    memcpy(answer->bytes + at + length, "\r\n", 2);
    at += length + 2;
    answer->ends[answer->events++] = at;
    if (!answer->opening && has_content(event, length)) answer->opening = answer->events;
    event += length;
  }
  memcpy(answer->bytes + at, "0\r\n\r\n", 5);
  answer->size = answer->ends[answer->events - 1] = at + 5;
  find_stamps(answer);
}

static void load_json(Answer *answer, const char *path) {
  size_t size;
  char *file = slurp(path, &size);
  answer->bytes = malloc(size + 512);
  int head = sprintf(answer->bytes, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nrequest-id: req_" STAMP
                                    "\r\ncontent-length: %zu\r\n\r\n", size);
  memcpy(answer->bytes + head, file, size);
  answer->size = head + size;
  find_stamps(answer);
}

static void load_answer(Answer *answer, char *given) {
  char *file = strchr(given, '='), *ending = strrchr(given, '.');
  if (!file) { fprintf(stderr, "mock: NAME=FILE, not %s\n", given); exit(2); }
  *file = 0;
  answer->name = given;
  if (ending && !strcmp(ending, ".json")) load_json(answer, file + 1);
  else load_stream(answer, file + 1);
}

// Speaking.

static void watch(int fd, int operation, uint32_t events) {
  struct epoll_event event = {.events = events, .data.fd = fd};
  epoll_ctl(poll_fd, operation, fd, &event);
}

static void hang_up(int fd) {
  Connection *c = &connections[fd];
  free(c->in);
  *c = (Connection){.life = c->life + 1};
  close(fd);
}

static void stamp(const Connection *c) {
  char number[STAMP_SIZE + 1];
  snprintf(number, sizeof number, "%010llu", (unsigned long long)(c->number % 10000000000ull));
  for (int i = 0; i < c->answer->stamped; i++) memcpy(c->answer->bytes + c->answer->stamps[i], number, STAMP_SIZE);
}

// Sends up to `until`. -1: the connection is dead.
static int flush(int fd) {
  Connection *c = &connections[fd];
  stamp(c); // the bytes are shared, and another answer may have been sent since
  while (c->sent < c->until) {
    ssize_t wrote = send(fd, c->answer->bytes + c->sent, c->until - c->sent, MSG_NOSIGNAL);
    if (wrote < 0 && errno == EAGAIN) {
      watch(fd, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
      return 0;
    }
    if (wrote < 0) return -1;
    c->sent += wrote;
  }
  if (c->sent == c->answer->size) c->answer = NULL;
  return 0;
}

static void put_tick(int fd, uint64_t due) {
  ticks[next_tick] = (Tick){fd, connections[fd].life, due};
  next_tick = (next_tick + 1) % TICKS;
}

static const Answer *named(const char *name, size_t size) {
  for (int i = 0; i < answer_count; i++)
    if (strlen(answers[i].name) == size && !memcmp(answers[i].name, name, size)) return &answers[i];
  fprintf(stderr, "mock: there is no answer %.*s\n", (int)size, name);
  exit(1);
}

static int begin(int fd, const char *body, size_t size, int counts) {
  Connection *c = &connections[fd];
  size_t near = size < MARK_NEAR_END ? size : MARK_NEAR_END;
  const char *mark = memmem(body + size - near, near, "answer:", 7), *pace = mark ? strstr(mark, "pace:") : NULL;
  c->answer = counts ? named("count", 5) : mark ? named(mark + 7, strcspn(mark + 7, " \"")) : &answers[0];
  c->pace = pace && c->answer->events ? strtoul(pace + 5, NULL, 10) * 1000 : 0;
  c->number = ++answered;
  c->sent = 0;
  c->event = c->answer->opening;
  c->until = c->pace ? c->answer->ends[c->event - 1] : c->answer->size;
  if (c->pace) put_tick(fd, now_us() + c->pace);
  return flush(fd);
}

// Answers each whole request that has come in. Only Content-Length: that is what every gateway here sends.
static int serve(int fd) {
  Connection *c = &connections[fd];
  while (c->filled && !c->answer) {
    char *head_end = memmem(c->in, c->filled, "\r\n\r\n", 4);
    if (!head_end) return 0;
    *head_end = 0;
    char *field = strcasestr(c->in, "\r\ncontent-length:");
    size_t head = head_end + 4 - c->in, body = field ? strtoul(field + 17, NULL, 10) : 0;
    *head_end = '\r';
    if (c->filled < head + body) return 0;
    int counts = memmem(c->in, 128 < head ? 128 : head, "/count_tokens", 13) != NULL;
    if (begin(fd, c->in + head, body, counts) < 0) return -1;
    c->filled -= head + body;
    memmove(c->in, c->in + head + body, c->filled);
  }
  return 0;
}

static void tick(Tick due) {
  Connection *c = &connections[due.fd];
  if (!c->open || c->life != due.life || !c->answer || !c->pace) return;
  c->until = c->answer->ends[c->event++];
  if (c->event < c->answer->events) put_tick(due.fd, due.due + c->pace);
  if (flush(due.fd) < 0 || (!c->answer && serve(due.fd) < 0)) hang_up(due.fd);
}

// Listening.

static void welcome(int listener) {
  int one = 1, fd;
  while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
    if (fd >= MOST_CONNECTIONS) { close(fd); continue; }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    Connection *c = &connections[fd];
    c->open = 1;
    c->in = malloc(c->room = 16384);
    watch(fd, EPOLL_CTL_ADD, EPOLLIN);
  }
}

static int read_in(int fd) {
  Connection *c = &connections[fd];
  for (;;) {
    if (c->room - c->filled < 8193) c->in = realloc(c->in, c->room = c->room * 2 < 65536 ? 65536 : c->room * 2);
    ssize_t got = recv(fd, c->in + c->filled, c->room - c->filled - 1, 0);
    if (got < 0 && errno == EAGAIN) return 0;
    if (got <= 0) return -1;
    c->filled += got;
    c->in[c->filled] = 0;
    if (got < 8192) return 0;
  }
}

static void happened(int fd, uint32_t events) {
  Connection *c = &connections[fd];
  if (!c->open) return;
  if (events & EPOLLOUT) {
    watch(fd, EPOLL_CTL_MOD, EPOLLIN);
    if (c->answer && flush(fd) < 0) { hang_up(fd); return; }
  }
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR) && read_in(fd) < 0) { hang_up(fd); return; }
  if (serve(fd) < 0) hang_up(fd);
}

static int listen_on(int port) {
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (bind(listener, (void *)&address, sizeof address) || listen(listener, 8192)) { perror("listen"); exit(1); }
  return listener;
}

static int until_next_tick(void) {
  if (first_tick == next_tick) return -1;
  uint64_t now = now_us(), due = ticks[first_tick].due;
  return due <= now ? 0 : (int)((due - now + 999) / 1000);
}

int main(int count, char **given) {
  if (count < 3) { fprintf(stderr, "usage: mock PORT NAME=FILE...\n"); return 2; }
  signal(SIGPIPE, SIG_IGN);
  for (int i = 2; i < count && answer_count < MOST_ANSWERS; i++) load_answer(&answers[answer_count++], given[i]);
  int listener = listen_on(atoi(given[1]));
  poll_fd = epoll_create1(0);
  watch(listener, EPOLL_CTL_ADD, EPOLLIN);
  printf("listening\n");
  fflush(stdout);
  struct epoll_event events[512];
  for (;;) {
    int ready = epoll_wait(poll_fd, events, 512, until_next_tick());
    for (int i = 0; i < ready; i++) {
      if (events[i].data.fd == listener) welcome(listener);
      else happened(events[i].data.fd, events[i].events);
    }
    for (uint64_t now = now_us(); first_tick != next_tick && ticks[first_tick].due <= now;) {
      Tick due = ticks[first_tick];
      first_tick = (first_tick + 1) % TICKS;
      tick(due);
    }
  }
}
