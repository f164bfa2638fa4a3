/** The other process of a point-to-point benchmark. Takes commands over IPC; never outlives its parent. */
import type { QueuePairAddress } from '@rdmc/verbs';
import { codeOf, messageOf } from '../errors.js';
import { onParentGone } from '../member/orphan-watch.js';
import { Endpoint } from './endpoint.js';
import { LatencyWord, OUTGOING_OFFSET } from './latency-word.js';
import { RECEIVE_DEPTH, SEND_DEPTH } from './limits.js';
import { type PairCommand, type PairReport, pairCommand } from './pair-messages.js';
import type { BenchDevice } from './route.js';

type CommandOf<Type extends PairCommand['type']> = Extract<PairCommand, { type: Type }>;

function tell(report: PairReport): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected) process.send!(report, () => resolve());
    else resolve();
  });
}

const SIGNAL_EVERY = SEND_DEPTH / 2;

/** Posts receives up to the depth of the queue, or to the number of messages still expected. */
class ReceiveFeed {
  #posted = 0;

  constructor(
    private readonly endpoint: Endpoint,
    private readonly messages: number,
    private readonly byteLength: number,
  ) {}

  fill(taken: number): void {
    const target = Math.min(this.messages, taken + RECEIVE_DEPTH);
    if (this.#posted === target) return;
    for (; this.#posted < target; this.#posted += 1) this.endpoint.beginReceive(this.byteLength, 0);
    this.endpoint.flush();
  }
}

async function take(endpoint: Endpoint, { messages, byteLength }: CommandOf<'take'>): Promise<void> {
  const feed = new ReceiveFeed(endpoint, messages, byteLength);
  feed.fill(0);
  await tell({ type: 'running' });
  let taken = 0;
  while (taken < messages) {
    let fresh = 0;
    endpoint.spinUntil(() => {
      fresh = endpoint.received();
      return fresh > 0;
    });
    taken += fresh;
    feed.fill(taken);
  }
}

async function answer(endpoint: Endpoint, command: CommandOf<'answer'>): Promise<void> {
  const { operation, rounds, byteLength, remote } = command;
  const word = new LatencyWord(endpoint.region, byteLength);
  const feed = new ReceiveFeed(endpoint, operation === 'send' ? rounds : 0, byteLength);
  word.clear();
  feed.fill(0);
  await tell({ type: 'running' });
  for (let round = 1; round <= rounds; round += 1) {
    if (operation === 'write') endpoint.spinUntil(() => word.holds(round));
    else endpoint.spinUntil(() => endpoint.received() > 0);
    feed.fill(round);
    word.prepare(round);
    const signaled = round % SIGNAL_EVERY === 0;
    endpoint.begin(operation, byteLength, OUTGOING_OFFSET, signaled);
    if (operation !== 'send') endpoint.to(remote);
    endpoint.flush();
    if (signaled) endpoint.spinUntil(() => endpoint.sent() > 0);
  }
}

async function execute(endpoint: Endpoint, command: PairCommand): Promise<void> {
  if (command.type === 'connect') {
    await endpoint.queuePair.connect(command.address as QueuePairAddress, { rnrTimerMs: 1 });
    await tell({ type: 'connected' });
    return;
  }
  if (command.type === 'take') await take(endpoint, command);
  else await answer(endpoint, command);
  await tell({ type: 'done' });
}

function fail(error: unknown): void {
  const code = codeOf(error) ?? 'ERR_RDMC_UNEXPECTED';
  void tell({ type: 'failed', code, message: messageOf(error) }).then(() => process.exit(1));
}

onParentGone(() => process.exit(0));
process.on('uncaughtException', fail);
const [device, transport] = process.argv.slice(2) as [string, BenchDevice['transport']];
const endpoint = await Endpoint.open({ device, transport });
process.on('message', (message) => {
  Promise.resolve()
    .then(() => execute(endpoint, pairCommand.parse(message)))
    .catch(fail);
});
await tell({
  type: 'ready',
  address: endpoint.queuePair.address,
  remote: endpoint.region.remote(0),
});
