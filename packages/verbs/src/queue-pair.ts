import { Tracer } from '@rdmc/common';
import { MAX_SERVICE_LEVEL, MAX_TRAFFIC_CLASS, MAX_WEIGHT } from './connect-limits.js';
import { Opcode, QueuePairState, type QueuePairStateName, WorkRequestFlag } from './constants.js';
import type {
  ConnectOptions,
  OpenDevice,
  QueuePairAddress,
  QueuePairAttributes,
  ReceiveWorkRequest,
  SendWorkRequest,
  WaitCondition,
} from './contract.js';
import { VerbsError } from './errors.js';
import { closeUnlessGone, native } from './native.js';
import { integerOption, onlyKnownOptions } from './options.js';
import { postAll, postReceives } from './posting.js';
import { isAtomic, type SubmissionQueue } from './submission-queue.js';

const STATE_NAMES = new Map<number, QueuePairStateName>(
  Object.entries(QueuePairState).map(([name, value]) => [value, name as QueuePairStateName]),
);
const KNOWN_CONNECT_OPTIONS = [
  'rnrRetries',
  'rnrTimerMs',
  'retryTimeoutMs',
  'weight',
  'trafficClass',
  'serviceLevel',
];
const LOW_32 = 0xffff_ffffn;
const connectTrace = new Tracer<{ readonly queuePair: number; readonly kind: string }>('@rdmc/verbs:connect');
/** The operations of `postSend`. A map does not have inherited names. */
const SEND_OPCODES = new Map<string, number>(
  Object.entries(Opcode).filter(([, opcode]) => opcode !== Opcode.RECEIVE),
);

/** Whether the operation has a target in the peer's memory. */
function hasTarget(opcode: number): boolean {
  return opcode !== Opcode.SEND && opcode !== Opcode.SEND_WITH_IMM;
}

/**
 * A reliable connection (RC): in order, exactly once, access checked. Usable by one thread at a time.
 * Create it, give `address` to the other side by any means, `connect` to the other side's address.
 */
export class QueuePair {
  #closed = false;
  #connecting: Promise<void> | undefined;
  /** The address of this queue pair for the other side: plain JSON. */
  readonly address: QueuePairAddress;

  /** @internal */
  constructor(
    /** The device that it belongs to. */
    readonly device: OpenDevice,
    /** The number in completions, and the one that work requests are posted to. */
    readonly number: number,
  ) {
    this.address = native().queuePairAddress(device.handle, number) as unknown as QueuePairAddress;
  }

  /** Its present state; 'ERROR' after `close`. A call of the addon. */
  get state(): QueuePairStateName {
    if (this.#closed) return 'ERROR';
    return STATE_NAMES.get(native().queuePairState(this.device.handle, this.number)) ?? 'ERROR';
  }

  /** Once connected: 'shm' or 'tcp' on the soft device, 'roce' or 'infiniband' on an RDMA device; before, ''. */
  get transport(): string {
    return native().queuePairTransport(this.device.handle, this.number);
  }

  /**
   * Connects to the peer with this `address`; the peer does the same with ours, in any order.
   * Resolves when requests may be posted. Requests to a peer that has not connected yet wait for it,
   * `retryTimeoutMs` at most. Does not run on a JavaScript thread.
   * @throws VerbsError ERR_RDMC_INVALID_ADDRESS, ERR_RDMC_CONNECT_FAILED, ERR_RDMC_WRONG_KEY, ERR_RDMC_PROTOCOL_VERSION
   */
  async connect(remote: QueuePairAddress, options: ConnectOptions = {}): Promise<void> {
    onlyKnownOptions('connect', options, KNOWN_CONNECT_OPTIONS);
    if (typeof remote !== 'object' || remote === null || typeof remote.kind !== 'string') {
      throw new VerbsError('ERR_RDMC_INVALID_ADDRESS', 'connect: needs the address of the other queue pair');
    }
    const { handle } = this.device;
    const integer = (name: keyof ConnectOptions, byDefault: number, least: number, most: number) =>
      integerOption('connect', name, options[name] ?? byDefault, least, most);
    const parameters = [
      integer('rnrRetries', 7, 0, 7),
      integer('rnrTimerMs', 10, 1, 655),
      integer('retryTimeoutMs', 2000, 1, 600_000),
      integer('weight', 1, 1, MAX_WEIGHT),
      integer('trafficClass', 0, 0, MAX_TRAFFIC_CLASS),
      integer('serviceLevel', 0, 0, MAX_SERVICE_LEVEL),
    ] as const;
    this.#connecting = connectTrace.promise(
      () => ({ queuePair: this.number, kind: remote.kind }),
      () => native().queuePairConnect(handle, this.number, remote, ...parameters),
    );
    await this.#connecting;
  }

