/** Debian packages that a run needs, all small but the emulator; installed without recommended packages. */
export const PACKAGES = [
  'qemu-system-x86',
  'seabios',
  'busybox-static',
  'kmod',
  'iproute2',
  'procps',
  'xz-utils',
  'rdma-core',
  'ibverbs-providers',
  'ibverbs-utils',
  'perftest',
] as const;

/** The meta package of Debian's current kernel. The `-cloud-` variant has neither rdma_rxe nor 9p. */
export const KERNEL_PACKAGE = 'linux-image-amd64';

/** Modules for the host's files and for the ports. */
export const BOOT_MODULES = ['virtio_pci', 'virtio_console', '9pnet_virtio', '9p', 'overlay'] as const;

/**
 * Modules of soft-RoCE and of the network below it. rxe requests 'crc32' by that name, and depends on this list for
 * it: without it `rdma link add` says "No such file or directory". netem drops packets.
 */
export const RDMA_MODULES = [
  'crc32_generic',
  'veth',
  'bridge',
  'rdma_rxe',
  'ib_uverbs',
  'ib_umad',
  'rdma_ucm',
  'sch_netem',
] as const;

/** MTU of the network devices below the RDMA ones: 4096 bytes, the largest RDMA MTU, with headers. */
export const MTU_BYTES = 4200;

export const DEFAULT_DEVICES = 2;
export const MAX_DEVICES = 16;
export const DEFAULT_MEMORY_MIB = 2048;
export const MIN_MEMORY_MIB = 512;
export const DEFAULT_TIMEOUT_SECONDS = 900;
/** Size of the emulator's cache of translated code; node alone fills the default several times. */
export const TRANSLATION_CACHE_MIB = 512;

/** Exit codes of the command line: as `timeout` and `env` have them. */
export const EXIT_TIMEOUT = 124;
export const EXIT_OWN_FAILURE = 125;

/** Lines of the console shown when a machine ends without a result: a panic and its stack. */
export const SHOWN_CONSOLE_LINES = 60;
