import type { ChannelOptions, Requester, Responder } from '@rdmc/hipower';
import { rejection } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { BOARD_HEADER_WORDS, BOARD_STRIDE } from '../src/layout/board.js';
import { BoardIndex, boardsRegionBytes } from '../src/layout/boards-region.js';
import { footerIndex, slotStride } from '../src/layout/footer.js';
import { type Member, startMembers } from './support/members.js';
import { regionOfLength } from './support/regions.js';

/** Channels whose other side violates the protocol while they run: a peer with a defect, or damaged memory. */

const SLOTS = 6;
const SLOT_BYTES = 1000;
const STRIDE = slotStride(SLOT_BYTES);
const PUSH = { mode: 'push' } as const;
const PULL = { mode: 'pull' } as const;
const PER_REQUEST = { confirmation: 'per-request' } as const;
const BREAKING = new URL('./support/breaking-worker.mjs', import.meta.url);

type Kind = Partial<ChannelOptions>;
type Breaks = { readonly breaks: string; readonly value?: number };
let nodes: Member[] = [];

/** Node 0 with a requester, node 1 with its responder; the one that `breaks` names has a worker that violates a rule. */
async function open(kind: Kind, breaks: Record<number, Breaks> = {}): Promise<[Requester, Responder]> {
  const workers = Object.entries(breaks).map(([id, data]) => [id, { module: BREAKING, data }]);
  nodes = await startMembers(2, Object.fromEntries(workers));
  const options = { channel: 'rules', slots: SLOTS, slotBytes: SLOT_BYTES, ...kind };
  return Promise.all([
    nodes[0]!.node.createRequester({ ...options, to: 1 }),
    nodes[1]!.node.createResponder({ ...options, from: 0 }),
  ]);
}

/** A region of a node, by its length: the application's view of what peers reach. */
function words(node: number, byteLength: number): Int32Array {
  const view = regionOfLength(nodes[node]!.node.device, byteLength).view();
  return new Int32Array(view.buffer, view.byteOffset, view.byteLength / 4);
}

/** Toggles bits of a board, as its writer would. */
function toggle(node: number, role: 'requester' | 'responder', index: number, bits: number): void {
  const boards = words(node, boardsRegionBytes(role, 1));
  Atomics.xor(boards, (index * BOARD_STRIDE) / 4 + BOARD_HEADER_WORDS, bits);
}

/** The messages of the responder until it failed, and its error. */
async function failureOf(
  responder: Responder,
): Promise<{ got: number[]; error: Error & { code?: string; memberId?: number } }> {
  const got: number[] = [];
  const error = await rejection(
    (async () => {
      for await (const message of responder) {
        got.push(message.bytes[0]!);
        message.release();
      }
    })(),
  );
  return { got, error };
}

/** The responder names the requester and has received `got` and nothing else; the requester is told of the failure. */
async function expectBlamed(
  [requester, responder]: [Requester, Responder],
  code: string,
  got: readonly number[],
): Promise<void> {
  const failure = await failureOf(responder);
  expect(failure.error).toMatchObject({ code, memberId: 0 });
  expect(failure.got).toEqual(got);
  const ending = rejection(requester.end());
  await responder.close();
  expect(await ending).toMatchObject({ code: 'ERR_RDMC_HIPOWER_PEER_CLOSED', memberId: 1 });
}

