#include <cmath>
#include <mutex>

#include "binding.h"
#include "shm_transport.h"

namespace rdmc {
namespace {

Napi::Value channelCreate(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), deviceArgument(info)->createChannel());
}

Napi::Value channelFd(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), deviceArgument(info)->channel(i32(info, 1))->fd());
}

Napi::Value channelDestroy(const Napi::CallbackInfo& info) {
  deviceArgument(info)->destroyChannel(i32(info, 1));
  return info.Env().Undefined();
}

Napi::Value completionQueueCreate(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), deviceArgument(info)->createCq(i32(info, 2)));
}

Napi::Value completionQueueDestroy(const Napi::CallbackInfo& info) {
  deviceArgument(info)->destroyCq(u32(info, 1));
  return info.Env().Undefined();
}

Napi::Value completionQueueArm(const Napi::CallbackInfo& info) {
  deviceArgument(info)->cq(u32(info, 1))->arm(info[2].As<Napi::Boolean>());
  return info.Env().Undefined();
}

// The two hot functions take no arguments: all they need is bound to them once (plain Node-API,
// because the C++ wrapper's call costs more than the work). They do not keep the device: it must end when it
// is closed, not when JavaScript forgets them.
struct Poller {
  std::weak_ptr<SoftDevice> device;
  std::weak_ptr<CompletionQueue> cq;
  CompletionSlot* batch;
  Napi::ObjectReference keep;
};

napi_value poll(napi_env env, napi_callback_info info) {
  void* data;
  napi_get_cb_info(env, info, nullptr, nullptr, nullptr, &data);
  auto* poller = static_cast<Poller*>(data);
  const auto device = poller->device.lock();
  const auto cq = poller->cq.lock();
  const uint32_t count = device && cq ? device->poll(*cq, poller->batch, kPollSlots) : 0;
  napi_value out;
  napi_create_uint32(env, count, &out);
  return out;
}

struct Doorbell {
  std::weak_ptr<SoftDevice> device;
  WorkRequestSlot* batch;
  const uint32_t* control;
  Napi::ObjectReference keepBatch, keepControl;
};

napi_value ring(napi_env env, napi_callback_info info) {
  void* data;
  napi_get_cb_info(env, info, nullptr, nullptr, nullptr, &data);
  auto* doorbell = static_cast<Doorbell*>(data);
  const uint32_t count = std::min(doorbell->control[0], kBatchSlots);
  const auto device = doorbell->device.lock();
  if (!device) {
    napi_throw_error(env, "ERR_RDMC_DEVICE_CLOSED", "The device is closed");
    return nullptr;
  }
  const uint32_t refused = device->post(doorbell->batch, count);
  napi_value out;
  napi_create_uint32(env, refused, &out);
  return out;
}

template <typename Bound>
Napi::Value boundFunction(Napi::Env env, const char* name, napi_callback callback, Bound* bound) {
  napi_value function;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, bound, &function);
  napi_add_finalizer(
      env, function, bound, [](napi_env, void* data, void*) { delete static_cast<Bound*>(data); }, nullptr, nullptr);
  return Napi::Value(env, function);
}

template <typename T>
T* sizedMemory(const Napi::Value& value, size_t bytes, const char* what) {
  auto view = value.As<Napi::Uint8Array>();
  if (view.ByteLength() < bytes) throw Failure("ERR_RDMC_INVALID_OPTION", std::string(what) + " is too small");
  return reinterpret_cast<T*>(view.Data());
}

Napi::Value completionQueuePoller(const Napi::CallbackInfo& info) {
  const auto device = deviceArgument(info);
  const auto cq = device->cq(u32(info, 1));
  auto* batch = sizedMemory<CompletionSlot>(info[2], kCompletionBytes * kPollSlots, "The poll batch");
  auto* bound = new Poller{device, cq, batch, Napi::Persistent(info[2].As<Napi::Object>())};
  return boundFunction(info.Env(), "poll", poll, bound);
}

