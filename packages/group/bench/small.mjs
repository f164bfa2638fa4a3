// Small messages from one sender to the others among processes of this host:
//   node bench/small.mjs --nodes 2 --bytes 1 [--count 200000] [--rounds 5] [--form many|single] [--small 8192]
//     [--ahead 64] [--thread worker] [--transport shm|tcp] [--delivery received|stable] [--window-ms 0]
// many: sendMany and messages(); single: send, and for await over messages. --small 0 sends blocks, --ahead gives memory
// for that many messages in advance. --delivery stable: messages are delivered when all members have them. --window-ms: how long
// workers poll after work. Every receiver compares all bytes of each message. Prints messages per second of each round, from the
// first send until the root has an answer of every receiver, the processor time of all members for each message, and the skew:
// from the first receiver that has all messages of a round to the last one.
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { RdmcNode } from '@rdmc/group';
import { runMembers } from './processes.mjs';

const text = { type: 'string' };
const { values } = parseArgs({
  options: {
    nodes: { ...text, default: '2' },
    bytes: { ...text, default: '1' },
    count: { ...text, default: '200000' },
    rounds: { ...text, default: '5' },
    form: { ...text, default: 'many' },
    thread: { ...text, default: 'worker' },
    transport: { ...text, default: 'auto' },
    delivery: { ...text, default: 'received' },
    small: text,
    ahead: text,
    'window-ms': text,
    member: text,
  },
});
const count = Number(values.count);
const bytes = Number(values.bytes);
const rounds = Number(values.rounds);
/** Messages of one call of sendMany, or of sends that are awaited together. */
const BURST = 5000;
const VARIANTS = 251;
/** Parts of one buffer: contents of their own would fill the processor's cache, which those of a rival program do not. */
const pattern = Buffer.from(Uint8Array.from({ length: bytes + VARIANTS }, (_, i) => i));
const contents = Array.from({ length: VARIANTS }, (_, i) => pattern.subarray(i, i + bytes));

async function member({ id, members }) {
  const device = { device: 'soft', transport: values.transport };
  const window = values['window-ms'] === undefined ? {} : { windowMs: Number(values['window-ms']) };
  const node = await RdmcNode.join({ id, members, device, thread: values.thread, ...window });
  const ids = members.map((one) => one.id);
  const group = await node.createGroup({
    id: 1,
    members: ids,
    delivery: values.delivery,
    ...(values.small !== undefined && { smallMessageBytes: Number(values.small) }),
    ...(values.ahead && { receive: { messages: Number(values.ahead), byteLength: bytes } }),
  });
  if (group.isRoot) await sendRounds(node, group);
  else await receiveRounds(node, group);
  await group.close();
  await node.close();
}

async function sendRounds(node, group) {
  let heard = 0;
  let onAll;
  let spent = 0;
  const stored = [];
  node.mesh.onMessage('stored', (_, { microseconds, at }) => {
    heard += 1;
    spent += microseconds;
    stored.push(at);
    if (heard % (group.members.length - 1) === 0) onAll();
  });
  const rates = [];
  const times = [];
  const skews = [];
  const clock = new ProcessorClock();
  for (let round = 0; round < rounds; round += 1) {
    const all = new Promise((resolve) => {
      onAll = resolve;
    });
    const start = performance.now();
    for (let sent = 0; sent < count; sent += BURST) await burst(group, sent, Math.min(BURST, count - sent));
    await all;
    rates.push(Math.round(count / ((performance.now() - start) / 1000)));
    times.push((spent + clock.lap()) / count);
    spent = 0;
    const at = stored.splice(0);
    skews.push((Math.max(...at) - Math.min(...at)) / 1e6);
  }
  const [first, ...warm] = rates;
  warm.sort((a, b) => a - b);
  const median = middle(warm) ?? first;
  const [time, skew] = [times, skews].map((all) => middle(all.slice(1).sort((a, b) => a - b)) ?? all[0]);
  console.log(
    `${group.members.length} members, ${bytes} bytes, ${values.form}, ${values.delivery}: median ${median} messages/s, ` +
      `most ${warm.at(-1) ?? first}, least ${warm[0] ?? first}, first ${first}; ` +
      `${time.toFixed(2)} µs of processor time for each message; skew ${skew.toFixed(3)} ms`,
  );
}

const middle = (sorted) => sorted[Math.floor(sorted.length / 2)];

/** Microseconds of the processor that this process has used, all threads together. */
class ProcessorClock {
  #last = process.cpuUsage();

  lap() {
    const { user, system } = process.cpuUsage(this.#last);
    this.#last = process.cpuUsage();
    return user + system;
  }
}

function burst(group, from, length) {
  const messages = [];
  for (let i = 0; i < length; i += 1) messages.push(contents[(from + i) % VARIANTS]);
  if (values.form === 'many') return group.sendMany(messages);
  return Promise.all(messages.map((message) => group.send(message)));
}

/** Compares one message; `got` counts those of the round. */
function check(message, got) {
  const { view } = message;
  const expected = contents[got % VARIANTS];
  const same = bytes === 1 ? view.length === 1 && view[0] === expected[0] : expected.equals(view);
  if (!same) throw new Error(`message ${message.number} is damaged`);
  message.release();
}

async function receiveRounds(node, group) {
  let got = 0;
  const clock = new ProcessorClock();
  const take = (message) => {
    check(message, got);
    got += 1;
    if (got < count) return;
    got = 0;
    // Nanoseconds of CLOCK_MONOTONIC, which all processes of a host share.
    const at = Number(process.hrtime.bigint());
    node.mesh.send(group.rootId, 'stored', { microseconds: clock.lap(), at });
  };
  if (values.form === 'many') {
    for await (const batch of group.messages()) for (const message of batch) take(message);
  } else for await (const message of group) take(message);
}

if (values.member === undefined) await runMembers(fileURLToPath(import.meta.url), Number(values.nodes));
else await member(JSON.parse(values.member));
