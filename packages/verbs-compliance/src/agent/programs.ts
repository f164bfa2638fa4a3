/** Loops that run at a peer without messages, because their timing matters. All end by a count or a limit. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RemoteMemory, SendWorkRequest, StatusName } from '@rdmc/verbs';
import { ComplianceError } from '../errors.js';
import { LIMIT_MS } from '../wait.js';
import { drain, takeCompletions } from './queue-calls.js';
import type { AgentState } from './state.js';

export type Remote = RemoteMemory;

export interface StampLoop {
  readonly qp: number;
  readonly cq: number;
  /** Source: the whole range is written each round. */
  readonly region: number;
  readonly remote: Remote;
  /** Interval in bytes at which the round's number is stamped into the source before it is written. */
  readonly strideBytes: number;
  readonly rounds: number;
}

export interface LoopEnd {
  /** Rounds that ended in success. */
  readonly rounds: number;
  /** The error that ended the loop early. */
  readonly failure: StatusName | null;
}

export interface OrderReport {
  /** Scans between the first round and the last one. */
  readonly underWay: number;
  /** First scan that saw a newer unit behind an older one. */
  readonly violation: { readonly unit: number; readonly stamp: number; readonly laterStamp: number } | null;
}

const STAMPED_WORDS_PER_UNIT = 16;
const SPIN_SLICE = 1_000;

/** Small xorshift; the seed must not be 0. */
function randomizer(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 4_294_967_296;
  };
}

function int32(view: Uint8Array): Int32Array<ArrayBuffer> {
  return new Int32Array(view.buffer as ArrayBuffer, view.byteOffset, view.byteLength >> 2);
}

function spin(turns: number): number {
  let x = 1;
  for (let i = 0; i < turns; i += 1) x = (Math.imul(x, 48_271) + i) | 0;
  return x;
}

