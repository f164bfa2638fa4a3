#include "soft/service_thread.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>

#include "core/failure.h"

namespace rdmc {

ServiceThread::ServiceThread(Hooks hooks) : hooks_(std::move(hooks)) {
  epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  wake_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_.valid() || !wake_.valid()) throw systemFailure("epoll_create1", "Starting the service thread", errno);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = wake_.get();
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event);
  // Signals belong to the application's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "rdmc-service");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ServiceThread::~ServiceThread() { stop(); }

bool ServiceThread::post(Job job) {
  {
    std::lock_guard guard(mutex_);
    if (stopped_) return false;
    jobs_.push_back(std::move(job));
  }
  poke();
  return true;
}

void ServiceThread::poke() const {
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
}

void ServiceThread::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  poke();
  thread_.join();
}

void ServiceThread::watch(int fd, uint32_t events, Handler handler) {
  handlers_[fd] = std::make_shared<Handler>(std::move(handler));
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    handlers_.erase(fd);
    throw systemFailure("epoll_ctl", "Watching a connection", errno);
  }
}

void ServiceThread::rewatch(int fd, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void ServiceThread::unwatch(int fd) {
  if (handlers_.erase(fd)) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void ServiceThread::runJobs() {
  std::vector<Job> jobs;
  {
    std::lock_guard guard(mutex_);
    jobs.swap(jobs_);
  }
  for (auto& job : jobs) job();
}

void ServiceThread::turns() {
  hooks_.begin();
  int timeoutMs = -1;
  while (!stopping_) {
    epoll_event events[64];
    const int count = ::epoll_wait(epoll_.get(), events, 64, timeoutMs);
    for (int i = 0; i < count; ++i) {
      if (events[i].data.fd == wake_.get()) {
        uint64_t drained;
        [[maybe_unused]] const auto got = ::read(wake_.get(), &drained, sizeof drained);
        continue;
      }
      // A handler may remove itself or others: keep this one alive while it runs.
      const auto found = handlers_.find(events[i].data.fd);
      if (found == handlers_.end()) continue;
      const auto handler = found->second;
      (*handler)(events[i].events);
    }
    runJobs();
    timeoutMs = hooks_.turn();
  }
}

// This is the outermost frame: an exception that leaves it would end the process.
void ServiceThread::run() {
  try {
    turns();
  } catch (const std::exception&) {
    hooks_.failed(caughtFailure());
  }
  {
    std::lock_guard guard(mutex_);
    stopped_ = true;
  }
  for (const auto& last : {Job([this] { runJobs(); }), hooks_.end}) {
    try {
      last();
    } catch (const std::exception&) {
      hooks_.failed(caughtFailure());
    }
  }
}

}  // namespace rdmc
