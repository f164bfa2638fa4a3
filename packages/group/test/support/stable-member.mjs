// A member of a group with stable delivery, in a process of its own. The first message of the parent has its options; it
// reports by messages: 'reached' when it has delivered `reportAt` messages (a receiver), 'ended' with what it delivered.
import { createHash } from 'node:crypto';
import { RdmcNode } from '@rdmc/group';

/** Every seventh message is longer than a small one. */
const SIZES = [1, 100, 8192, 3, 2000, 20_000, 64];

/** A message whose bytes follow from its number. */
function content(number) {
  return Buffer.alloc(SIZES[number % SIZES.length], `${number},`);
}

let got = 0;
let digest;

const options = await new Promise((resolve) => process.once('message', resolve));
const { id, members, reportAt, group: groupOptions, ...join } = options;
const node = await RdmcNode.join({ id, members, ...join });
const group = await node.createGroup({ id: 1, members: members.map((one) => one.id), ...groupOptions });
process.send({ kind: 'open' });
try {
  if (group.isRoot) await sendForEver();
  else await receive();
} catch (error) {
  const { code, message, memberId, excluded, delivered } = error;
  const known = delivered && [...delivered];
  await report({ kind: 'ended', code, message, memberId, excluded, delivered: known, ...state() });
}
await node.close();
process.disconnect();

function report(what) {
  return new Promise((resolve) => process.send(what, resolve));
}

function state() {
  return { got, digest: digest?.digest('hex') };
}

async function sendForEver() {
  for (let number = 0; ; ) {
    const sends = [];
    for (const end = number + 50; number < end; number += 1) sends.push(group.send(content(number)));
    await Promise.all(sends);
  }
}

async function receive() {
  digest = createHash('sha256');
  for await (const message of group) {
    if (message.number !== got || !content(got).equals(message.view)) {
      await report({ kind: 'damaged', number: message.number, got });
    }
    digest.update(message.view);
    message.release();
    got += 1;
    if (got === reportAt) process.send({ kind: 'reached' });
  }
}
