import type { Delivery, Group, RdmcNode } from '@rdmc/group';
import { PATIENT, rejection, until } from '@rdmc/testing';
import { type CompletionQueue, Device, type MemoryRegion, Opcode, type SubmissionQueue } from '@rdmc/verbs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HEADER_BYTES, HEADER_WORDS } from '../src/constants.js';
import { INQUIRY_TOPIC } from '../src/wire-messages.js';
import { writeHeader } from '../src/worker/header.js';
import { filledRegion, startCluster, stopCluster } from './support/cluster.js';

const BLOCK = 1000;
/** No more than the windows: the relay hands all but the first one to its device. */
const BLOCKS = 20;
/** A chain. The liar relays to a member that relays to the last one. */
const [ROOT, LIAR, RELAY, LAST] = [0, 1, 2, 3];
const MEMBERS = [ROOT, LIAR, RELAY, LAST];

const createSubmissionQueue = vi.spyOn(Device.prototype, 'createSubmissionQueue');
const createCompletionQueue = vi.spyOn(Device.prototype, 'createCompletionQueue');
let nodes: RdmcNode[];

beforeEach(async () => {
  vi.clearAllMocks();
  // In the application's thread, so that requests can be changed on their way to the device.
  nodes = await startCluster(MEMBERS.length, { thread: 'application', device: 'soft' });
});
afterEach(async () => {
  vi.useRealTimers();
  await stopCluster(nodes);
});

/** What the device of that node has created for its groups. */
function createdAt(
  node: number,
  { mock }: { mock: { contexts: unknown[]; results: { value?: unknown }[] } },
) {
  const { device } = nodes[node]!;
  const [created, ...others] = mock.results.filter((_, call) => mock.contexts[call] === device);
  expect(others).toEqual([]);
  return created!.value;
}

function submissionOf(node: number): SubmissionQueue {
  return createdAt(node, createSubmissionQueue) as SubmissionQueue;
}

/** The blocks of the liar, counted from 1, that the relay has handed to its device before they came. */
function blocksRelayed(): ReadonlySet<number> {
  const submission = submissionOf(RELAY);
  const { waitFor } = submission;
  const blocks = new Set<number>();
  submission.waitFor = (queuePair, receives) => {
    blocks.add(receives);
    waitFor.call(submission, queuePair, receives);
  };
  return blocks;
}

type Entry = Parameters<SubmissionQueue['sge']>;
/** The entries of a block. */
const [HEADER, BYTES] = [0, 1];

/** Changes an entry of the next one of these blocks that the liar sends. */
function lie(blocks: ReadonlySet<number>, which: number, change: (...entry: Entry) => Entry): void {
  const submission = submissionOf(LIAR);
  const { begin, sge } = submission;
  let sent = 0;
  /** The next entry of a send of a block. */
  let entry = -1;
  submission.begin = (opcode, ...request) => {
    entry = opcode === Opcode.SEND_WITH_IMM ? 0 : -1;
    if (entry === 0) sent += 1;
    begin.call(submission, opcode, ...request);
  };
  submission.sge = (...given) => {
    const isWrong = entry === which && blocks.has(sent);
    if (entry !== -1) entry += 1;
    if (isWrong) Object.assign(submission, { begin, sge });
    sge.apply(submission, isWrong ? change(...given) : given);
  };
}

/** Holds the relay's completions back from now on. Returns what lets them through. */
function holdRelay(): () => void {
  const completions = createdAt(RELAY, createCompletionQueue) as CompletionQueue;
  const { pollBatch } = completions;
  Object.assign(completions, { pollBatch: () => 0 });
  return () => {
    // As if the queue had others first: not in the next turns.
    let others = 3;
    const next = (): number => {
      others -= 1;
      return others >= 0 ? 0 : pollBatch();
    };
    Object.assign(completions, { pollBatch: next });
  };
}

/** Calls back when the last member has found a wrong block, and asks the relay, or accuses it. */
function whenLastComplains(complains: () => void): void {
  const { mesh } = nodes[LAST]!;
  const [request, send] = [mesh.request.bind(mesh), mesh.send.bind(mesh)];
  mesh.request = (to, topic, ...rest) => {
    if (topic === INQUIRY_TOPIC) complains();
    return request(to, topic, ...rest);
  };
  mesh.send = (to, topic, body) => {
    if ((body as { type?: string }).type === 'failed') complains();
    send(to, topic, body);
  };
}

