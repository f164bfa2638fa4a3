import { randomUUID } from 'node:crypto';
import { EntryState } from '../../src/manifest/entry-states.js';
import type { ComparisonPolicy } from '../../src/manifest/policy.js';
import { type PlannedGroup, planGroups } from '../../src/plan-groups.js';
import { type BlockedFile, BlockReader } from '../../src/reader/block-reader.js';
import type { Entry } from '../../src/reader/entries.js';
import { ManifestReader } from '../../src/reader/manifest-reader.js';
import { resolveRoots } from '../../src/reader/roots.js';
import { Selected, withDirectories } from '../../src/reader/selection.js';
import { StreamReader } from '../../src/reader/stream-reader.js';
import { Survey } from '../../src/reader/survey.js';
import { BlockAnswers } from '../../src/sender/block-answers.js';
import { deltaOf } from '../../src/sender/comparison.js';
import type { StoredReport } from '../../src/writer/stored-report.js';
import { StreamWriter } from '../../src/writer/stream-writer.js';
import type { WriterPorts } from '../../src/writer/writer-ports.js';
import { allMessages, CHECKSUM, MESSAGE_BYTES } from './local-cast.js';
import { policy } from './policy.js';

interface LocalReceiver {
  readonly writer: StreamWriter;
  readonly states: Uint8Array;
  readonly blocks: BlockAnswers;
  messages: number;
}

/** A cast that compares blocks, without processes and connections. */
export class LocalDelta implements Disposable {
  readonly entries: readonly Entry[];
  readonly receivers: readonly LocalReceiver[];
  readonly files: readonly BlockedFile[];
  /** Bytes of all messages so far. */
  sentBytes = 0;
  readonly #manifest: ManifestReader;
  readonly #blocks: BlockReader;

  /** @param ports of each writer */
  constructor(
    path: string,
    directories: readonly string[],
    private readonly ports: WriterPorts = {},
    private readonly changes: Partial<ComparisonPolicy> = {},
  ) {
    this.entries = new Survey(resolveRoots([Buffer.from(path)])).entries;
    this.#manifest = new ManifestReader(this.entries, undefined);
    this.#blocks = new BlockReader(this.entries, CHECKSUM);
    this.receivers = directories.map((directory) => this.#examined(directory));
    const candidates = [...this.entries.keys()].filter((entry) =>
      this.receivers.some(({ states }) => states[entry] === EntryState.OLDER),
    );
    this.files = this.#blocks.files(Uint32Array.from(candidates)).filter((file) => this.#compare(file));
  }

  /** The groups for what the receivers lack. */
  plan(): PlannedGroup[] {
    return planGroups(
      this.receivers.map(({ states }) => states),
      this.#manifest.costs(),
      this.files.map((file) => deltaOf(file, this.receivers)),
    );
  }

  /** The stream of a group. */
  reader({ selection, sentBlocks }: Pick<PlannedGroup, 'selection' | 'sentBlocks'>): StreamReader {
    const all = withDirectories(this.entries, selection);
    return new StreamReader(this.entries, CHECKSUM, {
      selection: all,
      blocks: this.#blocks.sent(sentBlocks),
    });
  }

  /** Sends one stream to receivers. */
  send(messages: readonly Buffer[], members: readonly number[]): void {
    for (const [sequence, message] of messages.entries()) {
      this.sentBytes += message.length;
      for (const member of members) {
        const receiver = this.receivers[member]!;
        receiver.writer.store(sequence, Buffer.from(message));
        receiver.messages += 1;
      }
    }
  }

  sendAll(messageBytes = MESSAGE_BYTES): void {
    for (const group of this.plan()) this.send(allMessages(this.reader(group), messageBytes), group.members);
  }

  /** Sends files that could not be built, whole, to the only receiver. */
  resend(entries: readonly number[], messageBytes = MESSAGE_BYTES): void {
    const selection = new Uint8Array(this.entries.length);
    for (const entry of entries) selection[entry] = Selected.UNCHANGED;
    this.send(allMessages(this.reader({ selection, sentBlocks: new Map() }), messageBytes), [0]);
  }

  finish(): StoredReport[] {
    return this.receivers.map(({ writer, messages }) => writer.finish(messages));
  }

  [Symbol.dispose](): void {
    this.#blocks.close();
    for (const { writer } of this.receivers) writer.close();
  }

  #examined(directory: string): LocalReceiver {
    const writer = new StreamWriter(directory, randomUUID(), CHECKSUM, {
      policy: { ...policy, remove: false, ...this.changes },
      ...this.ports,
    });
    const states = new Uint8Array(this.entries.length);
    for (let first = 0; first < states.length; ) {
      const { count, data } = this.#manifest.piece(first).piece;
      states.set(writer.examine(first, count, data), first);
      first += count;
    }
    return { writer, states, blocks: new BlockAnswers(), messages: 0 };
  }

  #compare(file: BlockedFile): boolean {
    const { index } = file;
    for (let first = 0; first < file.blocks; ) {
      const hashed = this.#blocks.hashes(index, first);
      if (!hashed) return false;
      for (const { writer, blocks, states } of this.receivers) {
        if (states[index] !== EntryState.OLDER) continue;
        void blocks.expect(file, first, hashed.count);
        blocks.held({ type: 'held', index, first, data: writer.compareBlocks(index, first, hashed.data) });
      }
      first += hashed.count;
    }
    return true;
  }
}
