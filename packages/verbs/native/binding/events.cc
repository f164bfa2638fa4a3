// Listening to the asynchronous events of a device.
#include "binding/binding.h"

namespace rdmc {
namespace {

Napi::Value eventsSubscribe(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), deviceArgument(info)->events().subscribe());
}

Napi::Value eventsFd(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), deviceArgument(info)->events().fd(i32(info, 1)));
}

Napi::Value eventsTake(const Napi::CallbackInfo& info) {
  Napi::Env env = info.Env();
  const auto events = deviceArgument(info)->events().take(i32(info, 1));
  Napi::Array out = Napi::Array::New(env, events.size());
  for (uint32_t i = 0; i < events.size(); ++i) {
    Napi::Object event = Napi::Object::New(env);
    event.Set("type", events[i].type);
    event.Set("message", events[i].message);
    if (events[i].port != 0) event.Set("port", Napi::Number::New(env, events[i].port));
    if (events[i].queuePair != 0) event.Set("queuePair", Napi::Number::New(env, events[i].queuePair));
    out.Set(i, event);
  }
  return out;
}

Napi::Value eventsUnsubscribe(const Napi::CallbackInfo& info) {
  deviceArgument(info)->events().unsubscribe(i32(info, 1));
  return info.Env().Undefined();
}

}  // namespace

void bindEvents(Napi::Env env, Napi::Object exports) {
  bind<eventsSubscribe>(env, exports, "eventsSubscribe");
  bind<eventsFd>(env, exports, "eventsFd");
  bind<eventsTake>(env, exports, "eventsTake");
  bind<eventsUnsubscribe>(env, exports, "eventsUnsubscribe");
}

}  // namespace rdmc
