import type { CompletionHandler, ProtocolContext } from '@rdmc/dataplane';
import {
  CompletionWord,
  type Device,
  Layout,
  type MemoryRegion,
  openDevice,
  type ProtectionDomain,
  remoteKey,
} from '@rdmc/verbs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { WATCH_COUNTS_MS, WATCH_GRACE_MS, WATCH_LATEST_MS } from '../src/constants.js';
import type { GroupRecords, GroupSetup, TableAddress } from '../src/records.js';
import { rowLayout } from '../src/stable/table-layout.js';
import { TableSide } from '../src/worker/table-side.js';

const LAYOUT = rowLayout(1);
const RETRY_MS = 1000;
const STATE_LOOKS = Math.ceil((RETRY_MS + WATCH_GRACE_MS + 1) / WATCH_LATEST_MS);
const COUNT_LOOKS = Math.ceil((RETRY_MS + WATCH_GRACE_MS + WATCH_COUNTS_MS + 1) / WATCH_LATEST_MS);

let device: Device;
let region: MemoryRegion;

/** The table of the second of three members, on a device that completes nothing by itself. */
async function tableSide({ kind = 'infiniband' } = {}) {
  device = await openDevice({ device: 'soft' });
  Object.defineProperty(device, 'kind', { value: kind });
  const domain: ProtectionDomain = device.allocateProtectionDomain();
  region = await domain.allocate(LAYOUT.ownBytes);
  const words = new Int32Array(region.view().fill(0).buffer, region.view().byteOffset, LAYOUT.ownBytes / 4);
  const handlers: CompletionHandler[] = [];
  const queuePair = {
    postReceive: () => {},
    connect: async () => {},
    modifyToError: () => {},
    close: async () => {},
  };
  const submission = {
    ...{ begin: vi.fn(), remote: () => {}, immediate: () => {}, sge: () => {} },
  };
  const context = {
    ...{ device, submission, detach: () => {} },
    protectionDomain: { createQueuePair: () => queuePair },
    attach: (_queuePair: unknown, handler: CompletionHandler) => handlers.push(handler),
  };
  const broke = vi.fn();
  const host = { advanceSoon: () => {}, tellTable: () => {}, tableBroke: broke };
  const group = { rank: 1, retryTimeoutMs: RETRY_MS, rings: null };
  const side = new TableSide(
    context as unknown as ProtocolContext<GroupRecords>,
    { own: region.handle, links: 2, senders: 1 },
    group as GroupSetup,
    host,
  );
  const address = { queue: {}, row: { address: 0, rkey: remoteKey(1) } } as unknown as TableAddress;
  for (const link of [0, 1]) {
    side.createQueue(link);
    await side.connect(link, address);
  }
  const completion = new Uint32Array(Layout.COMPLETION_WORDS);
  // Of a notice.
  completion[CompletionWord.ID_LOW] = 2;
  return {
    side,
    broke,
    writes: () => submission.begin.mock.calls.length,
    count: (messages: number) => {
      words[LAYOUT.count] = messages;
      side.advance();
    },
    state: (sequence: number) => {
      words[LAYOUT.sequence] = sequence;
      side.advance();
    },
    complete: (link: number) => {
      handlers[link]!.onCompletion(completion, 0);
      side.advance();
    },
    look: (times: number) => {
      let goesOn = true;
      for (let look = 0; look < times; look += 1) goesOn = side.look(WATCH_LATEST_MS);
      return goesOn;
    },
  };
}

afterEach(async () => {
  await region.close();
  await device.close();
});

describe('the watch of the table, on a device that may lose a request', () => {
  it('reports the link of a WRITE of counts that does not complete, once and after a long time', async () => {
    const { side, broke, count, look } = await tableSide();
    expect(side.isBusy).toBe(false);
    count(1);
    expect(side.isBusy).toBe(true);
    expect(look(COUNT_LOOKS - 1)).toBe(true);
    expect(broke).not.toHaveBeenCalled();
    expect(look(1)).toBe(false);
    expect(look(1)).toBe(false);
    // Link 0 leads to the root, which does not get counts.
    expect(broke.mock.calls).toEqual([[1, true, expect.objectContaining({ status: 'RETRY_EXCEEDED' })]]);
  });

  it('begins again with each WRITE', async () => {
    const { side, broke, writes, count, complete, look } = await tableSide();
    count(1);
    look(COUNT_LOOKS - 1);
    count(2);
    expect(writes()).toBe(1);
    complete(1);
    expect(writes()).toBe(2);
    look(COUNT_LOOKS - 1);
    expect(broke).not.toHaveBeenCalled();
    complete(1);
    expect(side.isBusy).toBe(false);
  });

  it('waits for a state for the retry time-out, also behind a WRITE of counts that has waited longer', async () => {
    const { broke, count, state, look } = await tableSide();
    count(1);
    look(COUNT_LOOKS - 1);
    state(1);
    look(STATE_LOOKS - 1);
    expect(broke).not.toHaveBeenCalled();
    expect(look(1)).toBe(false);
    expect(broke.mock.calls.map(([link]) => link)).toEqual([0, 1]);
  });

  it('is not needed where the device completes every request', async () => {
    const { side, broke, count, state, look } = await tableSide({ kind: 'soft' });
    count(1);
    expect(side.isBusy).toBe(false);
    state(1);
    expect(look(2 * COUNT_LOOKS)).toBe(false);
    expect(broke).not.toHaveBeenCalled();
  });
});
