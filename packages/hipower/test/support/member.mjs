// A member of a channel in its own process. Numbers its messages from 0 (f64 at the start of each), and writes every
// number that it has consumed to a file before it releases the message.
import { appendFileSync } from 'node:fs';
import { HiPowerNode } from '@rdmc/hipower';

const options = await new Promise((resolve) => {
  process.once('message', resolve);
});
const node = await HiPowerNode.join(options.node);

async function send() {
  const requester = await node.createRequester(options.channel);
  process.send({ kind: 'ready' });
  const message = new Float64Array(options.messageBytes / 8);
  for (let number = 0; number < options.messages; number += 1) {
    message[0] = number;
    await requester.write(new Uint8Array(message.buffer));
    if (number === options.reportAt) process.send({ kind: 'reached', number });
  }
  await requester.end();
  process.send({ kind: 'done', generation: requester.generation });
}

async function receive() {
  const responder = await node.createResponder(options.channel);
  process.send({ kind: 'ready' });
  for await (const message of responder) {
    const { bytes } = message;
    const number = new DataView(bytes.buffer, bytes.byteOffset).getFloat64(0, true);
    if (options.log) appendFileSync(options.log, `${number}\n`);
    if (options.holdFrom !== undefined && number >= options.holdFrom) continue;
    message.release();
    if (number === options.reportAt) process.send({ kind: 'reached', number });
  }
  process.send({ kind: 'ended' });
  if (options.holdFrom !== undefined) await new Promise(() => {});
  await responder.close();
  process.send({ kind: 'done' });
}

try {
  await (options.role === 'requester' ? send() : receive());
} catch (error) {
  const { code, message, memberId, progress } = error;
  process.send({ kind: 'failed', code, message, memberId, progress });
}
await node.close();
process.disconnect();