export function programCalls(state: AgentState) {
  return {
    /** Writes its region to a peer repeatedly, each round stamped with its number from 1. */
    async stampLoop(args: StampLoop): Promise<LoopEnd> {
      const region = state.get('region', args.region);
      const qp = state.get('qp', args.qp);
      const queue = state.get('cq', args.cq);
      const words = int32(region.view());
      const stride = args.strideBytes >> 2;
      for (let round = 1; round <= args.rounds; round += 1) {
        for (let i = 0; i < words.length; i += stride) {
          words.fill(round, i, Math.min(i + STAMPED_WORDS_PER_UNIT, words.length));
        }
        qp.postSend({ id: round, opcode: 'WRITE', sges: [region.sge()], remote: args.remote });
        const [done] = await takeCompletions(queue, 1, 2 * LIMIT_MS);
        if (done!.status !== 'SUCCESS') return { rounds: round - 1, failure: done!.status };
      }
      return { rounds: args.rounds, failure: null };
    },

    /**
     * Blocks its thread and scans its region backwards until the last unit carries `rounds`. Where WRITEs are
     * placed in increasing address order, stamps never fall on the way down. Byte 0 of `begun` becomes 1 first.
     */
    watchOrder(args: {
      region: number;
      begun: number;
      unitBytes: number;
      rounds: number;
      limitMs: number;
    }): OrderReport {
      Atomics.store(state.get('region', args.begun).view(), 0, 1);
      const words = int32(state.get('region', args.region).view());
      const perUnit = args.unitBytes >> 2;
      const units = words.length / perUnit;
      const end = performance.now() + args.limitMs;
      let underWay = 0;
      for (let scans = 1; ; scans += 1) {
        let later = 0;
        for (let unit = units - 1; unit >= 0; unit -= 1) {
          const stamp = Atomics.load(words, unit * perUnit + ((scans + unit) % perUnit));
          if (stamp < later) return { underWay, violation: { unit, stamp, laterStamp: later } };
          later = stamp;
        }
        const last = Atomics.load(words, words.length - 1);
        if (last === args.rounds) return { underWay, violation: null };
        if (last > 0) underWay += 1;
        if (performance.now() > end) {
          throw new ComplianceError(
            'ERR_RDMC_COMPLIANCE_TIMEOUT',
            `Round ${args.rounds} was not written in time`,
          );
        }
      }
    },

    /**
     * Blocks its thread: sets byte `offset` to 1, then runs nothing but a loop until a peer has written
     * `releaseValue` to the next byte. Returns whether that came in time.
     */
    blockUntilWritten(args: {
      region: number;
      offset: number;
      releaseValue: number;
      limitMs: number;
    }): boolean {
      const bytes = state.get('region', args.region).view();
      const end = performance.now() + args.limitMs;
      const nap = new Int32Array(new SharedArrayBuffer(4));
      Atomics.store(bytes, args.offset, 1);
      while (Atomics.load(bytes, args.offset + 1) !== args.releaseValue) {
        if (performance.now() > end) return false;
        Atomics.wait(nap, 0, 0, 0.1);
      }
      return true;
    },

    /** Adds 1 to a remote word `count` times, many in flight; returns every old value that came back. */
    async fetchAddLoop(args: {
      qp: number;
      cq: number;
      region: number;
      remote: Remote;
      count: number;
      window: number;
    }): Promise<number[]> {
      const region = state.get('region', args.region);
      const qp = state.get('qp', args.qp);
      const queue = state.get('cq', args.cq);
      const slots = new BigUint64Array(
        region.view().buffer as ArrayBuffer,
        region.view().byteOffset,
        args.window,
      );
      const olds: number[] = [];
      for (let posted = 0; posted < args.count; ) {
        const burst = Math.min(args.window, args.count - posted);
        const requests: SendWorkRequest[] = Array.from({ length: burst }, (_, slot) => ({
          id: slot,
          opcode: 'FETCH_AND_ADD',
          sges: [region.sge(slot * 8, 8)],
          remote: args.remote,
          compareOrAdd: 1n,
        }));
        qp.postSend(...requests);
        for (const done of await takeCompletions(queue, burst)) {
          if (done.status !== 'SUCCESS') throw new Error(`fetch-and-add ended with ${done.status}`);
          olds.push(Number(slots[done.id]!));
        }
        posted += burst;
        await nextTurn();
      }
      return olds;
    },

    /**
     * `rounds` times: takes a remote lock word by compare-and-swap, adds 1 to the counter beside it by READ and
     * WRITE, releases the lock. Returns how often the lock was found taken.
     */
    async lockLoop(args: {
      qp: number;
      cq: number;
      region: number;
      lock: Remote;
      owner: number;
      rounds: number;
    }): Promise<number> {
      const region = state.get('region', args.region);
      const qp = state.get('qp', args.qp);
      const queue = state.get('cq', args.cq);
      const local = new BigUint64Array(region.view().buffer as ArrayBuffer, region.view().byteOffset, 2);
      const counter = { address: args.lock.address + 8, rkey: args.lock.rkey };
      const owner = BigInt(args.owner);
      const run = async (request: Omit<SendWorkRequest, 'id'>): Promise<void> => {
        qp.postSend({ id: 0, ...request });
        const [done] = await takeCompletions(queue, 1);
        if (done!.status !== 'SUCCESS') throw new Error(`${request.opcode} ended with ${done!.status}`);
      };
      const swap = (compareOrAdd: bigint, to: bigint): Promise<void> => {
        const sges = [region.sge(0, 8)];
        return run({ opcode: 'COMPARE_AND_SWAP', sges, remote: args.lock, compareOrAdd, swap: to });
      };
      let contended = 0;
      for (let round = 0; round < args.rounds; round += 1) {
        for (await swap(0n, owner); local[0] !== 0n; await swap(0n, owner)) {
          contended += 1;
          await nextTurn();
        }
        await run({ opcode: 'READ', sges: [region.sge(8, 8)], remote: counter });
        local[1]! += 1n;
        await run({ opcode: 'WRITE', sges: [region.sge(8, 8)], remote: counter });
        await swap(owner, 0n);
        if (local[0] !== owner) throw new Error(`lock held by ${local[0]} while owner ${owner} had it`);
      }
      return contended;
    },

    /**
     * One side of a ping-pong that sleeps between messages: arms, polls once more, waits for the event. Random
     * delays before each step move the arrival over every gap between them. Returns the events slept for.
     */
    async pingPong(args: {
      qp: number;
      cq: number;
      channel: number;
      rounds: number;
      seed: number;
      serves: boolean;
    }): Promise<number> {
      const qp = state.get('qp', args.qp);
      const queue = state.get('cq', args.cq);
      const channel = state.get('channel', args.channel);
      const random = randomizer(args.seed);
      let slept = 0;
      const send = (round: number): void => {
        qp.postSend({ id: round, opcode: 'SEND', signaled: round % 16 === 0 });
      };
      const received = (): boolean => {
        drain(queue);
        const at = queue.backlog.findIndex((done) => done.opcode === 'RECEIVE');
        const failed = queue.backlog.find((done) => done.status !== 'SUCCESS');
        if (failed) throw new Error(`round ended with ${failed.status}`);
        if (at < 0) queue.backlog.length = 0;
        else queue.backlog.splice(0, at + 1);
        return at >= 0;
      };
      if (args.serves) send(0);
      for (let round = 1; round <= args.rounds; round += 1) {
        for (let arrived = false; !arrived; ) {
          spin(random() * SPIN_SLICE);
          const seen = channel.events;
          queue.queue.arm();
          spin(random() * SPIN_SLICE);
          arrived = received();
          if (arrived) break;
          slept += 1;
          await channel.sleep(seen);
          arrived = received();
        }
        qp.postReceive({ id: round });
        spin(random() * SPIN_SLICE);
        if (round < args.rounds || !args.serves) send(round);
      }
      return slept;
    },
  };
}
