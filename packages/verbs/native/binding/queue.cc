#include <cstdint>
#include <mutex>

#include "binding/binding.h"

namespace rdmc {
namespace {

Napi::Value channelCreate(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), deviceArgument(info)->createChannel());
}

Napi::Value channelFd(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), deviceArgument(info)->channel(i32(info, 1))->fd());
}

Napi::Value channelDrain(const Napi::CallbackInfo& info) {
  deviceArgument(info)->channel(i32(info, 1))->drain();
  return info.Env().Undefined();
}

Napi::Value channelDestroy(const Napi::CallbackInfo& info) {
  deviceArgument(info)->destroyChannel(i32(info, 1));
  return info.Env().Undefined();
}

Napi::Value completionQueueCreate(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), deviceArgument(info)->createCompletionQueue(u32(info, 1), i32(info, 2)));
}

Napi::Value completionQueueDestroy(const Napi::CallbackInfo& info) {
  deviceArgument(info)->destroyCompletionQueue(u32(info, 1));
  return info.Env().Undefined();
}

Napi::Value completionQueueArm(const Napi::CallbackInfo& info) {
  deviceArgument(info)->completionQueue(u32(info, 1))->arm(info[2].As<Napi::Boolean>());
  return info.Env().Undefined();
}

// The hot functions have their objects bound to them once (plain Node-API, because the C++ wrapper's call costs more than
// the work). They hold weak references to the device: it must end when it is closed, not when JavaScript collects the
// functions.
struct Poller {
  std::weak_ptr<Device> device;
  std::weak_ptr<CompletionQueue> cq;
  std::weak_ptr<Channel> channel;  // of `wait` only
  CompletionSlot* batch;
  Napi::ObjectReference keep;
};

napi_value asNumber(napi_env env, uint32_t value) {
  napi_value out;
  napi_create_uint32(env, value, &out);
  return out;
}

napi_value poll(napi_env env, napi_callback_info info) {
  void* data;
  napi_get_cb_info(env, info, nullptr, nullptr, nullptr, &data);
  auto* poller = static_cast<Poller*>(data);
  const auto device = poller->device.lock();
  const auto cq = poller->cq.lock();
  return asNumber(env, device && cq ? device->poll(*cq, poller->batch, kPollSlots) : 0);
}

// Sleeps once, and only if nothing is there.
napi_value wait(napi_env env, napi_callback_info info) {
  size_t arguments = 1;
  napi_value argument;
  void* data;
  int32_t timeoutMs = 0;
  napi_get_cb_info(env, info, &arguments, &argument, nullptr, &data);
  napi_get_value_int32(env, argument, &timeoutMs);
  auto* poller = static_cast<Poller*>(data);
  const auto device = poller->device.lock();
  const auto cq = poller->cq.lock();
  const auto channel = poller->channel.lock();
  if (!device || !cq || !channel) return asNumber(env, 0);
  const auto look = [&] { return device->poll(*cq, poller->batch, kPollSlots); };
  if (const uint32_t count = look()) return asNumber(env, count);
  cq->arm(false);
  // A completion from before the arming raises no event.
  if (const uint32_t count = look()) return asNumber(env, count);
  channel->wait(timeoutMs);
  return asNumber(env, look());
}

// Returns whether the queue is open.
napi_value arm(napi_env env, napi_callback_info info) {
  size_t arguments = 1;
  napi_value argument;
  void* data;
  bool solicitedOnly = false;
  napi_get_cb_info(env, info, &arguments, &argument, nullptr, &data);
  napi_get_value_bool(env, argument, &solicitedOnly);
  auto* poller = static_cast<Poller*>(data);
  const auto device = poller->device.lock();
  const auto cq = poller->cq.lock();
  if (device && cq) cq->arm(solicitedOnly);
  napi_value out;
  napi_get_boolean(env, device && cq, &out);
  return out;
}

// The result of a closed device's doorbell; more than the slots of a batch.
constexpr uint32_t kDeviceClosed = UINT32_MAX;

struct Doorbell {
  std::weak_ptr<Device> device;
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
  const uint32_t refused = device ? device->post(doorbell->batch, count) : kDeviceClosed;
  napi_value out;
  napi_create_uint32(env, refused, &out);
  return out;
}

