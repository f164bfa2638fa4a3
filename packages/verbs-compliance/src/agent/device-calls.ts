import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import {
  type AccessOptions,
  attachDevice,
  attachRegion,
  type Device,
  type DeviceAttributes,
  type OpenDeviceOptions,
  openDevice,
} from '@rdmc/verbs';
import type { AgentState } from './state.js';

/** How a peer opens its device. */
export interface DeviceSource {
  /** Passed to `openDevice` unchanged. */
  readonly options?: OpenDeviceOptions;
  /** URL of a module with its own `openDevice(options)`; default: `@rdmc/verbs`. */
  readonly module?: string;
}

export interface OpenedDevice {
  readonly device: number;
  /** Handle of the device within its process, for `attach`. */
  readonly nativeHandle: number;
  readonly kind: string;
  readonly attributes: DeviceAttributes;
}

/** Resources of a process, to check that nothing stays behind. */
export interface Holdings {
  readonly threads: number;
  readonly descriptors: number;
  readonly sharedMappings: number;
  /** Paths of the files in /dev/shm that the process has open or mapped. */
  readonly sharedFiles: readonly string[];
}

function opened(state: AgentState, device: Device): OpenedDevice {
  return {
    device: state.add('device', device),
    nativeHandle: device.handle,
    kind: device.kind,
    attributes: { ...device.attributes },
  };
}

/** Calls about devices, protection domains and the peer's own thread or process. */
export function deviceCalls(state: AgentState) {
  return {
    async openDevice(source: DeviceSource): Promise<OpenedDevice> {
      const open = source.module
        ? ((await import(source.module)) as { openDevice: typeof openDevice }).openDevice
        : openDevice;
      return opened(state, await open(source.options));
    },
    attachDevice(args: { nativeHandle: number }): OpenedDevice {
      return opened(state, attachDevice(args.nativeHandle));
    },
    createProtectionDomain(args: { device: number }): number {
      return state.add('pd', state.get('device', args.device).allocateProtectionDomain());
    },
    close: (args: { handle: number }): Promise<void> => state.close(args.handle),
    reset: (args: { keep: readonly number[] }): Promise<void> => state.reset(args.keep),

    /** Writes into a region of an attached device through this thread's own view. */
    writeAttached(args: { device: number; nativeRegion: number; offset: number; bytes: Uint8Array }): void {
      const region = attachRegion(state.get('device', args.device), args.nativeRegion);
      region.view(args.offset, args.bytes.byteLength).set(args.bytes);
    },
    /** Passes options of any shape to every call with options; returns the codes of the errors. */
    async misspeltOptions(args: {
      device: number;
      pd: number;
      qp: number;
      options: object;
    }): Promise<string[]> {
      const device = state.get('device', args.device);
      const pd = state.get('pd', args.pd);
      const qp = state.get('qp', args.qp);
      const cq = device.createCompletionQueue({ depth: 4 });
      const attempts: (() => unknown)[] = [
        () => openDevice(args.options as OpenDeviceOptions),
        () => device.createCompletionQueue(args.options),
        () => pd.allocate(64, args.options as AccessOptions),
        () => pd.register(new Uint8Array(64), args.options as AccessOptions),
        () => pd.createQueuePair({ ...args.options, sendQueue: cq, receiveQueue: cq }),
        () => qp.connect(qp.address, args.options),
      ];
      const codes: string[] = [];
      for (const attempt of attempts) codes.push(await codeOf(attempt));
      await cq.close();
      return codes;
    },
    holdings(): Holdings {
      const mappings = readFileSync('/proc/self/maps', 'utf8').split('\n');
      const descriptors = readdirSync('/proc/self/fd');
      return {
        threads: readdirSync('/proc/self/task').length,
        descriptors: descriptors.length,
        sharedMappings: mappings.filter(isSharedMapping).length,
        sharedFiles: sharedFilesOf(mappings, descriptors),
      };
    },
    /** Ends the peer's process (or worker) at once, with everything open. */
    exit(args: { code: number }): void {
      process.exit(args.code);
    },
  };
}

function isSharedMapping(line: string): boolean {
  return line.includes('/memfd:') || line.includes('/dev/shm/');
}

function sharedFilesOf(mappings: readonly string[], descriptors: readonly string[]): string[] {
  const mapped = mappings.map((line) => line.slice(Math.max(0, line.indexOf('/'))));
  const open = descriptors.map((fd) => linkOf(`/proc/self/fd/${fd}`));
  return [...new Set([...mapped, ...open])].filter((path) => path.startsWith('/dev/shm/'));
}

/** Empty: the descriptor was closed meanwhile, such as the one that listed them. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

async function codeOf(attempt: () => unknown): Promise<string> {
  try {
    await attempt();
    return 'accepted';
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}
