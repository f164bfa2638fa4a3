// Two nodes in one process: node 0 sends numbers to node 1.
import { HiPowerNode } from '@rdmc/hipower';

const nodes = await HiPowerNode.loopback(2);
const [a, b] = nodes;

async function send() {
  const requester = await a.createRequester({ channel: 'numbers', to: 1 });
  for (let i = 0; i < 1000; i += 1) {
    await requester.write(new Uint8Array(Float64Array.of(i).buffer)); // waits for room, and copies
  }
  await requester.end(); // resolves when everything was received and released
}

async function receive() {
  const responder = await b.createResponder({ channel: 'numbers', from: 0 });
  let sum = 0;
  for await (const message of responder) {
    const { bytes } = message; // in place: no copy
    sum += new DataView(bytes.buffer, bytes.byteOffset).getFloat64(0, true);
    message.release(); // the slot goes back
  }
  await responder.close();
  console.log(`sum of 1000 numbers: ${sum}`);
}

await Promise.all([send(), receive()]);
await nodes.close();