template <typename Bound>
Napi::Value boundFunction(Napi::Env env, const char* name, napi_callback callback, std::unique_ptr<Bound> bound) {
  const auto function = plainFunction(env, name, callback, bound.get());
  const auto end = [](napi_env, void* data, void*) { delete static_cast<Bound*>(data); };
  if (napi_add_finalizer(env, function, bound.get(), end, nullptr, nullptr) != napi_ok) throw Napi::Error::New(env);
  [[maybe_unused]] const auto* theirs = bound.release();
  return function;
}

template <typename T>
T* sizedMemory(const Napi::Value& value, size_t bytes, const char* what) {
  auto view = value.As<Napi::Uint8Array>();
  if (view.ByteLength() < bytes) throw Failure("ERR_RDMC_INVALID_OPTION", std::string(what) + " is too small");
  return reinterpret_cast<T*>(view.Data());
}

Napi::Value completionQueueFunctions(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  const auto device = deviceArgument(info);
  const auto cq = device->completionQueue(u32(info, 1));
  const int id = i32(info, 2);
  const std::weak_ptr<Channel> channel = id < 0 ? nullptr : device->channel(id);
  auto* batch = sizedMemory<CompletionSlot>(info[3], size_t{kCompletionBytes} * kPollSlots, "The poll batch");
  const auto bound = [&](const char* name, napi_callback callback) {
    Poller poller{device, cq, channel, batch, Napi::Persistent(info[3].As<Napi::Object>())};
    return boundFunction(env, name, callback, std::make_unique<Poller>(std::move(poller)));
  };
  Napi::Object out = Napi::Object::New(env);
  out.Set("poll", bound("poll", guarded<poll>));
  out.Set("arm", bound("arm", guarded<arm>));
  if (id >= 0) out.Set("wait", bound("wait", guarded<wait>));
  return out;
}

Napi::Value submissionDoorbell(const Napi::CallbackInfo& info) {
  const auto device = deviceArgument(info);
  auto* batch = sizedMemory<WorkRequestSlot>(info[1], size_t{kWorkRequestBytes} * kBatchSlots, "The submission batch");
  auto control = info[2].As<Napi::Uint32Array>();
  std::unique_ptr<Doorbell> bound(new Doorbell{device, batch, control.Data(),
                                               Napi::Persistent(info[1].As<Napi::Object>()),
                                               Napi::Persistent(info[2].As<Napi::Object>())});
  return boundFunction(info.Env(), "doorbell", guarded<ring>, std::move(bound));
}

Napi::Value sharedReceiveQueueCreate(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), deviceArgument(info)->createSharedReceiveQueue(u32(info, 1), u32(info, 2)));
}

Napi::Value sharedReceiveQueueDestroy(const Napi::CallbackInfo& info) {
  deviceArgument(info)->destroySharedReceiveQueue(u32(info, 1));
  return info.Env().Undefined();
}

Napi::Value queuePairCreate(const Napi::CallbackInfo& info) {
  QueuePairParameters parameters;
  parameters.pd = u32(info, 1);
  parameters.sendCq = u32(info, 2);
  parameters.receiveCq = u32(info, 3);
  parameters.sendDepth = u32(info, 4);
  parameters.receiveDepth = u32(info, 5);
  parameters.signalAll = info[6].As<Napi::Boolean>();
  parameters.sharedReceiveQueue = u32(info, 7);
  return Napi::Number::New(info.Env(), deviceArgument(info)->createQueuePair(parameters));
}

Napi::Value queuePairAddress(const Napi::CallbackInfo& info) {
  const AddressFields address = deviceArgument(info)->addressOf(u32(info, 1));
  Napi::Env env = info.Env();
  Napi::Object out = Napi::Object::New(env);
  for (const auto& [name, value] : address.all()) {
    if (const auto* text = std::get_if<std::string>(&value)) {
      out.Set(name, *text);
    } else if (const auto* number = std::get_if<double>(&value)) {
      out.Set(name, Napi::Number::New(env, *number));
    } else {
      out.Set(name, env.Null());
    }
  }
  return out;
}

// A field that is neither text nor number is left out; the device checks the fields that it needs.
AddressFields readAddress(const Napi::Object& from) {
  AddressFields out;
  const Napi::Array names = from.GetPropertyNames();
  for (uint32_t i = 0, count = names.Length(); i < count; ++i) {
    const Napi::Value name = names[i];
    const Napi::Value value = from.Get(name);
    if (value.IsString()) out.set(name.As<Napi::String>(), value.As<Napi::String>().Utf8Value());
    if (value.IsNumber()) out.set(name.As<Napi::String>(), value.As<Napi::Number>().DoubleValue());
  }
  return out;
}

