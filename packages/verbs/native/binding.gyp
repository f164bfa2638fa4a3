{
  "targets": [
    {
      "target_name": "rdmc_verbs",
      "sources": [
        "addon.cc",
        "arena_pool.cc",
        "barriers.cc",
        "binding_device.cc",
        "binding_fd.cc",
        "binding_queue.cc",
        "binding_region.cc",
        "completion_queue.cc",
        "control_segment.cc",
        "copy.cc",
        "copy_benchmark.cc",
        "failure.cc",
        "peer_link.cc",
        "posting.cc",
        "queue_pair.cc",
        "region_table.cc",
        "registry.cc",
        "service_thread.cc",
        "shm_transport.cc",
        "shm_wire.cc",
        "soft_device.cc",
        "tcp_stub_tmp.cc",
      ],
      "include_dirs": ["<!@(node -p \"require('node-addon-api').include\")"],
      "defines": ["NAPI_VERSION=9", "NODE_ADDON_API_DISABLE_DEPRECATED"],
      "cflags!": ["-fno-exceptions"],
      "cflags_cc!": ["-fno-exceptions", "-fno-rtti", "-std=gnu++17"],
      "cflags_cc": ["-std=gnu++20", "-O3", "-Wall", "-Wextra", "-Wno-unused-parameter", "-fvisibility=hidden"],
      "libraries": ["-lpthread"],
    }
  ]
}
