// Multicast among processes of this host, buffers warm and reused:
//   node bench/multicast.mjs --nodes 8 --bytes 268435456 --rounds 10 [--algorithm chain] [--block 1048576]
//     [--window-ms 0] [--receive-window 8] [--send-window 2] [--ready-window 1]
//     [--transport tcp]
// Prints milliseconds from the root's send until the root has an answer of every receiver; the first round separately. The skew
// is the time from the first answer to the last one.
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { RdmcNode } from '@rdmc/group';
import { runMembers } from './processes.mjs';

const text = { type: 'string' };
const { values } = parseArgs({
  options: {
    nodes: { ...text, default: '4' },
    bytes: { ...text, default: String(64 * 1024 * 1024) },
    rounds: { ...text, default: '10' },
    algorithm: { ...text, default: 'binomial-pipeline' },
    transport: { ...text, default: 'auto' },
    block: text,
    'window-ms': text,
    'receive-window': text,
    'send-window': text,
    'ready-window': text,
    member: text,
  },
});
const rounds = Number(values.rounds);
const bytes = Number(values.bytes);

function optional(name, value) {
  return value === undefined ? {} : { [name]: Number(value) };
}

async function member({ id, members }) {
  const device = { device: 'soft', transport: values.transport };
  const node = await RdmcNode.join({ id, members, device, ...optional('windowMs', values['window-ms']) });
  const region = await node.allocate(bytes);
  region.view().fill(id);
  const group = await node.createGroup({
    id: 1,
    members: members.map((one) => one.id),
    algorithm: values.algorithm,
    incoming: () => ({ region }),
    ...optional('blockBytes', values.block),
    ...optional('receiveWindow', values['receive-window']),
    ...optional('sendWindow', values['send-window']),
    ...optional('readyWindow', values['ready-window']),
  });
  if (group.isRoot) await sendRounds(node, group, region);
  else await receiveRounds(node, group);
  await group.close();
  await node.close();
}

async function sendRounds(node, group, region) {
  const times = [];
  const skews = [];
  let heard = 0;
  let first = 0;
  let onAll;
  node.mesh.onMessage('stored', () => {
    const receivers = group.members.length - 1;
    if (heard % receivers === 0) first = performance.now();
    heard += 1;
    if (heard % receivers !== 0) return;
    skews.push(performance.now() - first);
    onAll();
  });
  for (let round = 0; round < rounds; round += 1) {
    const all = new Promise((resolve) => {
      onAll = resolve;
    });
    const start = performance.now();
    await group.send(region);
    await all;
    times.push(performance.now() - start);
  }
  const [cold, ...warm] = times;
  const median = middle(warm) ?? cold;
  const least = Math.min(cold, ...warm);
  const skew = middle(skews.slice(1)) ?? skews[0];
  console.log(
    `${group.members.length} members, ${bytes} bytes, ${values.algorithm}, ${node.device.transport}: ` +
      `median ${median.toFixed(3)} ms, least ${least.toFixed(3)}, first ${cold.toFixed(3)}, ` +
      `skew ${skew.toFixed(3)}`,
  );
}

const middle = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];

async function receiveRounds(node, group) {
  for await (const message of group) {
    message.release();
    node.mesh.send(group.rootId, 'stored', null);
  }
}

if (values.member === undefined) await runMembers(fileURLToPath(import.meta.url), Number(values.nodes));
else await member(JSON.parse(values.member));