// A connect under way. A native thread settles it, unless the environment has ended first: its thread-safe function is
// not valid then, although this object may still be held.
struct PendingConnect {
  // Throws where the thread is being terminated.
  explicit PendingConnect(Napi::Env env)
      : env(env),
        deferred(Napi::Promise::Deferred::New(env)),
        callback(Napi::ThreadSafeFunction::New(env, Napi::Function::New(env, [](const Napi::CallbackInfo&) {}),
                                               "rdmc-connect", 0, 1)) {}

  // It holds itself from here on. A constructor that throws would destroy such an object twice.
  static std::shared_ptr<PendingConnect> make(Napi::Env env) {
    auto made = std::make_shared<PendingConnect>(env);
    made->hook = new std::shared_ptr<PendingConnect>(made);
    napi_add_env_cleanup_hook(env, environmentEnds, made->hook);
    made->self = made;
    return made;
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
  std::shared_ptr<PendingConnect>* hook = nullptr;
  std::unique_ptr<Failure> outcome;
  std::mutex mutex;
  bool gone = false;
};

Napi::Value queuePairConnect(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  const auto device = deviceArgument(info);
  const AddressFields remote = readAddress(info[2].As<Napi::Object>());
  const ConnectParameters parameters{u32(info, 3), u32(info, 4), u32(info, 5), u32(info, 6), u32(info, 7), u32(info, 8)};
  const auto pending = PendingConnect::make(env);
  const Napi::Promise promise = pending->deferred.Promise();
  auto done = [pending](const Failure* failure) { pending->settle(failure); };
  try {
    device->connect(u32(info, 1), remote, parameters, done);
  } catch (const std::exception&) {
    const Failure failure = caughtFailure();
    pending->settle(&failure);
  }
  return promise;
}

Napi::Value queuePairState(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), deviceArgument(info)->stateOf(u32(info, 1)));
}

Napi::Value queuePairTransport(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), deviceArgument(info)->transportOf(u32(info, 1)));
}

Napi::Value queuePairAttributes(const Napi::CallbackInfo& info) {
  return toObject(info.Env(), deviceArgument(info)->attributesOf(u32(info, 1)));
}

Napi::Value queuePairDataInOrder(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), deviceArgument(info)->dataInOrder(u32(info, 1)));
}

Napi::Value queuePairError(const Napi::CallbackInfo& info) {
  deviceArgument(info)->failQueuePair(u32(info, 1));
  return info.Env().Undefined();
}

Napi::Value queuePairDestroy(const Napi::CallbackInfo& info) {
  deviceArgument(info)->destroyQueuePair(u32(info, 1));
  return info.Env().Undefined();
}

}  // namespace

void bindQueue(Napi::Env env, Napi::Object exports) {
  bind<channelCreate>(env, exports, "channelCreate");
  bind<channelFd>(env, exports, "channelFd");
  bind<channelDrain>(env, exports, "channelDrain");
  bind<channelDestroy>(env, exports, "channelDestroy");
  bind<completionQueueCreate>(env, exports, "completionQueueCreate");
  bind<completionQueueDestroy>(env, exports, "completionQueueDestroy");
  bind<completionQueueFunctions>(env, exports, "completionQueueFunctions");
  bind<completionQueueArm>(env, exports, "completionQueueArm");
  bind<submissionDoorbell>(env, exports, "submissionDoorbell");
  bind<sharedReceiveQueueCreate>(env, exports, "sharedReceiveQueueCreate");
  bind<sharedReceiveQueueDestroy>(env, exports, "sharedReceiveQueueDestroy");
  bind<queuePairCreate>(env, exports, "queuePairCreate");
  bind<queuePairAddress>(env, exports, "queuePairAddress");
  bind<queuePairConnect>(env, exports, "queuePairConnect");
  bind<queuePairState>(env, exports, "queuePairState");
  bind<queuePairTransport>(env, exports, "queuePairTransport");
  bind<queuePairAttributes>(env, exports, "queuePairAttributes");
  bind<queuePairDataInOrder>(env, exports, "queuePairDataInOrder");
  bind<queuePairError>(env, exports, "queuePairError");
  bind<queuePairDestroy>(env, exports, "queuePairDestroy");
}

}  // namespace rdmc
