// A complete protocol: ping-pong between the workers of two members. The applications only start it, and get an event
// at its end. The data plane loads this file in its worker as well, so the application's part runs in the main
// thread only.
import { isMainThread } from 'node:worker_threads';
import { call, json, numbers, post, protocolWorker, recordTable } from '@rdmc/dataplane';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { Node } from '@rdmc/node';
import { CompletionOpcode, CompletionWord, completionFailure, Opcode, Status } from '@rdmc/verbs';

/** The commands and events between the two sides. */
const records = recordTable({
  commands: {
    open: call(numbers(0), json()), // answers with the address of a queue pair
    connect: call(json()),
    serve: post(numbers(1)), // the number of hits to and fro
  },
  events: { ended: numbers(1) },
});

/** The worker's side: one queue pair. A hit is a SEND without bytes; its immediate is the number of hits left. */
class PingPong {
  constructor({ protectionDomain, completionQueue, submission, attach, events, counter }) {
    const queues = { sendQueue: completionQueue, receiveQueue: completionQueue };
    const queuePair = protectionDomain.createQueuePair(queues);
    const hits = counter('hits');
    const receive = () => submission.begin(Opcode.RECEIVE, queuePair.number, 0, 0);
    const hit = (left) => {
      submission.begin(Opcode.SEND_WITH_IMM, queuePair.number, 0, 0);
      submission.immediate(left);
    };
    const onCompletion = (words, base) => {
      if (words[base + CompletionWord.STATUS] !== Status.SUCCESS)
        throw new Error(completionFailure(words, base).reason);
      if (words[base + CompletionWord.OPCODE] !== CompletionOpcode.RECEIVE) return;
      hits.add(1);
      receive();
      const left = words[base + CompletionWord.IMMEDIATE];
      if (left > 0) hit(left - 1);
      if (left < 2) events.ended(left);
    };
    attach(queuePair, { onCompletion });
    receive();
    this.commands = {
      open: () => queuePair.address,
      connect: (address) => queuePair.connect(address),
      serve: (hits) => hit(hits - 1),
    };
    this.stop = () => queuePair.close();
  }
}
export default protocolWorker(records, (context) => new PingPong(context));

/** The application's side: members 0 and 1 exchange addresses over the mesh, then one of them may serve. */
const pingPong = {
  name: 'ping-pong',
  version: 1,
  records,
  worker: new URL(import.meta.url),
  async application({ id, mesh, connect }) {
    const api = { serve: (hits) => worker.serve(hits) };
    let worker;
    api.ended = new Promise((resolve, reject) => {
      worker = connect({ ended: resolve }, reject);
    });
    mesh.send(1 - id, 'ping-pong', await worker.open());
    const address = await new Promise((resolve) =>
      mesh.onMessage('ping-pong', (_from, body) => resolve(body)),
    );
    await worker.connect(address);
    return api;
  },
};

if (isMainThread) {
  const reserved = await reserveLoopbackPorts(2);
  const members = reserved.map(({ host, port }, id) => ({ id, host, port }));
  const nodes = await Promise.all(
    reserved.map(({ server }, id) =>
      Node.join({ id, members, server, device: 'soft', protocols: { game: pingPong } }),
    ),
  );
  nodes[0].game.serve(10_000);
  await Promise.all(nodes.map(({ game }) => game.ended));
  for (const node of nodes) console.log(`member ${node.id}: ${node.counters().named['ping-pong.hits']} hits`);
  await Promise.all(nodes.map((node) => node.close()));
}
