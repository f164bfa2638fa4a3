// SENDs of 8 bytes to and fro between two processes of one host that sleep until a message comes: asleep in `waitBatch`, and in
// Node's event loop, by turns. Prints half a round trip in µs, the median of each turn. Usage: node bench/sleeping.mjs [shm|tcp]
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { CompletionWord, Layout, Opcode, openDevice, WorkRequestFlag } from '@rdmc/verbs';

const [transport = 'shm', role = 'near'] = process.argv.slice(2);
const ROUNDS = 6000;
const TURNS = 8;
const RECEIVES = 8;
const SIGNAL_EVERY = 16;
/** A completion of a receive has an opcode from here on. */
const FIRST_OF_RECEIVES = 128;
const PING = new Uint8Array(8);

const device = await openDevice({ device: 'soft', transport });
const pd = device.allocateProtectionDomain();
const channel = device.createCompletionChannel();
const cq = device.createCompletionQueue({ depth: 256, channel });
const queuePair = pd.createQueuePair({ sendQueue: cq, receiveQueue: cq, sendDepth: 64, receiveDepth: 16 });
const region = await pd.allocate(PING.length);
const batch = device.createSubmissionQueue();

function receive(id) {
  batch.begin(Opcode.RECEIVE, queuePair.number, id, 0);
  batch.sge(region.address, PING.length, region.lkey);
}

function send(round) {
  receive(round);
  const flags = round % SIGNAL_EVERY === 0 ? WorkRequestFlag.SIGNALED : 0;
  batch.begin(Opcode.SEND, queuePair.number, round, flags);
  batch.inline(PING);
  batch.flush();
}

function messagesIn(count) {
  let messages = 0;
  for (let i = 0; i < count; i += 1) {
    const base = i * Layout.COMPLETION_WORDS;
    if (cq.words[base + CompletionWord.STATUS] !== 0) throw new Error('a request failed');
    if (cq.words[base + CompletionWord.OPCODE] >= FIRST_OF_RECEIVES) messages += 1;
  }
  return messages;
}

/** Calls `take` for each of `ROUNDS` messages. */
const sleeps = {
  async blocked(take) {
    for (let round = 1; round <= ROUNDS; round += 1) {
      while (messagesIn(cq.waitBatch()) === 0);
      take(round);
    }
  },
  listening: (take) =>
    new Promise((resolve) => {
      let round = 0;
      const look = () => {
        cq.arm();
        for (let left = messagesIn(cq.pollBatch()); left > 0; left -= 1) {
          round += 1;
          take(round);
        }
        if (round < ROUNDS) return;
        watch.close();
        resolve();
      };
      const watch = channel.onEvent(look);
      look();
    }),
};

async function ping(kind) {
  const times = [];
  let start = process.hrtime.bigint();
  send(1);
  await sleeps[kind]((round) => {
    const now = process.hrtime.bigint();
    times.push(Number(now - start) / 2000);
    start = now;
    if (round < ROUNDS) send(round + 1);
  });
  return times.sort((a, b) => a - b)[ROUNDS >> 1];
}

async function near() {
  const child = fork(fileURLToPath(import.meta.url), [transport, 'far']);
  const [address] = await once(child, 'message');
  await queuePair.connect(address);
  child.send({ connect: queuePair.address });
  await once(child, 'message');
  const found = { blocked: [], listening: [] };
  for (let turn = 0; turn < TURNS; turn += 1) {
    const kinds = Object.keys(found);
    for (const kind of turn % 2 === 0 ? kinds : kinds.reverse()) {
      child.send({ kind });
      await once(child, 'message');
      found[kind].push(await ping(kind));
      // The far end is done with its last message.
      await delay(50);
    }
  }
  console.log(JSON.stringify({ transport, ...found }));
  child.disconnect();
  await device.close();
}

function far() {
  process.on('message', async ({ connect, kind }) => {
    if (connect) await queuePair.connect(connect);
    process.send('ready');
    if (kind) setImmediate(() => sleeps[kind](send));
  });
  process.on('disconnect', () => process.exit(0));
  process.send(queuePair.address);
}

for (let id = 0; id < RECEIVES; id += 1) receive(id);
batch.flush();
await (role === 'near' ? near() : far());
