// One member of a group with stable delivery, as a process.
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { type Group, GroupError, RdmcNode, type ReceivedMessage } from '@rdmc/group';
import { tearWrites } from '@rdmc/verbs';
import { chances } from '../random.js';
import { type Delivery, DeliveryLog } from './delivery-log.js';
import {
  contentOf,
  type Ended,
  type GroupSetup,
  type GroupTold,
  namedIn,
  type ToldError,
  type Trap,
} from './group-messages.js';

/** A sender has enough then: it sends one message at a time, after a pause. */
const MOST_MESSAGES = 4000;
const TAIL_PAUSE_MS = 20;
const SLOW_AFTER = 50;
/** Of each sender in the group of the survivors, at least. */
const AGAIN_MESSAGES = 40;
/** Deliveries between two reports. */
const REPORT_AFTER = 20;

const setup = JSON.parse(process.argv[2]!) as GroupSetup;
const { id, sizes } = setup;
const random = chances(setup.seed + 1000 * id);
let mayFinish = false;

process.on('message', () => {
  mayFinish = true;
});
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));

function say(told: GroupTold): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected) process.send!(told, () => resolve());
    else resolve();
  });
}

async function join(): Promise<RdmcNode> {
  const { members, transport, silenceTimeoutMs, isOpenNetwork, deviceHost } = setup;
  return RdmcNode.join({
    id,
    members: [...members],
    timeoutMs: 120_000,
    windowMs: 0,
    device: { device: 'soft', transport, listen: { host: deviceHost } },
    silenceTimeoutMs,
    ...(silenceTimeoutMs > 0 && { heartbeatMs: Math.floor(silenceTimeoutMs / 4) }),
    ...(isOpenNetwork && { insecureListenBeyondLoopback: true }),
  });
}

/** The process dies soon after it has heard of the first loss. */
function setTrap(node: RdmcNode, trap: Trap): void {
  let isSet = true;
  node.onMember(({ type }) => {
    if (type !== 'lost' || !isSet) return;
    isSet = false;
    if ('tornAfterBytes' in trap) tearWrites(node.device, { afterBytes: trap.tornAfterBytes, kill: true });
    else void dieAfter(trap.turns);
  });
}

async function dieAfter(turns: number): Promise<void> {
  for (let left = turns; left > 0; left -= 1) await turn();
  process.kill(process.pid, 'SIGKILL');
}

/** One group of this member. */
class Part {
  readonly #log: DeliveryLog;
  #sent = 0;

  constructor(
    private readonly group: Group,
    private readonly round: number,
  ) {
    this.#log = new DeliveryLog({ directory: setup.directory, id, round });
  }

  /** Sends and takes until the group ends. Its end is that of `close`, which a sender calls when it has sent all. */
  async take(): Promise<Ended> {
    const { group, round } = this;
    const getsOthers = !group.isRoot || setup.group.senders !== undefined;
    const reading = getsOthers ? codeOf(this.#receive()) : undefined;
    const sendCode = group.isSender ? await codeOf(this.#send()) : undefined;
    if (!group.isSender) await reading;
    if (round === 0) void say({ kind: 'closing' });
    const error = await group.close().then(() => undefined, told);
    const readCode = await reading;
    this.#log.close();
    return {
      ...{ kind: 'ended', round },
      ...(error && { error }),
      ...(readCode && { readCode }),
      ...(sendCode && { sendCode }),
    };
  }

  /** In the first group until the harness ends it. */
  get #hasSentAll(): boolean {
    return this.round === 0 ? mayFinish : this.#sent >= AGAIN_MESSAGES;
  }

  /** Bursts of messages. */
  async #send(): Promise<void> {
    const { group } = this;
    while (!this.#hasSentAll) {
      const isTail = this.#sent >= MOST_MESSAGES;
      const count = isTail ? 1 : random.integer(1, setup.burst);
      this.#log.sends(this.#sent + count);
      const burst = Array.from({ length: count }, (_, index) => contentOf(id, this.#sent + index, sizes));
      this.#sent += count;
      if (random.integer(0, 1) === 1) await group.sendMany(burst);
      else await Promise.all(burst.map((bytes) => group.send(bytes)));
      await (isTail || setup.pauseMs > 0 ? delay(isTail ? TAIL_PAUSE_MS : setup.pauseMs) : turn());
    }
  }

  /** Takes messages until the group has ended. */
  async #receive(): Promise<void> {
    const { group, round } = this;
    let [count, reported, rested] = [0, 0, 0];
    for await (const batch of setup.reads === 'batches' ? group.messages() : oneByOne(group)) {
      this.#log.delivered(batch.map(deliveryOf));
      for (const message of batch) message.release();
      count += batch.length;
      if (round === 0 && (count - reported >= REPORT_AFTER || reported === 0)) {
        reported = count;
        void say({ kind: 'delivered', count });
      }
      if (setup.slowMs > 0 && count - rested >= SLOW_AFTER) {
        rested = count;
        await delay(setup.slowMs);
      }
    }
  }
}

async function* oneByOne(group: Group): AsyncGenerator<readonly ReceivedMessage[]> {
  for await (const message of group) yield [message];
}

function deliveryOf({ view, senderId, number }: ReceivedMessage): Delivery {
  const named = namedIn(view);
  const isDamaged = named.sender !== senderId || !contentOf(named.sender, named.number, sizes).equals(view);
  return { sender: named.sender, index: named.number, number, isDamaged };
}

/** The code of a promise's rejection; undefined: it has resolved. */
async function codeOf(promise: Promise<unknown>): Promise<string | undefined> {
  return promise.then(
    () => undefined,
    (error: unknown) => told(error).code,
  );
}

function told(error: unknown): ToldError {
  if (!(error instanceof GroupError)) {
    return { code: 'UNKNOWN', message: String((error as Error)?.stack ?? error) };
  }
  const { code, message, excluded, delivered, deliveredFrom } = error;
  return {
    ...{ code, message },
    ...(excluded && { excluded }),
    ...(delivered && { delivered: [...delivered] }),
    ...(deliveredFrom && {
      deliveredFrom: [...deliveredFrom].map(([member, counts]) => [member, [...counts]] as const),
    }),
  };
}

/** The first group, which must be created. Returns the error with which it ends. */
async function begin(node: RdmcNode): Promise<ToldError | undefined> {
  const group = await node.createGroup(setup.group);
  const { tornAfterBytes } = setup;
  if (tornAfterBytes !== undefined) tearWrites(node.device, { afterBytes: tornAfterBytes, kill: true });
  await say({ kind: 'open' });
  const end = await new Part(group, 0).take();
  await say(end);
  return end.error;
}

/** The survivors create a new group at once. */
async function goOn(node: RdmcNode, excluded: readonly number[]): Promise<void> {
  const isLeft = (member: number): boolean => !excluded.includes(member);
  const { senders, ...options } = setup.group;
  const members = options.members.filter(isLeft);
  const left = Array.isArray(senders) ? senders.filter(isLeft) : senders;
  if (members.length < 2 || (Array.isArray(left) && left.length === 0)) return;
  const again = { ...options, members, id: options.id + 1, ...(left && { senders: left }) };
  const group = await node.createGroup(again).catch(told);
  if ('code' in group) await say({ kind: 'ended', round: 1, isUnformed: true, error: group });
  else await say(await new Part(group, 1).take());
}

const node = await join();
if (setup.trap) setTrap(node, setup.trap);
const error = await begin(node);
if (setup.again && error?.excluded) await goOn(node, error.excluded);
await node.close();
await say({ kind: 'left' });
process.removeAllListeners('disconnect');
process.disconnect();
