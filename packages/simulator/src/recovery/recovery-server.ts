import type { PullMachine, PullRequest } from '@rdmc/tailwind/format';
import type { Clock } from '../clock.js';
import { bytesPerMicrosecond } from '../cluster.js';
import type { Link } from '../flow.js';
import type { Network } from '../network.js';
import { limit, Stage, start } from './job.js';
import type { RecoverySetting } from './options.js';

/** What one recovery has of its servers and of the dead log. */
export interface RecoveryParts {
  readonly setting: RecoverySetting;
  readonly clock: Clock;
  readonly network: Network;
  /** Processors that all share; empty if each thread has its own. */
  readonly shared: readonly Link[];
  readonly servers: readonly RecoveryServer[];
  /** Bytes of a segment. */
  bytesOf(segmentId: bigint): number;
  /** Part of the log's slots that an heir has: 0 to 1. */
  shareOf(heir: number): number;
  /** An heir has its part, and its own log has it. */
  recovered(): void;
}

/** One server that is left: a backup with a disk, a scanning thread and a port, and perhaps an heir with a thread. */
export class RecoveryServer {
  readonly #disk: Stage;
  readonly #scanner: Stage;
  readonly #replayer: Stage;
  readonly #out: readonly Link[];
  readonly #in: readonly Link[];
  /** By segment: those that wait for it, or undefined once it is scanned. */
  readonly #segments = new Map<bigint, (() => void)[] | undefined>();
  #machine: PullMachine | undefined;
  /** Parts that are not in this heir's own log yet. */
  #open = 0;
  #isRecovered = false;
  scanned = 0;
  served = 0;
  pulled = 0;

  constructor(
    private readonly parts: RecoveryParts,
    readonly id: number,
  ) {
    const { setting, clock, network, shared } = parts;
    const rate = bytesPerMicrosecond(setting.cluster.gbitPerSecond);
    this.#out = limit(`${id} out`, rate);
    this.#in = limit(`${id} in`, rate);
    this.#disk = new Stage(clock, network, limit(`disk of ${id}`, setting.diskRate));
    this.#scanner = new Stage(clock, network, [...limit(`scanner of ${id}`, 1), ...shared]);
    this.#replayer = new Stage(clock, network, [...limit(`thread of ${id}`, 1), ...shared]);
  }

  /** Microseconds in which its two threads had work. */
  get busy(): number {
    return this.#scanner.busy + this.#replayer.busy;
  }

  /** As an heir: pulls its part of every segment. */
  pull(machine: PullMachine): void {
    this.#machine = machine;
    this.#ask();
  }

  #ask(): void {
    for (const request of this.#machine!.next()) {
      this.#open += 1;
      this.parts.servers[request.source]!.serve(this, request);
    }
    if (this.#isRecovered || this.#open > 0 || !this.#machine!.isComplete) return;
    this.#isRecovered = true;
    this.parts.recovered();
  }

  /** As a backup: reads and scans the segment for the first heir that asks, and gives each its part. */
  serve(heir: RecoveryServer, { segmentId }: PullRequest): void {
    const { bytesOf, shareOf, network } = this.parts;
    const part = bytesOf(segmentId) * shareOf(heir.id);
    const give = () => {
      this.served += part;
      const path = heir === this ? [] : [...this.#out, ...heir.#in];
      start(network, path, part, () => heir.#arrived(segmentId, part));
    };
    if (!this.#segments.has(segmentId)) this.#scan(segmentId);
    const waiting = this.#segments.get(segmentId);
    if (waiting) waiting.push(give);
    else give();
  }

  #scan(segmentId: bigint): void {
    const { setting, bytesOf } = this.parts;
    const bytes = bytesOf(segmentId);
    this.#segments.set(segmentId, []);
    this.#disk.do(bytes, () => {
      this.#scanner.do((bytes / setting.objectBytes) * setting.costs.scan, () => {
        this.scanned += bytes;
        const waiting = this.#segments.get(segmentId)!;
        this.#segments.set(segmentId, undefined);
        for (const give of waiting) give();
      });
    });
  }

  #arrived(segmentId: bigint, part: number): void {
    const { setting } = this.parts;
    this.pulled += part;
    this.#machine!.arrived(0, segmentId);
    this.#replayer.do((part / setting.objectBytes) * setting.costs.replay, () => this.#append(part));
    this.#ask();
  }

  /** To the backups of its own log: one-sided writes, which cost the backups only their ports. */
  #append(part: number): void {
    const { setting, servers, network } = this.parts;
    let left = setting.replicas;
    const acknowledged = () => {
      left -= 1;
      if (left > 0) return;
      this.#open -= 1;
      this.#ask();
    };
    for (let replica = 1; replica <= setting.replicas; replica += 1) {
      const backup = servers[(this.id + replica) % servers.length]!;
      start(network, backup === this ? [] : [...this.#out, ...backup.#in], part, acknowledged);
    }
  }
}
