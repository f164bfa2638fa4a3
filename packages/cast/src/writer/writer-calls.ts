import { givenUp, protocolError } from '../errors.js';
import { packStates } from '../manifest/packed-states.js';
import { memoryTaker } from '../memory/memory-taker.js';
import { Arrivals } from './arrivals.js';
import type { SurplusReport } from './comparison.js';
import { directoryCalls } from './directory-calls.js';
import { DurableWriter } from './durable-writer.js';
import { isInMemory } from './file-system-kind.js';
import type {
  BlocksOrder,
  EnterOrder,
  ExamineOrder,
  FinishOrder,
  HeadOrder,
  OpenOrder,
  StoreOrder,
} from './orders.js';
import { SinkPort } from './sink-port.js';
import { SinkTaker } from './sink-taker.js';
import { SinkWriter, type SinkWriterPorts } from './sink-writer.js';
import type { StoredReport, StoredSoFar } from './stored-report.js';
import { StreamWriter } from './stream-writer.js';
import type { SyncPort } from './sync-port.js';
import { WriterSigns } from './writer-signs.js';

type Writer = StreamWriter | DurableWriter | SinkWriter;

/** What a receiver says when it has compared all entries. */
export interface ComparedReport extends SurplusReport {
  /** Bytes of interrupted casts that are not sent again. */
  readonly resumedBytes: number;
  /** Bytes that the files which it lacks may take; undefined where that is as before the comparison. */
  readonly roomBytes: number | undefined;
}

/** Call it after the last piece of the manifest. */
function comparedReport(writer: Writer): ComparedReport {
  const report = writer.surplus();
  const { resumedBytes, roomBytes } = writer;
  return { ...report, resumedBytes, roomBytes };
}

/** Opens a cast. */
function writerOf(order: OpenOrder, sync: SyncPort, ports: SinkWriterPorts): Writer {
  const { directory, sinks, memory, castId, checksum, fsync, policy, resume, archive } = order;
  const all = { ...ports, policy, resume, archive };
  const taker = sinks ? new SinkTaker(new SinkPort(sinks)) : memory && memoryTaker(memory, castId);
  if (taker) return new SinkWriter(taker, checksum, all);
  if (fsync) {
    const inMemory = isInMemory(directory!);
    return new DurableWriter(directory!, castId, checksum, sync, { ...all, inMemory });
  }
  return new StreamWriter(directory!, castId, checksum, all);
}

/**
 * The calls of a writer thread, and what it does as soon as a call arrives: `close` ends an earlier call that waits for a
 * slow disk.
 */
export function writerCalls(signs: Int32Array, sync: SyncPort) {
  let writer: Writer | undefined;
  const active = (): void => void Atomics.add(signs, WriterSigns.ACTIVITY, 1);
  const isGivenUp = (): boolean => Atomics.load(signs, WriterSigns.GIVEN_UP) !== 0;
  const ports = { active, isGivenUp };
  const throwIfGivenUp = (): void => {
    if (isGivenUp()) throw givenUp();
  };
  const arrivals = new Arrivals(() => {
    active();
    throwIfGivenUp();
  });

  const calls = {
    open(order: OpenOrder): { readonly freeBytes: number } {
      writer = writerOf(order, sync, ports);
      return { freeBytes: writer.freeBytes };
    },

    attach({ device }: { readonly device: number }): void {
      arrivals.attach(device);
    },

    /** Returns the states of the entries of a piece of the manifest, packed. */
    examine({ first, count, data }: ExamineOrder): string {
      throwIfGivenUp();
      return packStates(writer!.examine(first, count, data));
    },

    surplus(_: undefined): ComparedReport {
      throwIfGivenUp();
      return comparedReport(writer!);
    },

    enterRun: (order: EnterOrder): void => arrivals.enterRun(order),

    /** Returns which blocks an older file has: see `delta/hash-frames.ts`. */
    compareBlocks({ index, first, data }: BlocksOrder): string {
      throwIfGivenUp();
      return writer!.compareBlocks(index, first, data);
    },

    /** Returns the blocks of a file that are wanted, with the last piece of its header. */
    wanted(order: HeadOrder): string | undefined {
      throwIfGivenUp();
      if (!(writer instanceof SinkWriter)) throw protocolError('a header came, which was not asked for');
      return writer.head(order);
    },

    /** Entries that could not be built from older files, in the messages stored so far. */
    unbuilt(_: undefined): number[] {
      throwIfGivenUp();
      return writer!.unbuilt;
    },

    /** Returns the totals of files that have their names so far. */
    async store(order: StoreOrder): Promise<StoredSoFar> {
      throwIfGivenUp();
      await writer!.store(order.sequence, arrivals.message(order));
      return writer!.stored;
    },

    async finish({ messages, remove }: FinishOrder): Promise<StoredReport> {
      throwIfGivenUp();
      return writer!.finish(messages, remove);
    },

    async close(_: undefined): Promise<void> {
      await writer?.close();
    },

    ...directoryCalls,
  };
  return { calls, ahead: { close: () => writer?.giveUp() } };
}

export type WriterCalls = ReturnType<typeof writerCalls>['calls'];