describe('a requester that violates the protocol', () => {
  it.each([PUSH, PULL])('an unexpected message, %j: PROTOCOL', async (kind) => {
    const ends = await open(kind, { 0: { breaks: 'send' } });
    await ends[0].write(Uint8Array.of(1));
    const { error } = await failureOf(ends[1]);
    expect(error).toMatchObject({ code: 'ERR_RDMC_HIPOWER_PROTOCOL', memberId: 0 });
    await ends[1].close();
  });

  it.each([PUSH, PULL, PER_REQUEST])('a payload with an earlier footer, %j: FOOTER', async (kind) => {
    const ends = await open(kind, { 0: { breaks: 'stale' } });
    await ends[0].write(Uint8Array.of(1));
    expect(await ends[1].readable()).toBe(true);
    await ends[0].write(Uint8Array.of(2));
    await expectBlamed(ends, 'ERR_RDMC_HIPOWER_FOOTER', [1]);
  });

  it.each([
    ['of a slot beyond the pool', SLOTS, 'ERR_RDMC_HIPOWER_BITMAP'],
    ['of a negative slot', -2, 'ERR_RDMC_HIPOWER_BITMAP'],
    ['of an end without its total', -1, 'ERR_RDMC_HIPOWER_PROTOCOL'],
  ])('an immediate %s', async (_name, value, code) => {
    const ends = await open(PER_REQUEST, { 0: { breaks: 'immediate', value } });
    await ends[0].write(Uint8Array.of(1));
    await expectBlamed(ends, code, []);
  });

  // In pull mode the responder reads the requester's board; in push mode it reads the target of pushes.
  const boards = [
    ['push', 1, 'responder', BoardIndex.LANDING],
    ['pull', 0, 'requester', BoardIndex.OWN],
  ] as const;

  it.each(boards)('a bit beyond the pool, %s: BITMAP', async (mode, node, role, index) => {
    const ends = await open({ mode });
    toggle(node, role, index, 1 << SLOTS);
    await expectBlamed(ends, 'ERR_RDMC_HIPOWER_BITMAP', []);
  });

  it.each(boards)('a slot that the application holds, %s: BITMAP', async (mode, node, role, index) => {
    const [requester, responder] = await open({ mode });
    await requester.write(Uint8Array.of(7));
    await responder.readable();
    const handle = responder.take();
    toggle(node, role, index, 1);
    const error = await rejection(responder.readable());
    expect(error).toMatchObject({ code: 'ERR_RDMC_HIPOWER_BITMAP', memberId: 0 });
    expect(responder.memory[responder.offsetOf(handle)]).toBe(7);
    await Promise.all([requester.close(), responder.close()]);
  });

  it.each([
    ['of a sequence that is far ahead', [SLOTS, 8, 1, 0], 'ERR_RDMC_HIPOWER_FOOTER'],
    ['of a payload longer than a slot', [0, SLOT_BYTES + 1, 1, 0], 'ERR_RDMC_HIPOWER_FOOTER'],
    ['of a negative rest', [0, 8, 1, -1], 'ERR_RDMC_HIPOWER_FOOTER'],
    ['of another generation', [0, 8, 7, 0], 'ERR_RDMC_HIPOWER_GENERATION'],
    ['of a slot that was not written', [0, 0, 0, 0], 'ERR_RDMC_HIPOWER_GENERATION'],
  ])('a footer %s', async (_name, footer, code) => {
    const ends = await open(PUSH);
    words(1, SLOTS * STRIDE).set(footer, footerIndex(2, STRIDE));
    toggle(1, 'responder', BoardIndex.LANDING, 1 << 2);
    await expectBlamed(ends, code, []);
  });

  it('two slots of one sequence number: FOOTER', async () => {
    const ends = await open(PUSH);
    for (const slot of [1, 4]) words(1, SLOTS * STRIDE).set([1, 8, 1, 0], footerIndex(slot, STRIDE));
    toggle(1, 'responder', BoardIndex.LANDING, (1 << 1) | (1 << 4));
    await expectBlamed(ends, 'ERR_RDMC_HIPOWER_FOOTER', []);
  });
});

describe('a responder that violates the protocol', () => {
  it('an unexpected message: PROTOCOL', async () => {
    const [requester, responder] = await open(PULL, { 1: { breaks: 'send' } });
    const sending = (async () => {
      await requester.write(Uint8Array.of(1));
      await requester.drain();
    })();
    const error = await rejection(sending);
    expect(error).toMatchObject({ code: 'ERR_RDMC_HIPOWER_PROTOCOL', memberId: 1 });
    await Promise.all([requester.close(), responder.close()]);
  });

  it.each([
    ['beyond the pool', SLOTS],
    ['that is empty', SLOTS - 1],
  ])('a confirmation of a slot %s: BITMAP', async (_name, value) => {
    const [requester, responder] = await open(PER_REQUEST, { 1: { breaks: 'immediate', value } });
    await requester.write(Uint8Array.of(1));
    const draining = rejection(requester.drain());
    await responder.readable();
    responder.release(responder.take());
    expect(await draining).toMatchObject({ code: 'ERR_RDMC_HIPOWER_BITMAP', memberId: 1 });
    await Promise.all([requester.close(), responder.close()]);
  });

  it.each([PUSH, PULL])('a release of an empty slot, %j: BITMAP', async (kind) => {
    const [requester, responder] = await open(kind);
    await requester.write(Uint8Array.of(1));
    toggle(1, 'responder', BoardIndex.OWN, 1 << (SLOTS - 1));
    const error = await rejection(requester.drain());
    expect(error).toMatchObject({ code: 'ERR_RDMC_HIPOWER_BITMAP', memberId: 1 });
    expect(error.progress).toMatchObject([{ memberId: 1, delivered: 1, released: 0 }]);
    await Promise.all([requester.close(), responder.close()]);
  });
});
