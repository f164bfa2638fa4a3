import { Buffer } from 'node:buffer';
import { Deferred, within } from '@rdmc/common';
import { PULL_WINDOW } from '../constants.js';
import { codeOf, invalidOption, messageOf, TailwindError } from '../errors.js';
import { type SegmentEntry, segmentEntries } from '../format/scan.js';
import type { NodeParts } from '../node-parts.js';
import { type Logger, onlyKnownOptions } from '../options.js';
import type { Division } from './division.js';
import { PullMachine, type PullRequest } from './pull-machine.js';
import { RecoveryConnections } from './recovery-connections.js';

/** The options of `logs.pull`. */
export interface PullOptions {
  /** What the leader's `recovery.divide` resolved with; it names this member as an heir. */
  readonly division: Division;
  /** Ends the pull. */
  readonly signal?: AbortSignal;
  /**
   * Gives the memory for a part: exactly that number of bytes. No other code may change them. Default: a new buffer for each. A process
   * with a large heap can give shared memory: V8 does not count it, and for the memory that it counts, it marks the whole heap.
   * Also called for a read that was under way when the pull ended: memory that the next pull uses must not be given then.
   */
  readonly allocate?: (byteLength: number) => Buffer;
  /** Default: the node's. */
  readonly logger?: Logger;
}

const KNOWN = ['division', 'signal', 'allocate', 'logger'];

/** An heir's part of one segment. */
export interface PulledPart {
  /** Id of the segment in the dead log. */
  readonly segmentId: bigint;
  /** The heir's objects and tombstones with their headers, in the order of the segment. The heir's own copy. */
  readonly bytes: Buffer;
  /** Iterates the entries; they are parts of `bytes`. */
  entries(): Generator<SegmentEntry, void>;
}

/**
 * Reads this heir's part of every segment from the backups, several at a time. Yields them as they arrive, in any order: the
 * highest version of a key counts.
 * @throws TailwindError ERR_RDMC_LOG_INCOMPLETE, ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION where `allocate` gives memory of
 * another length; what `allocate` throws; the signal's reason
 */
export async function* pull(parts: NodeParts, options: PullOptions): AsyncGenerator<PulledPart, void> {
  onlyKnownOptions('logs.pull', options, KNOWN);
  const { division, signal, allocate = Buffer.allocUnsafe, logger = parts.logger } = options;
  signal?.throwIfAborted();
  const puller = new Puller(parts, division, allocate, logger);
  try {
    puller.ask();
    for (;;) {
      const part = await puller.next(signal);
      if (!part) return;
      yield part;
    }
  } finally {
    await puller.close();
  }
}

class Puller {
  readonly #machine: PullMachine;
  readonly #connections: RecoveryConnections;
  readonly #arrived: PulledPart[] = [];
  #changed = new Deferred<void>();
  #failure: unknown;
  #isClosed = false;

  constructor(
    private readonly parts: NodeParts,
    private readonly division: Division,
    private readonly allocate: (byteLength: number) => Buffer,
    private readonly logger: Logger | undefined,
  ) {
    this.#machine = new PullMachine(division, PULL_WINDOW);
    this.#connections = new RecoveryConnections(parts, division.logId);
  }

  /** Sends the requests that may be sent now. */
  ask(): void {
    if (this.#isClosed) return;
    try {
      for (const request of this.#machine.next()) void this.#request(request);
    } catch (error) {
      this.#failure ??= error;
    }
  }

  /** The next part; undefined when all were returned. */
  async next(signal: AbortSignal | undefined): Promise<PulledPart | undefined> {
    for (;;) {
      signal?.throwIfAborted();
      const part = this.#arrived.shift();
      if (part || (this.#machine.isComplete && this.#failure === undefined)) return part;
      if (this.#failure !== undefined) throw this.#failure;
      await within(this.#changed.promise, signal ? { signal } : {});
      this.#changed = new Deferred();
    }
  }

  /** Requests under way end by themselves, and nothing comes of them. */
  close(): Promise<void> {
    this.#isClosed = true;
    return this.#connections.close();
  }

  async #request(request: PullRequest): Promise<void> {
    const { attempt } = this.division;
    const { segmentId, source } = request;
    try {
      const bytes = await this.#fetch(request);
      if (this.#machine.arrived(attempt, segmentId)) {
        this.#arrived.push({ segmentId, bytes, entries: () => segmentEntries(bytes, bytes.length) });
      }
    } catch (error) {
      const reason = messageOf(error);
      this.logger?.warn?.(
        { member: source, segmentId: String(segmentId), reason },
        'a part of a log was not read',
      );
      this.#machine.failed(request, reason);
    }
    this.ask();
    this.#changed.resolve();
  }

  /** The heir's own failure ends the pull: no other backup can help, and bytes behind a part would be read as entries. */
  #memoryFor(byteLength: number): Buffer {
    try {
      const bytes = this.allocate(byteLength);
      if (bytes.length === byteLength) return bytes;
      throw invalidOption(`allocate: gave ${bytes.length} bytes for ${byteLength}`);
    } catch (error) {
      this.#failure ??= error;
      throw error;
    }
  }

  async #fetch({ segmentId, source }: PullRequest): Promise<Buffer> {
    const { plane, link } = this.parts;
    const { logId, attempt } = this.division;
    const ref = { logId, segmentId };
    const connection = await this.#connections.get(source);
    const { address, rkey, byteLength } = await connection.part(ref, attempt);
    if (byteLength === 0) return Buffer.alloc(0);
    if (connection.dropped) throw new TailwindError('ERR_RDMC_MEMBER_LOST', 'the connection has ended');
    const region = await plane.protectionDomain.allocate(byteLength);
    try {
      const { pair } = connection;
      await link.commands.read({ pair, local: region.sge(0, byteLength), remote: { address, rkey } });
      // Not before the read: the read may end after the pull. The heir may give the memory of this pull to the next one then.
      const bytes = this.#memoryFor(byteLength);
      bytes.set(region.view(0, byteLength));
      // The backup frees what all heirs have; what this one does not hear of ends with the attempt.
      connection.read(ref, attempt).catch(() => {});
      return bytes;
    } catch (error) {
      if (codeOf(error) === 'ERR_RDMC_MEMBER_LOST') await this.#connections.drop(source, connection);
      throw error;
    } finally {
      await region.close();
    }
  }
}