Napi::Value submissionDoorbell(const Napi::CallbackInfo& info) {
  const auto device = deviceArgument(info);
  auto* batch = sizedMemory<WorkRequestSlot>(info[1], kWorkRequestBytes * kBatchSlots, "The submission batch");
  auto control = info[2].As<Napi::Uint32Array>();
  auto* bound = new Doorbell{device, batch, control.Data(), Napi::Persistent(info[1].As<Napi::Object>()),
                             Napi::Persistent(info[2].As<Napi::Object>())};
  return boundFunction(info.Env(), "doorbell", ring, bound);
}

Napi::Value queuePairCreate(const Napi::CallbackInfo& info) {
  const uint32_t number = deviceArgument(info)->createQp(u32(info, 1), u32(info, 2), u32(info, 3), u32(info, 4),
                                                         u32(info, 5), info[6].As<Napi::Boolean>());
  return Napi::Number::New(info.Env(), number);
}

Napi::Value queuePairAddress(const Napi::CallbackInfo& info) {
  const auto device = deviceArgument(info);
  const QueuePairAddress address = device->address(*device->qpAt(u32(info, 1)));
  Napi::Object out = Napi::Object::New(info.Env());
  out.Set("kind", "soft");
  out.Set("version", Napi::Number::New(info.Env(), kControlVersion));
  out.Set("queuePair", Napi::Number::New(info.Env(), address.queuePair));
  out.Set("device", hex(address.device));
  out.Set("host", address.hostId);
  out.Set("transport", address.transport);
  out.Set("tcpHost", address.tcpHost);
  out.Set("tcpPort", Napi::Number::New(info.Env(), address.tcpPort));
  return out;
}

std::string textField(const Napi::Object& from, const char* name, size_t maxLength) {
  const Napi::Value value = from.Get(name);
  if (!value.IsString()) throw Failure("ERR_RDMC_INVALID_ADDRESS", std::string("The address lacks ") + name);
  std::string text = value.As<Napi::String>();
  if (text.size() > maxLength) throw Failure("ERR_RDMC_INVALID_ADDRESS", std::string("The address has too long a ") + name);
  return text;
}

double numberField(const Napi::Object& from, const char* name, double max) {
  const Napi::Value value = from.Get(name);
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : -1;
  if (!(number >= 0 && number <= max && number == std::floor(number))) {
    throw Failure("ERR_RDMC_INVALID_ADDRESS", std::string("The address has no valid ") + name);
  }
  return number;
}

QueuePairAddress readAddress(const Napi::Object& from) {
  QueuePairAddress address;
  if (const std::string kind = textField(from, "kind", 32); kind != "soft") {
    throw Failure("ERR_RDMC_INVALID_ADDRESS", "A soft device cannot connect to a device of kind " + kind);
  }
  if (const double version = numberField(from, "version", 1e6); version != kControlVersion) {
    throw Failure("ERR_RDMC_PROTOCOL_VERSION",
                  "The peer speaks version " + std::to_string(uint32_t(version)) + " of the soft device, we speak " +
                      std::to_string(kControlVersion) + ": use the same @rdmc/verbs everywhere");
  }
  const std::string id = textField(from, "device", 32);
  if (id.size() != 32 || id.find_first_not_of("0123456789abcdef") != std::string::npos) {
    throw Failure("ERR_RDMC_INVALID_ADDRESS", "The address has no valid device");
  }
  for (size_t i = 0; i < 16; ++i) address.device[i] = uint8_t(std::stoul(id.substr(i * 2, 2), nullptr, 16));
  address.queuePair = uint32_t(numberField(from, "queuePair", 4294967295.0));
  address.hostId = textField(from, "host", 256);
  address.transport = textField(from, "transport", 8);
  address.tcpHost = textField(from, "tcpHost", 256);
  address.tcpPort = uint16_t(numberField(from, "tcpPort", 65535));
  return address;
}

// A connect under way. It is settled by a native thread; where the environment ended first, by nobody: its
// thread-safe function is gone then, whoever still holds it.
struct PendingConnect {
  explicit PendingConnect(Napi::Env env)
      : self(this),
        env(env),
        deferred(Napi::Promise::Deferred::New(env)),
        callback(Napi::ThreadSafeFunction::New(env, Napi::Function::New(env, [](const Napi::CallbackInfo&) {}),
                                               "rdmc-connect", 0, 1)) {
    hook = new std::shared_ptr<PendingConnect>(self);
    napi_add_env_cleanup_hook(env, environmentEnds, hook);
  }

