/** The end of a cast that was given up, at a receiver whose disk is slow. */

import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { HEARTBEAT_MS, MAX_UNSYNCED_FILES, WRITER_HANGS_MS } from '../src/constants.js';
import { untilQuiet } from '../src/receiver/until-quiet.js';
import { answerCalls } from '../src/worker-calls.js';
import { StreamWriter } from '../src/writer/stream-writer.js';
import type { SyncPort } from '../src/writer/sync-port.js';
import { writerCalls } from '../src/writer/writer-calls.js';
import { WriterSigns } from '../src/writer/writer-signs.js';
import { CHECKSUM } from './support/local-cast.js';
import { visible } from './support/receivers.js';
import { namesIn } from './support/tree.js';
import { directory, file, whole } from './support/writer-records.js';

// Other files have loaded these modules, and will use them again, without the mock.
vi.hoisted(() => vi.resetModules());
afterAll(() => void vi.resetModules());
/** The memory of messages: by the handles of its regions. */
const memory = vi.hoisted(() => ({ messages: [] as Buffer[] }));
vi.mock('../src/worker-regions.js', () => ({
  WorkerRegions: class {
    buffer(handle: number): Buffer {
      return memory.messages[handle]!;
    }
  },
}));

/** A disk whose syncs wait for the event 'works'. */
class HangingDisk extends EventEmitter implements SyncPort {
  readonly #working = once(this, 'works');
  file = (): Promise<void> => this.#sync();
  data = (): Promise<void> => this.#sync();
  directory = (): Promise<void> => this.#sync();

  async #sync(): Promise<void> {
    this.emit('asked');
    await this.#working;
  }
}

/** The calls of a writer thread, run in this thread. */
function writerWith(disk: SyncPort, messages: readonly Buffer[]) {
  memory.messages = [...messages];
  const signs = new Int32Array(WriterSigns.COUNT);
  const { calls, ahead } = writerCalls(signs, disk);
  const answers = new EventEmitter();
  const port = Object.assign(new EventEmitter(), {
    postMessage: ({ id, ...answer }: { id: number }) => void answers.emit(String(id), answer),
  });
  answerCalls(calls, port as unknown as Parameters<typeof answerCalls>[1], ahead);
  let calledSoFar = 0;
  const call = async (name: string, argument?: unknown): Promise<unknown> => {
    const id = calledSoFar++;
    const answered = once(answers, String(id));
    port.emit('message', { id, name, argument });
    return (await answered)[0];
  };
  return { signs, call };
}

const tree = [
  directory(0, 'new', 0o755),
  directory(1, 'new/sub', 0o500),
  ...file(2, 'new/sub/one'),
  ...file(3, 'new/sub/two'),
];

describe('a cast that is given up', () => {
  it.each([
    ['store', Array.from({ length: MAX_UNSYNCED_FILES }, (_, i) => file(4 + i, `new/sub/${i}`)).flat()],
    ['finish', []],
  ])('while %s waits for a disk that hangs: the call ends, and nothing is visible', async (waits, more) => {
    const inside = temporaryDirectory();
    const disk = new HangingDisk();
    const { signs, call } = writerWith(disk, [whole(...tree, ...more)]);
    await call('open', { directory: inside, castId: randomUUID(), checksum: CHECKSUM, fsync: true });
    await call('attach', { device: 0 });
    const asked = once(disk, 'asked');
    const stored = call('store', { region: 0, byteLength: 0, sequence: 0 });
    const waiting = waits === 'store' ? stored : call('finish', { messages: 1 });
    await asked;
    expect(visible(inside)).toEqual([]);
    Atomics.store(signs, WriterSigns.GIVEN_UP, 1);
    const closed = call('close');
    expect(await waiting).toMatchObject({ error: { code: 'ERR_RDMC_ABORTED' } });
    disk.emit('works');
    expect(await closed).toEqual({ result: undefined });
    expect(namesIn(inside)).toEqual([]);
  });

  it('stores nothing more: neither waiting messages, nor the rest of the current one', async () => {
    const inside = temporaryDirectory();
    let isGivenUp = false;
    const id = randomUUID();
    const one = join(inside, `.rdmc-cast-${id}/tree/new/sub/one`);
    const active = (): void => {
      isGivenUp = existsSync(one);
    };
    const writer = new StreamWriter(inside, id, CHECKSUM, { active, isGivenUp: () => isGivenUp });
    expect(() => writer.store(0, whole(...tree))).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_ABORTED' }),
    );
    expect(existsSync(one)).toBe(true);
    expect(existsSync(join(one, '../two'))).toBe(false);
    writer.close();
    expect(namesIn(inside)).toEqual([]);

    const { signs, call } = writerWith(new HangingDisk(), [whole(...tree)]);
    const other = temporaryDirectory();
    await call('open', { directory: other, castId: randomUUID(), checksum: CHECKSUM, fsync: false });
    await call('attach', { device: 0 });
    Atomics.store(signs, WriterSigns.GIVEN_UP, 1);
    const refused = { error: { code: 'ERR_RDMC_ABORTED' } };
    expect(await call('store', { region: 0, byteLength: 0, sequence: 0 })).toMatchObject(refused);
    await call('close');
    expect(namesIn(other)).toEqual([]);
  });
});

describe("the wait for a writer's end", () => {
  it('continues while the writer makes progress, and ends when it hangs', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    let done = 0;
    let isOver = false;
    void untilQuiet(new Promise(() => {}), () => done, WRITER_HANGS_MS).then(() => {
      isOver = true;
    });
    for (let i = 0; i < 10; i += 1) {
      await vi.advanceTimersByTimeAsync(WRITER_HANGS_MS - 2 * HEARTBEAT_MS);
      done += 1;
      await vi.advanceTimersByTimeAsync(HEARTBEAT_MS);
    }
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(WRITER_HANGS_MS + HEARTBEAT_MS);
    expect(isOver).toBe(true);
  });
});
