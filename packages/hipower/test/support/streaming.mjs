// Two nodes in one process pass small messages. Arguments: mode, confirmation, rounds, messages of each round; transport
// of the soft device ('auto'); calls ('slots': those that neither copy nor allocate, or 'messages': write and for await).
import { setFlagsFromString } from 'node:v8';
import { HiPowerNode } from '@rdmc/hipower';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';

// Prints every collection of every thread. The flag is not on the command line, because workers do not accept it.
setFlagsFromString('--trace-gc');
// Code that is not optimised yet allocates an object for every number that is not a small integer: 400 bytes per message. The
// concurrent compiler threads may not get processor time on a busy machine. So each thread optimises
// its own code.
setFlagsFromString('--no-concurrent-recompilation');
/** Messages until the code of all threads is optimised. */
const WARM_UP = 100_000;
const [mode, confirmation, rounds, messages, transport = 'auto', calls = 'slots'] = process.argv.slice(2);
const count = Number(messages);
const reserved = await reserveLoopbackPorts(2);
const members = reserved.map(({ host, port }, id) => ({ id, host, port }));
const device = {
  device: process.env.RDMC_TEST_DEVICE ?? 'soft',
  ...(transport !== 'auto' && { transport }),
};
const [a, b] = await Promise.all(
  reserved.map(({ server }, id) => HiPowerNode.join({ id, members, server, device })),
);
const common = {
  channel: 'stream',
  slots: confirmation === 'bitmap' ? 8192 : 1000,
  slotBytes: 64,
  mode,
  confirmation,
};
const [requester, responder] = await Promise.all([
  a.createRequester({ ...common, to: 1 }),
  b.createResponder({ ...common, from: 0 }),
]);

/** Waits of the application's thread; each allocates one or two promises. */
let waits = 0;

async function produce(messages) {
  for (let sent = 0; sent < messages; ) {
    const slot = requester.reserve(64);
    if (slot < 0) {
      waits += 1;
      await requester.hasRoom();
      continue;
    }
    requester.memory[requester.offsetOf(slot)] = sent;
    requester.commit(slot);
    sent += 1;
  }
}

async function consume(messages) {
  for (let received = 0; received < messages; ) {
    const handle = responder.take();
    if (handle < 0) {
      waits += 1;
      await responder.readable();
      continue;
    }
    if (responder.memory[responder.offsetOf(handle)] !== (received & 255)) throw new Error('wrong message');
    responder.release(handle);
    received += 1;
  }
}

/** Copies, and allocates a promise per message. */
async function writeAll(number) {
  const message = new Uint8Array(64);
  for (let sent = 0; sent < number; sent += 1) {
    message[0] = sent;
    await requester.write(message);
  }
}

/** Allocates a message object and a promise per message. */
const iterator = responder[Symbol.asyncIterator]();
async function iterate(number) {
  for (let received = 0; received < number; received += 1) {
    const { value: message } = await iterator.next();
    if (message.bytes[0] !== (received & 255)) throw new Error('wrong message');
    message.release();
  }
}

const [send, receive] = calls === 'slots' ? [produce, consume] : [writeAll, iterate];
await Promise.all([send(WARM_UP), receive(WARM_UP)]);
for (let round = 0; round < Number(rounds); round += 1) {
  const before = turns();
  console.log('ROUND');
  await Promise.all([send(count), receive(count)]);
  console.log(`TURNS ${turns() - before}`);
}
console.log('DONE');
await Promise.all([requester.end(), consumeEnd()]);
await Promise.all([a.close(), b.close()]);

/** Of both workers' loops, and waits of the application. */
function turns() {
  return a.counters().turns + b.counters().turns + waits;
}

async function consumeEnd() {
  if (calls === 'messages') {
    if (!(await iterator.next()).done) throw new Error('too many messages');
    await responder.close();
    return;
  }
  while (await responder.readable()) if (responder.take() >= 0) throw new Error('too many messages');
  await responder.close();
}