  static void environmentEnds(void* data) {
    auto* held = static_cast<std::shared_ptr<PendingConnect>*>(data);
    const auto keep = std::move((*held)->self);
    {
      std::lock_guard guard((*held)->mutex);
      (*held)->gone = true;
    }
    delete held;
  }

  void settle(const Failure* failure) {
    std::lock_guard guard(mutex);
    if (gone) return;
    outcome = failure ? std::make_unique<Failure>(*failure) : nullptr;
    const napi_status called = callback.NonBlockingCall(this, [](Napi::Env at, Napi::Function, PendingConnect* mine) {
      const auto keep = std::move(mine->self);
      napi_remove_env_cleanup_hook(at, environmentEnds, mine->hook);
      delete mine->hook;
      if (mine->outcome) {
        mine->deferred.Reject(toError(at, *mine->outcome).Value());
      } else {
        mine->deferred.Resolve(at.Undefined());
      }
    });
    if (called == napi_ok) callback.Release();
    gone = true;
  }

  std::shared_ptr<PendingConnect> self;  // until it is settled
  napi_env env;
  Napi::Promise::Deferred deferred;
  Napi::ThreadSafeFunction callback;
  std::shared_ptr<PendingConnect>* hook;
  std::unique_ptr<Failure> outcome;
  std::mutex mutex;
  bool gone = false;
};

Napi::Value queuePairConnect(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  const auto device = deviceArgument(info);
  const QueuePairAddress remote = readAddress(info[2].As<Napi::Object>());
  const ConnectParameters parameters{u32(info, 3), u32(info, 4), u32(info, 5)};
  auto* pending = new PendingConnect(env);
  const Napi::Promise promise = pending->deferred.Promise();
  auto shared = pending->self;
  auto done = [shared](const Failure* failure) { shared->settle(failure); };
  try {
    device->connect(u32(info, 1), remote, parameters, done);
  } catch (const Failure& failure) {
    shared->settle(&failure);
  }
  return promise;
}

Napi::Value queuePairState(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), deviceArgument(info)->qpAt(u32(info, 1))->state());
}

Napi::Value queuePairTransport(const Napi::CallbackInfo& info) {
  const auto wire = deviceArgument(info)->qpAt(u32(info, 1))->wire();
  return Napi::String::New(info.Env(), wire ? wire->name() : "");
}

Napi::Value queuePairError(const Napi::CallbackInfo& info) {
  deviceArgument(info)->qpAt(u32(info, 1))->fail(kFlushed);
  return info.Env().Undefined();
}

Napi::Value queuePairDestroy(const Napi::CallbackInfo& info) {
  deviceArgument(info)->destroyQp(u32(info, 1));
  return info.Env().Undefined();
}

}  // namespace

void bindQueue(Napi::Env env, Napi::Object exports) {
  bind<channelCreate>(env, exports, "channelCreate");
  bind<channelFd>(env, exports, "channelFd");
  bind<channelDestroy>(env, exports, "channelDestroy");
  bind<completionQueueCreate>(env, exports, "completionQueueCreate");
  bind<completionQueueDestroy>(env, exports, "completionQueueDestroy");
  bind<completionQueuePoller>(env, exports, "completionQueuePoller");
  bind<completionQueueArm>(env, exports, "completionQueueArm");
  bind<submissionDoorbell>(env, exports, "submissionDoorbell");
  bind<queuePairCreate>(env, exports, "queuePairCreate");
  bind<queuePairAddress>(env, exports, "queuePairAddress");
  bind<queuePairConnect>(env, exports, "queuePairConnect");
  bind<queuePairState>(env, exports, "queuePairState");
  bind<queuePairTransport>(env, exports, "queuePairTransport");
  bind<queuePairError>(env, exports, "queuePairError");
  bind<queuePairDestroy>(env, exports, "queuePairDestroy");
}

}  // namespace rdmc
