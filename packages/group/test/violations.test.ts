import { describe, expect, it } from 'vitest';
import { HEADER_BYTES, HEADER_WORDS } from '../src/constants.js';
import { NO_KEY } from '../src/worker/block-range.js';
import { createCounters } from '../src/worker/counters.js';
import { HEADER_AHEAD, writeHeader } from '../src/worker/header.js';
import { GroupMachine } from '../src/worker/machine.js';
import { type GroupPort, ProtocolViolation } from '../src/worker/port.js';
import { oneGroupsBuffers } from './support/simulated-group.js';

const WINDOW = 4;
const MAX_BLOCK = 16;
/** A message of three blocks. */
const FORTY = { byteLength: 40, blockBytes: MAX_BLOCK, number: 0 };

/** Rank 1 of a chain of three: it receives blocks from pair 0, and sends them to pair 1. */
function relay({ skipsNumbers = false, bufferBytes = MAX_BLOCK } = {}) {
  const headers = new Uint32Array(2 * WINDOW * HEADER_WORDS);
  const posted: { pair: number; slot: number }[] = [];
  const port: GroupPort = {
    postReceive: (pair, slot) => posted.push({ pair, slot }),
    postSend: () => {},
    receiveAnnouncement: () => {},
    announce: () => {},
    copy: () => {},
    incoming: () => {},
    finished: () => {},
  };
  const machine = new GroupMachine(
    {
      topology: { algorithm: 'chain', nodes: 3, rank: 1 },
      neighbours: [0, 2],
      firstPair: 0,
      receiveWindow: WINDOW,
      sendWindow: WINDOW,
      maxBlockBytes: MAX_BLOCK,
      skipsNumbers,
      headers,
      counters: createCounters(),
    },
    port,
  );
  machine.start(oneGroupsBuffers(bufferBytes));
  machine.advance();
  return { machine, headers, posted };
}

