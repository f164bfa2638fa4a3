import type { AccessOptions, ConnectOptions, DeviceAttributes } from '@rdmc/verbs';
import type { CallArguments, CallName, CallResult } from '../agent/agent.js';
import type { DeviceSource, OpenedDevice } from '../agent/device-calls.js';
import type { QueuePairSettings } from '../agent/queue-calls.js';
import type { Link } from '../link.js';
import { End } from './end.js';
import { PeerRegion } from './region.js';

export const ALL_ACCESS: AccessOptions = { remoteWrite: true, remoteRead: true, remoteAtomic: true };

export interface EndOptions extends QueuePairSettings {
  readonly cqDepth?: number;
  readonly cq?: number;
  readonly pd?: number;
  readonly channel?: number;
  readonly connect?: ConnectOptions;
}

/** One of the two sides of a test: a device behind an agent, wherever that runs. */
export class Peer {
  #pd: Promise<number> | undefined;

  private constructor(
    readonly label: string,
    readonly link: Link,
    private readonly opened: OpenedDevice,
  ) {}

  static async open(label: string, link: Link, source: DeviceSource): Promise<Peer> {
    return new Peer(label, link, await link.call('openDevice', source));
  }

  get device(): number {
    return this.opened.device;
  }
  /** The device's handle within its process. */
  get nativeHandle(): number {
    return this.opened.nativeHandle;
  }
  get kind(): string {
    return this.opened.kind;
  }
  get attributes(): DeviceAttributes {
    return this.opened.attributes;
  }

  call<N extends CallName>(name: N, args: CallArguments<N>): Promise<CallResult<N>> {
    const answer = this.link.call(name, args);
    // A failed test does not await its other calls; their rejections are not separate errors.
    answer.catch(() => undefined);
    return answer;
  }

  /** The protection domain of this test. */
  pd(): Promise<number> {
    this.#pd ??= this.newPd();
    return this.#pd;
  }

  newPd(): Promise<number> {
    return this.call('createProtectionDomain', { device: this.device });
  }

  async region(byteLength: number, access = ALL_ACCESS, pd?: number): Promise<PeerRegion> {
    const info = await this.call('allocate', { pd: pd ?? (await this.pd()), byteLength, access });
    return new PeerRegion(this, info);
  }

  async registered(byteLength: number, access = ALL_ACCESS): Promise<PeerRegion> {
    const info = await this.call('register', { pd: await this.pd(), byteLength, access });
    return new PeerRegion(this, info);
  }

  completionQueue(depth = 1024, channel?: number): Promise<number> {
    return this.call('createCompletionQueue', {
      device: this.device,
      depth,
      ...(channel === undefined ? {} : { channel }),
    });
  }

  /** A queue pair that is not connected yet. */
  async end(options: EndOptions = {}): Promise<End> {
    const { cqDepth, cq: shared, pd, channel, connect, ...settings } = options;
    const cq = shared ?? (await this.completionQueue(cqDepth, channel));
    const info = await this.call('createQueuePair', { pd: pd ?? (await this.pd()), cq, ...settings });
    return new End(this, cq, info);
  }

  /** Closes everything but the device. */
  async reset(): Promise<void> {
    this.#pd = undefined;
    await this.call('reset', { keep: [this.device] });
  }
}

/**
 * How long the peer's device may be silent: on a busy machine its process may wait for a processor for seconds. Where a device finds
 * out only so that its peer is gone, tests take that long.
 */
const PATIENT: ConnectOptions = { retryTimeoutMs: 5_000 };

/** Connects two queue pairs, each to the other. */
export async function joinEnds(
  one: End,
  other: End,
  options: { one?: ConnectOptions | undefined; other?: ConnectOptions | undefined } = {},
): Promise<void> {
  await Promise.all([
    one.connect(other.address, { ...PATIENT, ...options.one }),
    other.connect(one.address, { ...PATIENT, ...options.other }),
  ]);
}

/** A queue pair at each peer, connected; the same options for both unless `second` gives the other's. */
export async function connected(
  a: Peer,
  b: Peer,
  options: EndOptions = {},
  second: EndOptions = options,
): Promise<[End, End]> {
  const [one, other] = await Promise.all([a.end(options), b.end(second)]);
  await joinEnds(one, other, { one: options.connect, other: second.connect });
  return [one, other];
}
