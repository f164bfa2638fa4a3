#include <fcntl.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>

#include <cerrno>
#include <memory>
#include <new>
#include <unordered_map>
#include <utility>

#include "binding/binding.h"
#include "binding/copy_benchmark.h"
#include "binding/descriptors.h"
#include "binding/libuv.h"

namespace rdmc {
namespace {

int64_t nowNs(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

Napi::Value eventfdCreate(const Napi::CallbackInfo& info) {
  Fd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd.valid()) throw systemFailure("eventfd", "Creating an eventfd", errno);
  return Napi::Number::New(info.Env(), Descriptors::all().add(std::move(fd), info.Env()));
}

napi_value signalFd(napi_env env, napi_callback_info info) {
  void* data;
  napi_get_cb_info(env, info, nullptr, nullptr, nullptr, &data);
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(int(reinterpret_cast<intptr_t>(data)), &one, sizeof one);
  return nullptr;
}

Napi::Value eventfdSignal(const Napi::CallbackInfo& info) {
  return plainFunction(info.Env(), "signal", signalFd, reinterpret_cast<void*>(intptr_t(i32(info, 0))));
}

Napi::Value timerfdCreate(const Napi::CallbackInfo& info) {
  Fd fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!fd.valid()) throw systemFailure("timerfd_create", "Creating a timer", errno);
  return Napi::Number::New(info.Env(), Descriptors::all().add(std::move(fd), info.Env()));
}

napi_value startTimer(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument;
  void* data;
  uint32_t microseconds = 0;
  napi_get_cb_info(env, info, &count, &argument, nullptr, &data);
  napi_get_value_uint32(env, argument, &microseconds);
  itimerspec once{};
  once.it_value = {time_t(microseconds / 1'000'000), long(microseconds % 1'000'000) * 1000};
  ::timerfd_settime(int(reinterpret_cast<intptr_t>(data)), 0, &once, nullptr);
  return nullptr;
}

Napi::Value timerfdStart(const Napi::CallbackInfo& info) {
  return plainFunction(info.Env(), "start", startTimer, reinterpret_cast<void*>(intptr_t(i32(info, 0))));
}

Napi::Value fdClose(const Napi::CallbackInfo& info) {
  Descriptors::all().close(i32(info, 0));
  return info.Env().Undefined();
}

// A descriptor watched by the event loop of one environment. Plain Node-API: the C++ wrapper throws fatal errors
// where execution is being terminated (process.exit() in a worker), and its AsyncContext outlives the environment.
struct Watcher {
  uv_handle_s* poll;  // owned, and of the size that libuv says
  int fd;
  napi_env env;
  napi_ref callback;
  std::weak_ptr<Channel> channel;  // drained instead of the descriptor, where there is one
};

void drain(const Watcher& watcher) {
  if (const auto channel = watcher.channel.lock()) return channel->take();
  uint64_t count;
  [[maybe_unused]] const auto got = ::read(watcher.fd, &count, sizeof count);
}

std::unordered_map<int, Watcher*>& watchers() {
  static thread_local std::unordered_map<int, Watcher*> all;
  return all;
}

// Its handle is not in use by the event loop.
void release(Watcher* watcher) {
  ::close(watcher->fd);
  ::operator delete(watcher->poll);
  delete watcher;
}

void closeWatcher(int id) {
  const auto found = watchers().find(id);
  if (found == watchers().end()) return;
  Watcher* watcher = found->second;
  watchers().erase(found);
  napi_delete_reference(watcher->env, watcher->callback);
  watcher->callback = nullptr;
  uv_poll_stop(watcher->poll);
  uv_close(watcher->poll, [](uv_handle_s* handle) { release(static_cast<Watcher*>(uv_handle_get_data(handle))); });
}

void onReadable(uv_handle_s* poll, int status, int) {
  auto* watcher = static_cast<Watcher*>(uv_handle_get_data(poll));
  napi_env env = watcher->env;
  if (status == 0) {
    try {
      drain(*watcher);
    } catch (const std::exception&) {
      // It stays readable, so this is called again.
    }
  }
  napi_handle_scope scope;
  if (napi_open_handle_scope(env, &scope) != napi_ok) return;
  napi_value callback;
  napi_value global;
  napi_get_reference_value(env, watcher->callback, &callback);
  napi_get_global(env, &global);
  // The callback may close the watcher: it is not used any more from here.
  if (napi_make_callback(env, nullptr, global, callback, 0, nullptr, nullptr) == napi_pending_exception) {
    napi_value error;
    if (napi_get_and_clear_last_exception(env, &error) == napi_ok) napi_fatal_exception(env, error);
  }
  napi_close_handle_scope(env, scope);
}

Napi::Value watch(Napi::Env env, int fd, const Napi::Value& callback, std::weak_ptr<Channel> channel) {
  static thread_local int nextId = 1;
  static thread_local bool hooked = false;
  if (!hooked) {
    hooked = true;
    env.AddCleanupHook([] {
      while (!watchers().empty()) closeWatcher(watchers().begin()->first);
    });
  }
  uv_loop_s* loop;
  napi_get_uv_event_loop(env, &loop);
  if (!callback.IsFunction()) throw Failure("ERR_RDMC_INVALID_OPTION", "Watching needs a function");
  // A descriptor of its own: when the given one is closed, its number may belong to another file.
  const int own = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) throw systemFailure("fcntl", "Watching a descriptor", errno);
  auto* poll = static_cast<uv_handle_s*>(::operator new(uv_handle_size(kUvPoll)));
  auto* watcher = new Watcher{poll, own, env, nullptr, std::move(channel)};
  if (const int error = uv_poll_init(loop, poll, own); error != 0) {
    release(watcher);
    throw systemFailure("epoll_ctl", "Watching a descriptor", -error);
  }
  napi_create_reference(env, callback, 1, &watcher->callback);
  uv_handle_set_data(poll, watcher);
  uv_poll_start(poll, kUvReadable, onReadable);
  const int id = nextId++;
  watchers()[id] = watcher;
  return Napi::Number::New(env, id);
}

