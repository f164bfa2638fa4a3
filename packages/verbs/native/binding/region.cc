#include <cstring>

#include "binding/binding.h"
#include "binding/environment.h"
#include "core/copy.h"

namespace rdmc {
namespace {

// Allocates on the thread pool: faulting memory in takes long.
class Allocation : public Napi::AsyncWorker {
 public:
  Allocation(Napi::Env env, std::shared_ptr<Device> device, uint32_t pd, uint64_t length, uint32_t access,
             bool hostAccess, bool populated)
      : Napi::AsyncWorker(env),
        device_(std::move(device)),
        deferred_(Napi::Promise::Deferred::New(env)),
        pd_(pd),
        length_(length),
        access_(access),
        hostAccess_(hostAccess),
        populated_(populated) {}
  Napi::Promise promise() const { return deferred_.Promise(); }

 protected:
  void Execute() override {
    try {
      handle_ = !hostAccess_ ? device_->allocateWithoutHostAccess(pd_, length_, access_)
                : populated_ ? device_->allocateRegion(pd_, length_, access_)
                             : device_->allocateUnpopulated(pd_, length_, access_);
    } catch (const std::exception&) {
      failure_ = std::make_unique<Failure>(caughtFailure());
    }
  }
  void OnOK() override {
    if (failure_) {
      deferred_.Reject(toError(Env(), *failure_).Value());
    } else {
      deferred_.Resolve(Napi::Number::New(Env(), handle_));
    }
  }

 private:
  std::shared_ptr<Device> device_;
  Napi::Promise::Deferred deferred_;
  uint32_t pd_;
  uint64_t length_;
  uint32_t access_;
  bool hostAccess_, populated_;
  uint32_t handle_ = 0;
  std::unique_ptr<Failure> failure_;
};

Napi::Value regionAllocate(const Napi::CallbackInfo& info) {
  auto* allocation = new Allocation(info.Env(), deviceArgument(info), u32(info, 1), u53(info, 2), u32(info, 3),
                                    info[4].ToBoolean().Value(), info[5].ToBoolean().Value());
  const Napi::Promise promise = allocation->promise();
  allocation->Queue();
  return promise;
}

// On the thread pool, as an allocation.
class Population : public Napi::AsyncWorker {
 public:
  Population(Napi::Env env, std::shared_ptr<Device> device, uint32_t region)
      : Napi::AsyncWorker(env),
        device_(std::move(device)),
        deferred_(Napi::Promise::Deferred::New(env)),
        region_(region) {}
  Napi::Promise promise() const { return deferred_.Promise(); }

 protected:
  void Execute() override {
    try {
      device_->populateRegion(region_);
    } catch (const std::exception&) {
      failure_ = std::make_unique<Failure>(caughtFailure());
    }
  }
  void OnOK() override {
    if (failure_) {
      deferred_.Reject(toError(Env(), *failure_).Value());
    } else {
      deferred_.Resolve(Env().Undefined());
    }
  }

