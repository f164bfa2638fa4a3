import { setImmediate as nextTurn } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import type {
  ConnectOptions,
  QueuePairAddress,
  QueuePairStateName,
  ReceiveWorkRequest,
  SendWorkRequest,
  WorkCompletion,
} from '@rdmc/verbs';
import { Opcode, type RemoteMemory, WorkRequestFlag } from '@rdmc/verbs';
import { LIMIT_MS, waitFor } from '../wait.js';
import { type AgentState, ChannelState, type QueueState } from './state.js';

export interface QueuePairInfo {
  readonly qp: number;
  readonly number: number;
  readonly address: QueuePairAddress;
}

export interface QueuePairSettings {
  readonly sendDepth?: number;
  readonly receiveDepth?: number;
  readonly signalAll?: boolean;
}

/** The WRITEs of one queue pair. */
export interface WritesTogether {
  readonly qp: number;
  readonly remote: RemoteMemory;
  readonly count: number;
  /** Default: the whole region. */
  readonly byteLength?: number;
}

const SETTLING_TURNS = 5;

/** Moves the device's completions into the backlog. */
export function drain(state: QueueState): void {
  state.backlog.push(...state.queue.poll());
}

/** Takes `count` completions, waiting for them. */
export async function takeCompletions(
  state: QueueState,
  count: number,
  limitMs?: number,
): Promise<WorkCompletion[]> {
  return waitFor(
    () => `${count} completions; ${state.backlog.length} came: ${JSON.stringify(state.backlog.slice(0, 4))}`,
    () => {
      if (state.backlog.length < count) drain(state);
      return state.backlog.length >= count ? state.backlog.splice(0, count) : undefined;
    },
    limitMs,
  );
}

/** Calls about completion queues, channels and queue pairs. */
export function queueCalls(state: AgentState) {
  return {
    createChannel(args: { device: number }): number {
      const channel = state.get('device', args.device).createCompletionChannel();
      return state.add('channel', new ChannelState(channel));
    },
    /** Events so far, after enough turns to have seen a descriptor that is readable now. */
    async events(args: { channel: number }): Promise<number> {
      for (let turn = 0; turn < SETTLING_TURNS; turn += 1) await nextTurn();
      return state.get('channel', args.channel).events;
    },
    async waitEvent(args: { channel: number; beyond: number; limitMs?: number }): Promise<number> {
      const entry = state.get('channel', args.channel);
      await entry.sleep(args.beyond, args.limitMs);
      return entry.events;
    },
    createCompletionQueue(args: { device: number; depth?: number; channel?: number }): number {
      const device = state.get('device', args.device);
      const queue = device.createCompletionQueue({
        ...(args.depth === undefined ? {} : { depth: args.depth }),
        ...(args.channel === undefined ? {} : { channel: state.get('channel', args.channel).channel }),
      });
      return state.add('cq', { queue, backlog: [] });
    },
    arm(args: { cq: number; solicitedOnly?: boolean }): void {
      state.get('cq', args.cq).queue.arm({ solicitedOnly: args.solicitedOnly ?? false });
    },
    /** Waits for `count` completions and takes them. */
    poll(args: { cq: number; count: number; limitMs?: number }): Promise<WorkCompletion[]> {
      return takeCompletions(state.get('cq', args.cq), args.count, args.limitMs);
    },
    /** Blocks the thread until there are completions, or for that long, and takes them. */
    waitBlocked(args: { cq: number; limitMs?: number }): WorkCompletion[] {
      const { queue, backlog } = state.get('cq', args.cq);
      const end = Date.now() + (args.limitMs ?? LIMIT_MS);
      do backlog.push(...queue.wait(Math.max(0, end - Date.now())));
      while (backlog.length === 0 && Date.now() < end);
      return backlog.splice(0);
    },
    /** Takes the completions that are there now. */
    pollNow(args: { cq: number }): WorkCompletion[] {
      const entry = state.get('cq', args.cq);
      drain(entry);
      return entry.backlog.splice(0);
    },

    createQueuePair(args: { pd: number; cq: number; receiveCq?: number } & QueuePairSettings): QueuePairInfo {
      const { pd, cq, receiveCq, ...settings } = args;
      const pair = state.get('pd', pd).createQueuePair({
        sendQueue: state.get('cq', cq).queue,
        receiveQueue: state.get('cq', receiveCq ?? cq).queue,
        ...settings,
      });
      return { qp: state.add('qp', pair), number: pair.number, address: pair.address };
    },
    connect(args: { qp: number; address: QueuePairAddress; options: ConnectOptions }): Promise<void> {
      return state.get('qp', args.qp).connect(args.address, args.options);
    },
    qpState: (args: { qp: number }): QueuePairStateName => state.get('qp', args.qp).state,
    async waitQpState(args: { qp: number; wanted: string; limitMs?: number }): Promise<void> {
      const qp = state.get('qp', args.qp);
      const reached = (): true | undefined => (qp.state === args.wanted ? true : undefined);
      await waitFor(() => `queue pair state ${args.wanted}, it is ${qp.state}`, reached, args.limitMs);
    },
    transport: (args: { qp: number }): string => state.get('qp', args.qp).transport,
    postSend(args: { qp: number; requests: readonly SendWorkRequest[] }): void {
      state.get('qp', args.qp).postSend(...args.requests);
    },
    /** Posts signaled WRITEs of a whole region, or of its first bytes, on several queue pairs by one doorbell. */
    postWritesTogether(args: { device: number; region: number; targets: readonly WritesTogether[] }): void {
      const batch = state.get('device', args.device).createSubmissionQueue();
      const { address, byteLength: all, lkey } = state.get('region', args.region).sge();
      for (const { qp, remote, count, byteLength = all } of args.targets) {
        for (let id = 0; id < count; id += 1) {
          batch.begin(Opcode.WRITE, state.get('qp', qp).number, id, WorkRequestFlag.SIGNALED);
          batch.sge(address, byteLength, lkey);
          batch.remote(remote.address, remote.rkey);
        }
      }
      batch.flush();
    },
    /** Posts inline bytes and overwrites the caller's copy in the same turn. */
    postInlineAndScribble(args: { qp: number; request: SendWorkRequest }): void {
      const { inline } = args.request;
      state.get('qp', args.qp).postSend(args.request);
      inline?.fill(0xee);
    },
    postReceive(args: { qp: number; requests: readonly ReceiveWorkRequest[] }): void {
      state.get('qp', args.qp).postReceive(...args.requests);
    },
    /** Moves to the error state and, in the same turn, takes the checksum that must never change again. */
    modifyToError(args: { qp: number; region?: number }): number {
      state.get('qp', args.qp).modifyToError();
      return args.region === undefined ? 0 : crc32(state.get('region', args.region).view());
    },
    /** As `modifyToError`, by destroying the queue pair. */
    async closeQueuePair(args: { qp: number; region?: number }): Promise<number> {
      const closing = state.get('qp', args.qp).close();
      const sum = args.region === undefined ? 0 : crc32(state.get('region', args.region).view());
      await closing;
      return sum;
    },
  };
}
