// A member with ends of HiPower channels, in a process of its own. Its one argument is a HiPowerMemberOptions
// (`hipower-process.ts`) in JSON; it prints its events as lines of JSON. A responder writes every message to a file
// before it releases it, so that the consumed messages are known in every case.
import { appendFileSync } from 'node:fs';
import { HiPowerNode } from '@rdmc/hipower';

const { node: nodeOptions, fd, ends } = JSON.parse(process.argv[2]);
const say = (event, more = {}) => process.stdout.write(`${JSON.stringify({ event, ...more })}\n`);

/** The message of that number from that member: its number, and a byte that both of them decide. */
function fill(content, from, number) {
  content.fill((7 * from + number) & 255);
  content.writeDoubleLE(number);
  return content;
}

async function send(requester, { messages, messageBytes, reportAt }) {
  const { channel } = requester;
  const content = Buffer.alloc(messageBytes);
  let generation = 1;
  const watch = setInterval(() => {
    if (requester.generation === generation) return;
    generation = requester.generation;
    say('generation', { channel, generation });
  }, 10);
  try {
    for (let number = 0; number < messages; number += 1) {
      await requester.write(fill(content, node.id, number));
      if (number === reportAt) say('reached', { channel });
    }
    await requester.end();
    say('done', { channel, generation: requester.generation });
  } finally {
    clearInterval(watch);
  }
}

async function receive(responder, { messageBytes, reportAt, log }) {
  const { channel } = responder;
  const content = Buffer.alloc(messageBytes);
  const counts = new Map();
  for await (const message of responder) {
    const number = counts.get(message.from) ?? 0;
    counts.set(message.from, number + 1);
    if (Buffer.compare(message.bytes, fill(content, message.from, number)) !== 0) {
      const got = Buffer.from(message.bytes).readDoubleLE();
      throw new Error(`message ${number} of member ${message.from} is not what was sent; it says ${got}`);
    }
    appendFileSync(log, `${message.from} ${number}\n`);
    message.release();
    if (number === reportAt) say('reached', { channel });
  }
  await responder.close();
  say('done', { channel });
}

async function run(end) {
  const isRequester = end.options.to !== undefined;
  try {
    const open = isRequester
      ? await node.createRequester(end.options)
      : await node.createResponder(end.options);
    say('ready', { channel: open.channel, transports: open.transports });
    await (isRequester ? send(open, end) : receive(open, end));
  } catch (error) {
    const { code, message, memberId, progress, reason } = error;
    say('failed', { channel: end.options.channel, code, message, memberId, progress, reason });
  }
}

const node = await HiPowerNode.join({ ...nodeOptions, ...(fd && { server: { fd } }) });
await Promise.all(ends.map(run));
await node.close();
say('closed');
