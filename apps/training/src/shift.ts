import type { Group } from '@rdmc/group';
import type { Requester } from '@rdmc/hipower';
import { beginBoth } from './begin-both.js';
import { gradientsChannel } from './gradients-channel.js';
import type { CrewOrder } from './messages.js';
import { fillGradient, targetOf } from './model.js';
import type { TrainingNode } from './node.js';
import { NumberedFloats, numberedBytes } from './numbered-floats.js';
import { TRAINER } from './settings.js';

/** A worker's part in one crew: its ends of the group and of the channel. */
export class Shift {
  private constructor(
    private readonly group: Group,
    private readonly requester: Requester,
  ) {}

  /** @throws errors of groups and channels; everything is closed then */
  static async begin(node: TrainingNode, { number, workers }: CrewOrder, parameters: number): Promise<Shift> {
    const { groups, channels } = node;
    const channel = gradientsChannel(number, parameters);
    const [group, requester] = await beginBoth((signal) => [
      groups.create({ id: number, members: [TRAINER, ...workers], signal }),
      channels.requester({ ...channel, to: TRAINER, signal }),
    ]);
    return new Shift(group, requester);
  }

  /**
   * Answers parameters with a gradient until the trainer ends the crew.
   * @param before is awaited between the parameters' arrival and the gradient
   */
  async work(worker: number, parameters: number, before: (step: number) => Promise<void>): Promise<void> {
    const target = targetOf(worker, parameters);
    const bytes = new Uint8Array(numberedBytes(parameters));
    const gradient = new NumberedFloats(bytes);
    for await (const message of this.group) {
      const { step, values } = new NumberedFloats(message.view);
      await before(step);
      gradient.step = step;
      fillGradient(gradient.values, values, target);
      message.release();
      await this.requester.write(bytes);
    }
    await this.group.close();
    await this.requester.end();
  }

  /** Closes what has not ended; has no effect afterwards. */
  async close(): Promise<void> {
    await Promise.allSettled([this.group.close(), this.requester.close()]);
  }
}
