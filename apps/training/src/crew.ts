import type { Group, MemoryRegion } from '@rdmc/group';
import { HiPowerError, type Message, type Responder } from '@rdmc/hipower';
import { beginBoth } from './begin-both.js';
import { TrainingError } from './errors.js';
import { gradientsChannel } from './gradients-channel.js';
import { CrewFailure } from './loss.js';
import { type CrewOrder, Topic } from './messages.js';
import type { TrainingNode } from './node.js';
import { TRAINER } from './settings.js';

/** Result of a step of a crew. */
export interface GatheredStep {
  /** One per worker; their memory is the channel's until they are released. */
  readonly gradients: readonly Message[];
  /** Time until the memory of the parameters was free again. */
  readonly multicastMs: number;
}

/** The trainer's ends of a group, in which it sends the parameters, and of a channel, which gathers the gradients. */
export class Crew {
  private constructor(
    readonly workers: readonly number[],
    private readonly group: Group,
    private readonly gathered: Responder,
  ) {}

  /** @throws CrewFailure */
  static async form(node: TrainingNode, order: CrewOrder, parameters: number): Promise<Crew> {
    const { number, workers } = order;
    const { mesh, groups, channels } = node;
    for (const worker of workers) {
      // The errors of the group and the channel name a lost member.
      if (mesh.peers.get(worker)?.state === 'connected') mesh.send(worker, Topic.CREW, order);
    }
    const channel = gradientsChannel(number, parameters);
    try {
      const [group, gathered] = await beginBoth((signal) => [
        groups.create({ id: number, members: [TRAINER, ...workers], signal }),
        channels.responder({ ...channel, from: workers, signal }),
      ]);
      return new Crew(workers, group, gathered);
    } catch (error) {
      const ofChannel = error instanceof HiPowerError;
      throw new CrewFailure(ofChannel ? undefined : error, ofChannel ? error : undefined);
    }
  }

  get transports(): readonly string[] {
    return this.group.transports;
  }

  /**
   * Sends the parameters to all workers, and receives a gradient of each.
   * @throws CrewFailure, after the memory of the parameters is not used any longer; the crew is closed then
   */
  async step(parameters: MemoryRegion): Promise<GatheredStep> {
    const [sent, gathered] = await Promise.allSettled([this.#multicast(parameters), this.#gather()]);
    if (sent.status === 'fulfilled' && gathered.status === 'fulfilled') {
      return { gradients: gathered.value, multicastMs: sent.value };
    }
    const channel: unknown = gathered.status === 'rejected' ? gathered.reason : undefined;
    throw new CrewFailure(await this.#closeFailed(), channel);
  }

  /** Ends regularly: every worker has received everything, and all its gradients were received. @throws CrewFailure */
  async end(): Promise<void> {
    const ended = [this.group.close(), this.#awaitEnds()];
    const [group, channel] = await Promise.allSettled(ended);
    if (group!.status === 'fulfilled' && channel!.status === 'fulfilled') return this.gathered.close();
    const reason = (result: PromiseSettledResult<void>): unknown =>
      result.status === 'rejected' ? result.reason : undefined;
    await this.gathered.close();
    throw new CrewFailure(reason(group!), reason(channel!));
  }

  async #multicast(parameters: MemoryRegion): Promise<number> {
    const startedAt = performance.now();
    await this.group.send(parameters);
    return performance.now() - startedAt;
  }

  async #gather(): Promise<Message[]> {
    const messages: Message[] = [];
    const iterator = this.gathered[Symbol.asyncIterator]();
    try {
      while (messages.length < this.workers.length) {
        const { value } = await iterator.next();
        if (!value) throw wrongCount('a worker ended its gradients before the last step');
        messages.push(value);
      }
    } finally {
      await iterator.return();
    }
    return messages.sort((one, other) => one.from - other.from);
  }

  async #awaitEnds(): Promise<void> {
    while (await this.gathered.readable()) {
      if (this.gathered.take() >= 0) throw wrongCount('a worker sent more gradients than there were steps');
    }
  }

  /** Resolves with the group's error, if it failed. */
  async #closeFailed(): Promise<unknown> {
    const failed = await this.group.close().then(
      () => undefined,
      (error: unknown) => error,
    );
    await this.gathered.close();
    return failed;
  }
}

function wrongCount(message: string): TrainingError {
  return new TrainingError('ERR_RDMC_TRAINING_MISMATCH', message, 3);
}
