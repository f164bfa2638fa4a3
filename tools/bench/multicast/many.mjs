// Groups of many senders beside a group of one, among processes of this host, in turn in each round:
//   node tools/bench/multicast/many.mjs [--nodes 4,8,16] [--bytes 1] [--count 60000] [--rounds 5] [--transport shm|tcp]
// count: messages of all senders together in one run. Every receiver compares all bytes of each message. Prints messages per
// second, each message counted once: from the group's creation until close() has resolved at member 0, so every member has
// everything; and the skew: from the first receiver that has all messages to the last one.
// Needs the built dist.
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { RdmcNode } from '@rdmc/group';
import { runMembers } from '../../../packages/group/bench/processes.mjs';

const text = { type: 'string' };
const { values } = parseArgs({
  options: {
    nodes: { ...text, default: '4,8,16' },
    bytes: { ...text, default: '1' },
    count: { ...text, default: '60000' },
    rounds: { ...text, default: '5' },
    transport: { ...text, default: 'shm' },
    member: text,
  },
});
const bytes = Number(values.bytes);
/** Messages of one call of sendMany. */
const BURST = 2000;
const VARIANTS = 251;
const contents = Array.from({ length: VARIANTS }, (_, i) =>
  Buffer.from(Uint8Array.from({ length: bytes }, (_, j) => i + j)),
);
/** `active`: how many members send. */
const SUBJECTS = [
  { name: 'one sender', active: 1, options: {} },
  { name: 'one sender, stable', active: 1, options: { delivery: 'stable' } },
  { name: 'all send', options: { senders: 'all' } },
  { name: 'all send, stable', options: { senders: 'all', delivery: 'stable' } },
  { name: 'all send, total order', options: { senders: 'all', order: 'total' } },
  { name: 'one of all sends, total order', active: 1, options: { senders: 'all', order: 'total' } },
];

/** Nanoseconds of CLOCK_MONOTONIC, which all processes of a host share. */
const monotonic = () => Number(process.hrtime.bigint());
const middle = (sorted) => sorted[Math.floor(sorted.length / 2)];

async function send(group, count) {
  for (let sent = 0; sent < count; sent += BURST) {
    const messages = [];
    for (let i = sent; i < Math.min(count, sent + BURST); i += 1) messages.push(contents[i % VARIANTS]);
    await group.sendMany(messages);
  }
}

/** Reads `count` messages, and compares each with the next one of its sender. */
async function receive(group, count) {
  if (count === 0) return;
  const next = new Map();
  let left = count;
  for await (const batch of group.messages()) {
    for (const message of batch) {
      const { senderId, view } = message;
      const number = next.get(senderId) ?? 0;
      next.set(senderId, number + 1);
      const expected = contents[number % VARIANTS];
      const same = bytes === 1 ? view.length === 1 && view[0] === expected[0] : expected.equals(view);
      if (!same) throw new Error(`message ${number} of member ${senderId} is damaged`);
      message.release();
      left -= 1;
    }
    if (left === 0) return;
  }
  throw new Error(`${left} messages are missing`);
}

/** One run of a subject. Resolves with the messages per second, and the time at which this member had all; a root has none. */
async function run(node, { id, members, active = members.length, options }) {
  const share = Math.floor(Number(values.count) / active);
  const group = await node.createGroup({ id, members, ...options });
  const start = performance.now();
  const own = members.indexOf(node.id) < active ? share : 0;
  const receivesOwn = options.order === 'total';
  const isRoot = group.isRoot && !options.senders;
  const expected = isRoot ? 0 : share * active - (receivesOwn ? 0 : own);
  const received = receive(group, expected).then(() => (expected === 0 ? undefined : monotonic()));
  const [, at] = await Promise.all([send(group, own), received]);
  await group.close();
  return { rate: (share * active) / ((performance.now() - start) / 1000), at };
}

/** Collects at member 0 when each receiver had all messages of a run. Resolves there with the skew in milliseconds. */
class Skews {
  #times = [];
  #heard;

  constructor(node) {
    this.node = node;
    if (node.id === 0) node.mesh.onMessage('received', (_, at) => this.#add(at));
  }

  /** @param at of this member, if it is a receiver */
  async of(at, receivers) {
    if (this.node.id !== 0) {
      this.node.mesh.send(0, 'received', at);
      return 0;
    }
    if (at !== undefined) this.#times.push(at);
    while (this.#times.length < receivers) await new Promise((resolve) => (this.#heard = resolve));
    const times = this.#times.splice(0);
    return (Math.max(...times) - Math.min(...times)) / 1e6;
  }

  #add(at) {
    this.#times.push(at);
    this.#heard?.();
  }
}

async function member({ id, members }) {
  const node = await RdmcNode.join({ id, members, device: { device: 'soft', transport: values.transport } });
  const ids = members.map((one) => one.id);
  const rates = SUBJECTS.map(() => []);
  const skews = SUBJECTS.map(() => []);
  const collected = new Skews(node);
  let group = 0;
  // The first round is not counted.
  for (let round = 0; round <= Number(values.rounds); round += 1) {
    for (const [index, subject] of SUBJECTS.entries()) {
      group += 1;
      const { rate, at } = await run(node, { ...subject, id: group, members: ids });
      const skew = await collected.of(at, subject.options.senders ? ids.length : ids.length - 1);
      if (round === 0) continue;
      rates[index].push(rate);
      skews[index].push(skew);
    }
  }
  if (id === 0) {
    for (const [index, { name }] of SUBJECTS.entries()) {
      const sorted = rates[index].sort((one, other) => one - other).map(Math.round);
      const median = middle(sorted);
      const skew = middle(skews[index].sort((one, other) => one - other)).toFixed(3);
      const range = `least ${sorted[0]}, most ${sorted.at(-1)}`;
      console.log(
        `${ids.length} members, ${bytes} bytes, ${name}: median ${median} messages/s, ${range}; skew ${skew} ms`,
      );
    }
  }
  await node.close();
}

if (values.member !== undefined) await member(JSON.parse(values.member));
else {
  for (const nodes of values.nodes.split(','))
    await runMembers(fileURLToPath(import.meta.url), Number(nodes));
}
