import type { NodeWith } from '@rdmc/node';
import { decodeObject, decodeTombstone, EntryType, type Log, type tailwind } from '@rdmc/tailwind';
import type { CoordinatorClient } from '@rdmc/tailwind/coordinator';
import type { SegmentEntry } from '@rdmc/tailwind/format';
import { tearWrites } from '@rdmc/verbs';
import type { FailedFlushes } from './failed-flushes.js';
import { KeyValues } from './key-values.js';
import type { Ask, Setup } from './messages.js';

type LogsNode = NodeWith<{ readonly logs: ReturnType<typeof tailwind> }>;

/** A member that is a backup of others, and becomes primary on request. */
export class Server {
  readonly #values = new KeyValues();
  readonly #authority: CoordinatorClient;

  constructor(
    private readonly setup: Setup,
    private readonly node: LogsNode,
    private readonly failedFlushes: FailedFlushes,
  ) {
    this.#authority = node.logs.coordinator(setup.coordinator);
  }

  async answer(ask: Ask): Promise<unknown> {
    switch (ask.do) {
      case 'lead':
        return this.#serve(await this.#createLog());
      case 'take-over':
        return this.#takeOver(BigInt(ask.logId));
      case 'apply':
        return this.#values.apply(ask.key, ask.action);
      case 'apply-together':
        return this.#values.applyTogether(ask.keys, ask.values);
      case 'backups':
        return this.#values.log?.backups ?? [];
      case 'failed-flushes':
        return this.failedFlushes.count;
      case 'tear':
        return tearWrites(this.node.device, { afterBytes: ask.afterBytes, kill: true });
    }
  }

  async #createLog(): Promise<Log> {
    const { setup, node } = this;
    const { logId, incarnation } = await this.#authority.createLog();
    return node.logs.create({
      authority: this.#authority,
      logId,
      incarnation,
      backups: this.#others(),
      replicas: setup.replicas,
      segmentBytes: setup.segmentBytes,
      maxSegments: setup.maxSegments,
      retryTimeoutMs: 1000,
      ...(setup.cleans && { cleaner: this.#values.cleaner() }),
    });
  }

  async #serve(log: Log): Promise<string> {
    this.#values.serve(log, await this.#authority.lease(log.id));
    return String(log.id);
  }

  /** The new owner serves once the replayed data is durable in its own log and its ownership is recorded. */
  async #takeOver(logId: bigint): Promise<string> {
    const { node, setup } = this;
    const backups = [setup.id, ...this.#others()];
    const recovery = await node.logs.recover({ coordinator: this.#authority, logId, backups });
    const newest = new Map<string, number>();
    for await (const segment of recovery.segments()) {
      for (const entry of segment.entries()) this.#replay(entry, newest);
    }
    const log = await this.#createLog();
    try {
      await this.#values.replayInto(log);
      await recovery.finish([log.id]);
    } catch (error) {
      await log.close();
      throw error;
    }
    return this.#serve(log);
  }

  /** The highest version of a key counts, be it an object or a tombstone. */
  #replay({ type, payload }: SegmentEntry, newest: Map<string, number>): void {
    if (type !== EntryType.OBJECT && type !== EntryType.TOMBSTONE) return;
    const isObject = type === EntryType.OBJECT;
    const { version, key: bytes } = isObject ? decodeObject(payload) : decodeTombstone(payload);
    const key = Buffer.from(bytes).toString();
    if (version <= (newest.get(key) ?? -1)) return;
    newest.set(key, version);
    const { index } = this.#values;
    this.#values.version = Math.max(this.#values.version, version);
    if (isObject) {
      const value = Buffer.from(decodeObject(payload).value).toString();
      index.set(key, { value, version, place: { index: 0 } });
    } else index.delete(key);
  }

  #others(): number[] {
    const { members, coordinator, id } = this.setup;
    return members.map((member) => member.id).filter((other) => other !== id && other !== coordinator);
  }
}