  /**
   * Posts send requests, all at once.
   * @throws PostError with the refused request's index; memory of accepted ones belongs to the device until they complete
   */
  postSend(...requests: readonly SendWorkRequest[]): void {
    postAll(this.device, requests, (batch, request) => this.#write(batch, request));
  }

  /** Posts receives. @throws PostError */
  postReceive(...requests: readonly ReceiveWorkRequest[]): void {
    postReceives(this.device, this.number, requests);
  }

  /**
   * The device's present attributes of this queue pair: state, depths, retries, and on RDMA devices
   * path MTU, packet numbers and the peer's number (ibv_query_qp). On the soft device `brokenByWait` is 1 if it failed
   * because a request of it waited for one that failed.
   * @throws VerbsError ERR_RDMC_QUEUE_PAIR_CLOSED
   */
  queryAttributes(): QueuePairAttributes {
    const { state, ...rest } = native().queuePairAttributes(this.device.handle, this.number);
    return { ...rest, state: STATE_NAMES.get(state!) ?? 'ERROR' };
  }

  /**
   * Whether a WRITE through this queue pair places its bytes in increasing address order
   * (ibv_query_qp_data_in_order; false if the library is too old for it).
   */
  queryDataInOrder(): boolean {
    return native().queuePairDataInOrder(this.device.handle, this.number);
  }

  /**
   * Moves to the error state. A barrier: after it returns, the peer does not change any byte through this queue pair.
   * Posted requests complete with WORK_REQUEST_FLUSHED, in order. Returns within milliseconds if the device
   * reports that it has finished; if it does not, the hardware's queue pair is destroyed after 2 seconds (0.2 with a
   * shared receive queue).
   */
  modifyToError(): void {
    if (!this.#closed) native().queuePairError(this.device.handle, this.number);
  }

  /**
   * Destroys the queue pair; its unpolled completions are dropped. A barrier; idempotent. Resolves after a pending
   * connect has ended: then its queues and its protection domain can be closed.
   * @throws VerbsError ERR_RDMC_QUEUE_PAIR_BUSY while a stopped peer may still write, and memory to prevent that is missing
   */
  async close(): Promise<void> {
    if (!this.#closed) {
      closeUnlessGone(() => native().queuePairDestroy(this.device.handle, this.number));
      this.#closed = true;
    }
    await this.#connecting?.catch(() => undefined);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #write(batch: SubmissionQueue, request: SendWorkRequest): void {
    const opcode = SEND_OPCODES.get(request.opcode);
    if (opcode === undefined)
      throw new VerbsError('ERR_RDMC_UNKNOWN_OPCODE', `No operation '${request.opcode}'`);
    if (!request.remote && hasTarget(opcode)) {
      throw new VerbsError(
        'ERR_RDMC_INVALID_OPTION',
        `${request.opcode} needs remote: address and key of the peer's memory`,
      );
    }
    const flags =
      ((request.signaled ?? true) ? WorkRequestFlag.SIGNALED : 0) |
      (request.fence ? WorkRequestFlag.FENCE : 0) |
      (request.solicited ? WorkRequestFlag.SOLICITED : 0);
    batch.begin(opcode, this.number, request.id, flags);
    for (const sge of request.sges ?? []) batch.sge(sge.address, sge.byteLength, sge.lkey);
    if (request.inline !== undefined && !(request.inline instanceof Uint8Array)) {
      throw new VerbsError('ERR_RDMC_INVALID_OPTION', 'Inline data must be a Uint8Array');
    }
    if (request.inline) batch.inline(request.inline);
    if (request.remote) batch.remote(request.remote.address, request.remote.rkey);
    if (request.immediate !== undefined) batch.immediate(request.immediate);
    if (request.waitFor !== undefined) this.#wait(batch, request.waitFor);
    if (isAtomic(opcode)) {
      const first = BigInt.asUintN(64, request.compareOrAdd ?? 0n);
      const swap = BigInt.asUintN(64, request.swap ?? 0n);
      batch.atomic(Number(first & LOW_32), Number(first >> 32n), Number(swap & LOW_32), Number(swap >> 32n));
    }
  }

  #wait(batch: SubmissionQueue, conditions: readonly WaitCondition[]): void {
    if (!this.device.attributes.waitFor) {
      throw new VerbsError(
        'ERR_RDMC_UNSUPPORTED',
        'The device does not execute requests that wait (waitFor)',
      );
    }
    for (const { queuePair, receives } of conditions) {
      if (queuePair?.device === undefined) {
        throw new VerbsError('ERR_RDMC_INVALID_OPTION', 'waitFor: a condition needs a queue pair');
      }
      if (queuePair.device.handle !== this.device.handle) {
        throw new VerbsError(
          'ERR_RDMC_WAIT_UNKNOWN',
          `Queue pair ${queuePair.number}, which the request waits for, is one of another device`,
        );
      }
      integerOption('postSend', 'waitFor.receives', receives, 1, Number.MAX_SAFE_INTEGER);
      batch.waitFor(queuePair.number, receives);
    }
  }
}