Napi::Value fdWatch(const Napi::CallbackInfo& info) { return watch(info.Env(), i32(info, 0), info[1], {}); }

Napi::Value channelWatch(const Napi::CallbackInfo& info) {
  const auto channel = deviceArgument(info)->channel(i32(info, 1));
  return watch(info.Env(), channel->fd(), info[2], channel);
}

Napi::Value fdUnwatch(const Napi::CallbackInfo& info) {
  closeWatcher(i32(info, 0));
  return info.Env().Undefined();
}

Napi::Value fdRef(const Napi::CallbackInfo& info) {
  const auto found = watchers().find(i32(info, 0));
  if (found != watchers().end()) {
    uv_handle_s* handle = found->second->poll;
    info[1].As<Napi::Boolean>() ? uv_ref(handle) : uv_unref(handle);
  }
  return info.Env().Undefined();
}

Napi::Value yieldProcessor(const Napi::CallbackInfo& info) {
  const int64_t start = nowNs(CLOCK_MONOTONIC);
  ::sched_yield();
  return Napi::Number::New(info.Env(), double(nowNs(CLOCK_MONOTONIC) - start));
}

Napi::Value threadCpuSeconds(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), double(nowNs(CLOCK_THREAD_CPUTIME_ID)) / 1e9);
}

Napi::Value copyBenchmark(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), measureCopy(u53(info, 0), u53(info, 1), u32(info, 2)));
}

}  // namespace

void bindFd(Napi::Env env, Napi::Object exports) {
  bind<eventfdCreate>(env, exports, "eventfdCreate");
  bind<eventfdSignal>(env, exports, "eventfdSignal");
  bind<timerfdCreate>(env, exports, "timerfdCreate");
  bind<timerfdStart>(env, exports, "timerfdStart");
  bind<fdClose>(env, exports, "fdClose");
  bind<channelWatch>(env, exports, "channelWatch");
  bind<fdWatch>(env, exports, "fdWatch");
  bind<fdUnwatch>(env, exports, "fdUnwatch");
  bind<fdRef>(env, exports, "fdRef");
  bind<yieldProcessor>(env, exports, "yieldProcessor");
  bind<threadCpuSeconds>(env, exports, "threadCpuSeconds");
  bind<copyBenchmark>(env, exports, "copyBenchmark");
}

}  // namespace rdmc