async function forgedHeader(): Promise<MemoryRegion> {
  const forged = await nodes[LIAR]!.allocate(HEADER_BYTES);
  const { buffer, byteOffset } = forged.view(0, HEADER_BYTES);
  const another = { byteLength: BLOCKS * BLOCK, blockBytes: BLOCK, number: 77 };
  writeHeader(new Uint32Array(buffer, byteOffset, HEADER_WORDS), 0, another, 0);
  return forged;
}

/** A chain whose liar gets memory for the message last: the relay hands its blocks to its device meanwhile. */
function create(blocks: ReadonlySet<number>, delivery: Delivery): Promise<Group[]> {
  const incoming = async (byteLength: number): Promise<MemoryRegion> => {
    await until(() => blocks.size === BLOCKS - 1);
    return nodes[LIAR]!.allocate(byteLength);
  };
  const chain = { id: 1, members: MEMBERS, algorithm: 'chain', relay: 'device' } as const;
  const options = { ...PATIENT, ...chain, blockBytes: BLOCK, delivery };
  return Promise.all(
    nodes.map((node, id) => node.createGroup({ ...options, ...(id === LIAR && { incoming }) })),
  );
}

/** Sends a message. Resolves with the error of each member, and the number of messages that the last one delivered. */
async function run(groups: readonly Group[]): Promise<{ errors: unknown[]; delivered: number }> {
  const message = await filledRegion(nodes[ROOT]!, BLOCKS * BLOCK, 1);
  let delivered = 0;
  const reading = groups.slice(1).map(async (each) => {
    for await (const received of each) {
      if (each === groups[LAST]) delivered += 1;
      received.release();
    }
  });
  const sending = groups[ROOT]!.send(message, { byteLength: BLOCKS * BLOCK });
  const pending = Promise.allSettled([sending, ...reading]);
  const errors = await Promise.all(groups.map((group) => rejection(group.closed.then(() => group.close()))));
  await pending;
  await message.close();
  return { errors, delivered };
}

const PROTOCOL = { code: 'ERR_RDMC_PROTOCOL', memberId: LIAR };
/** Some may read the suspicion in the table before the verdict comes. */
const EXCLUDED = { memberId: LIAR, excluded: [LIAR] };

describe("a wrong block in a group with relay: 'device'", () => {
  it.each([
    ['received', PROTOCOL],
    ['stable', EXCLUDED],
  ] as const)(
    'is charged to the member that sent it, also where the device behind it relays it first (%s)',
    async (delivery, expected) => {
      // The relay's answer may take any time on a busy machine: the limit of a question is counted in ticks of an interval.
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
      const blocks = blocksRelayed();
      const groups = await create(blocks, delivery);
      const forged = await forgedHeader();
      lie(blocks, HEADER, (_address, byteLength) => {
        whenLastComplains(holdRelay());
        return [forged.address, byteLength, forged.lkey];
      });
      const { errors } = await run(groups);
      for (const id of [ROOT, RELAY, LAST]) expect(errors[id]).toMatchObject(expected);
      await forged.close();
    },
  );

  it.each([
    ['delivered', 'received', PROTOCOL, 1],
    ['not delivered', 'stable', EXCLUDED, 0],
  ] as const)(
    'of too few bytes under a right header is detected by the next member, and %s behind it with delivery %s',
    async (_name, delivery, expected, count) => {
      const blocks = blocksRelayed();
      const groups = await create(blocks, delivery);
      lie(blocks, BYTES, (address, byteLength, lkey) => {
        const release = holdRelay();
        void until(() => groups[LAST]!.progress().messagesReceived === 1).then(release);
        return [address, byteLength - 1, lkey];
      });
      const { errors, delivered } = await run(groups);
      for (const id of [ROOT, RELAY, LAST]) expect(errors[id]).toMatchObject(expected);
      expect(delivered).toBe(count);
    },
  );
});
