// Two nodes in one process pass small messages by the calls that copy and allocate nothing.
// Arguments: mode, confirmation, messages.
import { setFlagsFromString } from 'node:v8';
import { HiPowerNode } from '@rdmc/hipower';
import { reserveLoopbackPorts } from '@rdmc/mesh';

// Every collection of every thread is printed. Not on the command line: a worker takes no such options.
setFlagsFromString('--trace-gc');
const [mode, confirmation, count] = [process.argv[2], process.argv[3], Number(process.argv[4])];
const reserved = await reserveLoopbackPorts(2);
const members = reserved.map(({ host, port }, id) => ({ id, host, port }));
const device = process.env.RDMC_TEST_DEVICE ?? 'soft';
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

async function produce(messages) {
  for (let sent = 0; sent < messages; ) {
    const slot = requester.reserve(64);
    if (slot < 0) {
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
      await responder.readable();
      continue;
    }
    if (responder.memory[responder.offsetOf(handle)] !== (received & 255)) throw new Error('wrong message');
    responder.release(handle);
    received += 1;
  }
}

await Promise.all([produce(200_000), consume(200_000)]);
console.log('WARM');
await Promise.all([produce(count), consume(count)]);
console.log('DONE');
await Promise.all([requester.end(), consumeEnd()]);
await Promise.all([a.close(), b.close()]);

async function consumeEnd() {
  while (await responder.readable()) if (responder.take() >= 0) throw new Error('too many messages');
  await responder.close();
}
