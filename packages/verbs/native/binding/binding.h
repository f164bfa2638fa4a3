// Between Node-API and the device: argument reading, error translation.
#pragma once
#include <napi.h>

#include "core/device.h"
#include "core/failure.h"

namespace rdmc {

void bindDevice(Napi::Env env, Napi::Object exports);
void bindEvents(Napi::Env env, Napi::Object exports);
void bindIbverbs(Napi::Env env, Napi::Object exports);
void bindRegion(Napi::Env env, Napi::Object exports);
void bindQueue(Napi::Env env, Napi::Object exports);
void bindFd(Napi::Env env, Napi::Object exports);

// A JavaScript error with code, errno and syscall: made by the function of `errorsBy`, or a plain one without it.
Napi::Error toError(Napi::Env env, const Failure& failure);

inline uint32_t u32(const Napi::CallbackInfo& info, size_t at) { return info[at].As<Napi::Number>().Uint32Value(); }
inline int i32(const Napi::CallbackInfo& info, size_t at) { return info[at].As<Napi::Number>().Int32Value(); }
inline uint64_t u53(const Napi::CallbackInfo& info, size_t at) {
  return uint64_t(info[at].As<Napi::Number>().DoubleValue());
}
// An object with a number for each name.
Napi::Object toObject(Napi::Env env, const NamedNumbers& numbers);
// The environment becomes the owner of the device; returns the device's handle.
Napi::Value adopt(Napi::Env env, std::shared_ptr<Device> device);
std::shared_ptr<Device> deviceArgument(const Napi::CallbackInfo& info);

// Exports a function whose Failures become JavaScript errors.
template <Napi::Value (*Function)(const Napi::CallbackInfo&)>
void bind(Napi::Env env, Napi::Object exports, const char* name) {
  exports.Set(name, Napi::Function::New(
                        env,
                        [](const Napi::CallbackInfo& info) -> Napi::Value {
                          try {
                            return Function(info);
                          } catch (const Napi::Error&) {
                            throw;
                          } catch (const std::exception&) {
                            throw toError(info.Env(), caughtFailure());
                          }
                        },
                        name));
}

// A function of plain Node-API, which is called without the C++ wrapper. Throws where the thread is being terminated.
inline Napi::Value plainFunction(Napi::Env env, const char* name, napi_callback callback, void* data) {
  napi_value function = nullptr;
  if (napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, data, &function) != napi_ok) {
    throw Napi::Error::New(env);
  }
  return Napi::Value(env, function);
}

// `bind` for such a function.
template <napi_value (*Function)(napi_env, napi_callback_info)>
napi_value guarded(napi_env env, napi_callback_info info) {
  try {
    return Function(env, info);
  } catch (const std::exception&) {
    // JavaScript must not be called here: in a thread that is being terminated the call fails, and nothing catches
    // that.
    const Failure failure = caughtFailure();
    napi_throw_error(env, failure.code.c_str(), failure.what());
    return nullptr;
  }
}

}  // namespace rdmc
