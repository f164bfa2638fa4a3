{
  "targets": [
    {
      "target_name": "rdmc_verbs",
      # Each unit includes the sources of one part; make starts them in this order, so the longest come first.
      "sources": ["unit_ibverbs.cc", "unit_tcp.cc", "unit_core.cc", "unit_shm.cc", "unit_binding.cc"],
      "include_dirs": [".", "<!@(node -p \"require('node-addon-api').include\")"],
      "defines": ["NAPI_VERSION=9", "NODE_ADDON_API_DISABLE_DEPRECATED", "NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS"],
      "cflags!": ["-fno-exceptions"],
      "cflags_cc!": ["-fno-exceptions", "-fno-rtti", "-std=gnu++17"],
      "cflags_cc": ["-std=gnu++20", "-O3", "-Wall", "-Wextra", "-Wunused-parameter", "-fvisibility=hidden"],
      "libraries": ["-lpthread"],
      "ldflags": ["-Wl,-z,nodelete"],
    }
  ]
}