describe('violations of the wire protocol', () => {
  it('accepts a message that follows the schedule', () => {
    const { machine, headers, posted } = relay();
    expect(posted).toEqual([{ pair: 0, slot: 0 }]);
    writeHeader(headers, 0, FORTY, 0);
    machine.blockArrived(0, 0, HEADER_BYTES + MAX_BLOCK);
    machine.place(0, 1000, NO_KEY);
    machine.advance();
    // The two other blocks, and the first one of the next message.
    expect(posted).toHaveLength(4);
    writeHeader(headers, posted[1]!.slot, FORTY, 1);
    machine.blockArrived(posted[1]!.slot, 1, HEADER_BYTES + MAX_BLOCK);
  });

  it.each([
    ['another block', { immediate: 1 }],
    ['another block in the header', { block: 1 }],
    ['too few bytes', { bytes: HEADER_BYTES + 15 }],
    ['too many bytes', { bytes: HEADER_BYTES + 17 }],
    ['another message', { message: 1 }],
    ['blocks larger than agreed', { blockSize: MAX_BLOCK + 1 }],
    ['one block, in blocks larger than agreed', { blockSize: MAX_BLOCK + 1, size: MAX_BLOCK }],
    ['a block size of 0', { blockSize: 0 }],
    ['a size beyond the safe integers', { size: 2 ** 60 }],
    ['more blocks than a message may have', { size: 2 ** 40, blockSize: 1, bytes: HEADER_BYTES + 1 }],
  ])('refuses %s in the first block', (_name, wrong) => {
    const { machine, headers } = relay();
    const good = {
      immediate: 0,
      block: 0,
      bytes: HEADER_BYTES + MAX_BLOCK,
      message: 0,
      blockSize: MAX_BLOCK,
      size: 40,
    };
    const { immediate, block, bytes, message, blockSize, size } = { ...good, ...wrong };
    writeHeader(headers, 0, { byteLength: size, blockBytes: blockSize, number: message }, block);
    expect(() => machine.blockArrived(0, immediate, bytes)).toThrow(
      expect.objectContaining({ name: 'ProtocolViolation', pair: 0 }),
    );
  });

  it.each([
    ['another block', { immediate: 2 }],
    ['another block that a device has relayed', { block: 2 }],
    ['another size', { size: 41 }],
    ['another block size', { blockSize: 8 }],
    ['another message', { message: 7 }],
    ['too few bytes', { bytes: HEADER_BYTES }],
  ])('refuses %s later', (_name, wrong) => {
    const { machine, headers, posted } = relay();
    writeHeader(headers, 0, FORTY, 0);
    machine.blockArrived(0, 0, HEADER_BYTES + MAX_BLOCK);
    machine.place(0, 1000, NO_KEY);
    machine.advance();
    const { slot } = posted[1]!;
    const good = {
      immediate: 1,
      block: 1,
      bytes: HEADER_BYTES + MAX_BLOCK,
      message: 0,
      blockSize: MAX_BLOCK,
      size: 40,
    };
    const { immediate, block, bytes, message, blockSize, size } = { ...good, ...wrong };
    writeHeader(headers, slot, { byteLength: size, blockBytes: blockSize, number: message }, block);
    expect(() => machine.blockArrived(slot, immediate, bytes)).toThrow(ProtocolViolation);
  });

  it('accepts numbers with gaps only where small messages may have them, and none twice', () => {
    const { machine, headers, posted } = relay({ skipsNumbers: true });
    writeHeader(headers, 0, { byteLength: 4, blockBytes: MAX_BLOCK, number: 5 }, 0);
    machine.blockArrived(0, 0, HEADER_BYTES + 4);
    machine.place(5, 1000, NO_KEY);
    machine.advance();
    const { slot } = posted[1]!;
    writeHeader(headers, slot, { byteLength: 4, blockBytes: MAX_BLOCK, number: 5 }, 0);
    expect(() => machine.blockArrived(slot, 0, HEADER_BYTES + 4)).toThrow('message 6 or a later one');
  });

  it('accepts the header of a message of long blocks ahead of these', () => {
    const { machine, headers, posted } = relay({ bufferBytes: 8 });
    writeHeader(headers, 0, FORTY, HEADER_AHEAD);
    machine.blockArrived(0, HEADER_AHEAD, HEADER_BYTES);
    machine.advance();
    expect(posted).toHaveLength(1);
    machine.place(0, 1000, NO_KEY);
    machine.advance();
    // The three blocks; the header of the next message fills the window.
    expect(posted).toHaveLength(1 + WINDOW);
  });

  it.each([
    ['a block in place of its header', { immediate: 0, block: 0, bytes: HEADER_BYTES + 8 }],
    ['the header of a block', { block: 0 }],
    ['a header with bytes', { bytes: HEADER_BYTES + 1 }],
    ['a block number', { immediate: 0 }],
  ])('refuses %s where the header goes ahead', (_name, wrong) => {
    const { machine, headers } = relay({ bufferBytes: 8 });
    const good = { immediate: HEADER_AHEAD, block: HEADER_AHEAD, bytes: HEADER_BYTES };
    const { immediate, block, bytes } = { ...good, ...wrong };
    writeHeader(headers, 0, FORTY, block);
    expect(() => machine.blockArrived(0, immediate, bytes)).toThrow(ProtocolViolation);
  });

  it('refuses a header alone where blocks fit into the buffers', () => {
    const { machine, headers } = relay();
    writeHeader(headers, 0, FORTY, HEADER_AHEAD);
    expect(() => machine.blockArrived(0, HEADER_AHEAD, HEADER_BYTES)).toThrow(ProtocolViolation);
  });

  it('refuses announcements of more receives than the window, and of fewer than before', () => {
    const { machine } = relay();
    machine.announced(1, 3);
    expect(() => machine.announced(1, 2)).toThrow(ProtocolViolation);
    expect(() => machine.announced(1, WINDOW + 1)).toThrow(ProtocolViolation);
    machine.announced(1, WINDOW);
  });
});
