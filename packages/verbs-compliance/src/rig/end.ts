import assert from 'node:assert/strict';
import type {
  ConnectOptions,
  QueuePairAddress,
  QueuePairStateName,
  ReceiveWorkRequest,
  SendWorkRequest,
  StatusName,
  WaitCondition,
  WorkCompletion,
} from '@rdmc/verbs';
import type { QueuePairInfo } from '../agent/queue-calls.js';
import type { RegionOwner } from './region.js';

/** A queue pair of a peer with the completion queue it reports to. */
export class End {
  constructor(
    readonly peer: RegionOwner,
    readonly cq: number,
    private readonly info: QueuePairInfo,
  ) {}

  get qp(): number {
    return this.info.qp;
  }
  /** The number completions carry. */
  get number(): number {
    return this.info.number;
  }
  get address(): QueuePairAddress {
    return this.info.address;
  }

  /** That it has received so often, as a condition of a request of the same peer. */
  received(receives: number): WaitCondition {
    return { queuePair: { number: this.number, device: { handle: this.peer.nativeHandle } }, receives };
  }

  connect(address: QueuePairAddress, options: ConnectOptions = {}): Promise<void> {
    return this.peer.call('connect', { qp: this.qp, address, options });
  }

  post(...requests: readonly SendWorkRequest[]): Promise<void> {
    return this.peer.call('postSend', { qp: this.qp, requests });
  }

  receive(...requests: readonly ReceiveWorkRequest[]): Promise<void> {
    return this.peer.call('postReceive', { qp: this.qp, requests });
  }

  /** Waits for the next `count` completions of any kind. */
  poll(count: number, limitMs?: number): Promise<WorkCompletion[]> {
    return this.peer.call('poll', { cq: this.cq, count, ...(limitMs === undefined ? {} : { limitMs }) });
  }

  /** Waits for one completion and asserts that it is a success with this id. */
  async done(id: number, limitMs?: number): Promise<WorkCompletion> {
    const [completion] = await this.poll(1, limitMs);
    assert.equal(completion!.status, 'SUCCESS', `request ${id} of peer ${this.peer.label}`);
    assert.equal(completion!.id, id);
    assert.equal(completion!.queuePair, this.number);
    return completion!;
  }

  /** Waits for as many completions as given and asserts ids and statuses, in this order. */
  async ends(
    expected: readonly (readonly [id: number, status: StatusName])[],
    limitMs?: number,
  ): Promise<void> {
    const completions = await this.poll(expected.length, limitMs);
    const found = completions.map(({ id, status }) => [id, status] as const);
    assert.deepEqual(found, expected);
  }

  /** Asserts that there are no further completions. */
  async nothingMore(): Promise<void> {
    assert.deepEqual(await this.peer.call('pollNow', { cq: this.cq }), []);
  }

  /** Posts one request and waits for its success. */
  async run(request: Omit<SendWorkRequest, 'id'>, id = 1): Promise<WorkCompletion> {
    await this.post({ id, ...request });
    return this.done(id);
  }

  state(): Promise<QueuePairStateName> {
    return this.peer.call('qpState', { qp: this.qp });
  }

  async reaches(wanted: QueuePairStateName, limitMs?: number): Promise<void> {
    const limit = limitMs === undefined ? {} : { limitMs };
    await this.peer.call('waitQpState', { qp: this.qp, wanted, ...limit });
  }

  async modifyToError(): Promise<void> {
    await this.peer.call('modifyToError', { qp: this.qp });
  }

  async close(): Promise<void> {
    await this.peer.call('closeQueuePair', { qp: this.qp });
  }
}