 private:
  std::shared_ptr<Device> device_;
  Napi::Promise::Deferred deferred_;
  uint32_t region_;
  std::unique_ptr<Failure> failure_;
};

Napi::Value regionPopulate(const Napi::CallbackInfo& info) {
  auto* population = new Population(info.Env(), deviceArgument(info), u32(info, 1));
  const Napi::Promise promise = population->promise();
  population->Queue();
  return promise;
}

Napi::Value regionRegister(const Napi::CallbackInfo& info) {
  auto view = info[2].As<Napi::Uint8Array>();
  const auto device = deviceArgument(info);
  const uint32_t handle = device->registerRegion(u32(info, 1), view.Data(), view.ByteLength(), u32(info, 3));
  Rollback registered([&] { device->closeRegion(handle); });
  Environment::of(info.Env()).memory.add(device, handle, Napi::Persistent(info[2].As<Napi::Object>()));
  registered.dismiss();
  return Napi::Number::New(info.Env(), handle);
}

Napi::Value regionRegisterDmabuf(const Napi::CallbackInfo& info) {
  const uint32_t handle =
      deviceArgument(info)->registerDmabuf(u32(info, 1), i32(info, 2), u53(info, 3), u53(info, 4), u32(info, 5));
  return Napi::Number::New(info.Env(), handle);
}

Napi::Value regionInfo(const Napi::CallbackInfo& info) {
  const auto device = deviceArgument(info);
  const Region& region = device->regions().at(u32(info, 1));
  Napi::Object out = Napi::Object::New(info.Env());
  const auto number = [&](const char* name, double value) { out.Set(name, Napi::Number::New(info.Env(), value)); };
  number("address", double(region.address));
  number("length", double(region.length));
  number("lkey", region.key.load());
  number("rkey", device->remoteKey(u32(info, 1)));
  number("outstanding", region.outstanding.load());
  number("access", region.access);
  out.Set("hostAccess", Napi::Boolean::New(info.Env(), region.hostAccess));
  out.Set("shareable", Napi::Boolean::New(info.Env(), device->remotelyReachable(u32(info, 1))));
  return out;
}

Napi::Value regionBuffer(const Napi::CallbackInfo& info) {
  const auto device = deviceArgument(info);
  const auto [extent, whole] = device->regions().memoryOf(u32(info, 1));
  const uint64_t offset = u53(info, 2), length = u53(info, 3);
  if (!extent || length > whole || offset > whole - length) {
    throw Failure("ERR_RDMC_OUT_OF_BOUNDS", "The view reaches beyond the region");
  }
  // The view keeps the memory mapped, even after the region and the device are closed.
  auto* held = new std::shared_ptr<Extent>(extent);
  return Napi::ArrayBuffer::New(
      info.Env(), extent->data() + offset, length, [](Napi::Env, void*, std::shared_ptr<Extent>* mine) { delete mine; },
      held);
}

Napi::Value regionHold(const Napi::CallbackInfo& info) {
  if (!deviceArgument(info)->regions().acquire(u32(info, 1))) {
    throw Failure("ERR_RDMC_REGION_CLOSED", "The memory region is closed");
  }
  return info.Env().Undefined();
}

Napi::Value regionLetGo(const Napi::CallbackInfo& info) {
  deviceArgument(info)->regions().letGo(u32(info, 1));
  return info.Env().Undefined();
}

Napi::Value regionRevoke(const Napi::CallbackInfo& info) {
  deviceArgument(info)->revokeRegion(u32(info, 1));
  return info.Env().Undefined();
}

Napi::Value regionClose(const Napi::CallbackInfo& info) {
  RegisteredMemory& mine = Environment::of(info.Env()).memory;
  mine.forgetGone();  // another thread may have closed the device
  const auto device = deviceArgument(info);
  device->closeRegion(u32(info, 1));
  mine.remove(device, u32(info, 1));
  return info.Env().Undefined();
}

Napi::Value detach(const Napi::CallbackInfo& info) {
  auto buffer = info[0].As<Napi::ArrayBuffer>();
  if (!buffer.IsDetached()) buffer.Detach();
  return info.Env().Undefined();
}

// A range of a region that is not freed meanwhile: other threads may close the region, and its memory may be that of a
// thread that ends.
class Copied {
 public:
  Copied(RegionTable& regions, uint64_t address, uint64_t length) : region_(regions.beginCopy(address, length)) {}
  Copied(const Copied&) = delete;
  Copied& operator=(const Copied&) = delete;
  ~Copied() {
    if (region_) RegionTable::endCopy(region_);
  }
  bool found() const { return region_ != nullptr; }

 private:
  Region* const region_;
};

Napi::Value copy(const Napi::CallbackInfo& info) {
  const auto device = deviceArgument(info);
  const uint64_t to = u53(info, 1), from = u53(info, 2), length = u53(info, 3);
  const Copied target(device->regions(), to, length), source(device->regions(), from, length);
  if (!target.found() || !source.found()) {
    throw Failure("ERR_RDMC_OUT_OF_BOUNDS",
                  "copy: a range lies outside the registered memory that this process can access");
  }
  std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), length);
  return info.Env().Undefined();
}

}  // namespace

void bindRegion(Napi::Env env, Napi::Object exports) {
  bind<regionAllocate>(env, exports, "regionAllocate");
  bind<regionPopulate>(env, exports, "regionPopulate");
  bind<regionRegister>(env, exports, "regionRegister");
  bind<regionRegisterDmabuf>(env, exports, "regionRegisterDmabuf");
  bind<regionInfo>(env, exports, "regionInfo");
  bind<regionBuffer>(env, exports, "regionBuffer");
  bind<regionHold>(env, exports, "regionHold");
  bind<regionLetGo>(env, exports, "regionLetGo");
  bind<regionRevoke>(env, exports, "regionRevoke");
  bind<regionClose>(env, exports, "regionClose");
  bind<detach>(env, exports, "detach");
  bind<copy>(env, exports, "copy");
}

}  // namespace rdmc
