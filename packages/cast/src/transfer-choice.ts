import { type Algorithm, createSchedule, type RackId } from '@rdmc/schedule';
import { messageSize } from './message-size.js';
import { streamBlockSize } from './stream-block-size.js';

/** What is known when the receivers have said what they lack. */
export interface TransferFacts {
  /** Bytes of contents of the largest stream of the cast. */
  readonly contentBytes: number;
  /** Members of the group, the sender included. */
  readonly members: number;
  /** Racks of all members, the sender's first; undefined where the rack of a receiver is not known. */
  readonly racks: readonly RackId[] | undefined;
  /** Whether all members share memory, so that no link carries blocks. */
  readonly sharesMemory: boolean;
}

/** What is asked for. */
export interface TransferWishes {
  /** Undefined: what the facts say. */
  readonly algorithm?: Algorithm | undefined;
  /** 'auto': what the facts say. */
  readonly blockBytes: 'auto' | number;
  /** Most bytes of a message (default: 8 MiB). */
  readonly messageBytes?: number | undefined;
  /** Bytes per second of the sender (default: no limit). */
  readonly bandwidthLimit?: number | undefined;
}

/** How the messages of a cast are sent. */
export interface TransferChoice {
  /** Of every group of the cast. */
  readonly algorithm: Algorithm;
  /** Largest message. */
  readonly messageBytes: number;
  /** Bytes of a block. */
  readonly blockBytes: number;
  /** Why that algorithm, for people. */
  readonly algorithmReason: string;
  /** Why blocks of that size, for people. */
  readonly blockReason: string;
}

type AlgorithmChoice = Pick<TransferChoice, 'algorithm' | 'algorithmReason'>;

/** Blocks of a schedule that is taken apart to count the steps of its start-up. */
const SAMPLE_BLOCKS = 64;
/**
 * A chain is chosen where its start-up exceeds that of the hybrid schedule by at most this share of the whole. Measured: see
 * "Racks" in docs/results/network.md.
 */
const MOST_CHAIN_EXCESS = 1 / 3;

/**
 * Chooses algorithm, messages and blocks. What was asked for is taken. Else, the first rule that applies decides:
 *
 *   1  all members share memory            binomial pipeline   no link is shared, and racks have no effect
 *   2  not all racks are known             binomial pipeline   of all algorithms, a slow link delays it least
 *   3  one rack, or one member in each     binomial pipeline   no uplink is shared by members
 *   4  many blocks for each member         chain, by rack      each uplink carries each byte once, from one connection
 *   5  few blocks for each member          hybrid              each uplink carries each byte once, with a shorter start-up
 *
 * A chain by rack visits one rack after the other. Members of a rack send out by turns with hybrid, so that its uplink is never
 * as full as that of a chain. A chain takes n - 2 steps until its last member works; hybrid takes about log2(racks) log2(members
 * of a rack). The rate of the links is not among the facts: at 50, 100 and 400 Mbit/s hybrid was as fast as the chain or slower
 * (docs/results/network.md, "Racks").
 */
export function chooseTransfer(facts: TransferFacts, wishes: TransferWishes): TransferChoice {
  const messageBytes = messageSize(facts.contentBytes, wishes.messageBytes, wishes.bandwidthLimit);
  const chosen = algorithmFor(facts, wishes, messageBytes);
  if (wishes.blockBytes !== 'auto')
    return { ...chosen, messageBytes, blockBytes: wishes.blockBytes, blockReason: 'asked for' };
  const blockBytes = automaticBytes(facts, chosen.algorithm, messageBytes);
  return { ...chosen, messageBytes, blockBytes, blockReason: describeBlocks(facts, chosen.algorithm) };
}

function algorithmFor(facts: TransferFacts, wishes: TransferWishes, messageBytes: number): AlgorithmChoice {
  const { members, racks, sharesMemory, contentBytes } = facts;
  if (wishes.algorithm) return { algorithm: wishes.algorithm, algorithmReason: 'asked for' };
  const pipeline = (algorithmReason: string): AlgorithmChoice => ({
    algorithm: 'binomial-pipeline',
    algorithmReason,
  });
  if (sharesMemory) return pipeline('all members share memory');
  if (!racks) return pipeline('racks are not known, and a slow link delays it least');
  const count = new Set(racks).size;
  if (count === 1) return pipeline('all members are in one rack');
  if (count === members) return pipeline('each member has a rack of its own');
  const blockBytes =
    wishes.blockBytes === 'auto' ? automaticBytes(facts, 'chain', messageBytes) : wishes.blockBytes;
  const blocks = Math.max(1, Math.ceil(contentBytes / blockBytes));
  const excess = startUpSteps('chain', facts) - startUpSteps('hybrid', facts);
  if (excess <= blocks * MOST_CHAIN_EXCESS) {
    const algorithmReason = `${count} racks: ordered by rack, it crosses each uplink once`;
    return { algorithm: 'chain', algorithmReason };
  }
  const algorithmReason = `${count} racks, and only ${blocks} ${blocks === 1 ? 'block' : 'blocks'} for ${members} members: it crosses each uplink once, and starts faster than a chain`;
  return { algorithm: 'hybrid', algorithmReason };
}

function automaticBytes(facts: TransferFacts, algorithm: Algorithm, messageBytes: number): number {
  const { contentBytes, members, sharesMemory } = facts;
  const transports = [sharesMemory ? 'shm' : 'tcp'];
  return streamBlockSize({ contentBytes, messageBytes, members, transports, algorithm });
}

function describeBlocks(facts: TransferFacts, algorithm: Algorithm): string {
  const { members, sharesMemory } = facts;
  if (sharesMemory) return `for ${members} members that share memory`;
  const steps = startUpSteps(algorithm, facts);
  return `for ${members} members over a network, and ${steps} ${steps === 1 ? 'step' : 'steps'} of start-up`;
}

/** Steps that a schedule takes beside one for each block. */
function startUpSteps(algorithm: Algorithm, { members, racks }: TransferFacts): number {
  const schedule = createSchedule({
    algorithm,
    nodes: members,
    blocks: SAMPLE_BLOCKS,
    ...(algorithm === 'hybrid' && racks && { racks }),
  });
  return schedule.steps - SAMPLE_BLOCKS;
}

/**
 * The receivers of a chain that visits one rack after the other, the sender's first; otherwise in their order.
 * @param racks of the receivers
 */
export function byRack<T>(receivers: readonly T[], racks: readonly RackId[], senderRack: RackId): T[] {
  const order = [...new Set([senderRack, ...racks])];
  return order.flatMap((rack) => receivers.filter((_, index) => racks[index] === rack));
}
