import type { Model } from '@rdmc/testing';
import { ChannelModel } from './channel-model.js';
import type { Setting } from './channel-setting.js';

export interface BroadcastSetting extends Setting {
  /** A responder that has everything is dismissed by the requester, and leaves; default: yes. */
  readonly dismisses?: boolean;
  /** The requester dismisses a responder as soon as it has taken the end, released or not. */
  readonly dismissesEarly?: boolean;
  /** A slot counts as free when the first responder has released it. */
  readonly freesAtFirst?: boolean;
}

/**
 * One requester and two responders over two links, one slot. A message is sent on both when both have the slot free; one
 * loss breaks both links, because a generation is of the whole channel; a responder may leave while the other is behind.
 */
export class BroadcastModel implements Model {
  readonly #links: readonly ChannelModel[];
  readonly #words: number;
  readonly #whole: Int32Array;

  constructor(private readonly setting: BroadcastSetting) {
    this.#links = [0, 1].map(() => new ChannelModel(setting));
    this.#words = this.#links[0]!.current().length;
    this.#whole = new Int32Array(2 * this.#words);
  }

  current(): Int32Array {
    this.#links.forEach((link, index) => void this.#whole.set(link.current(), index * this.#words));
    return this.#whole;
  }

  restore(state: Int32Array): void {
    this.#links.forEach((link, index) => {
      link.restore(state.subarray(index * this.#words, (index + 1) * this.#words));
    });
  }

  done(): boolean {
    return this.#links.every((link) => link.done());
  }

  steps(): string[] {
    const each = this.#links.map((link) => link.steps());
    const present = this.#links.map((link) => !link.isDismissed);
    const both = (step: string): boolean => each.every((steps, i) => !present[i] || steps.includes(step));
    const together = ['post', 'lose', 'resume'].filter((step) => present.includes(true) && both(step));
    if (
      this.setting.freesAtFirst &&
      each.some((steps) => steps.includes('post')) &&
      !together.includes('post')
    ) {
      together.push('postWhereFree');
    }
    const alone = each.flatMap((steps, i) =>
      present[i]
        ? steps.filter((step) => !['post', 'lose', 'resume'].includes(step)).map((s) => `${s}@${i}`)
        : [],
    );
    const going = this.#links.flatMap((link, i) => (present[i] && this.#mayGo(link) ? [`dismiss@${i}`] : []));
    return [...together, ...alone, ...going];
  }

  take(step: string): void {
    const [name, index] = step.split('@');
    if (name === 'dismiss') this.#links[Number(index)]!.dismiss();
    else if (index !== undefined) this.#links[Number(index)]!.take(name!);
    else if (name === 'postWhereFree') this.#postAnyway();
    else for (const link of this.#links) if (!link.isDismissed) link.take(name!);
  }

  #mayGo(link: ChannelModel): boolean {
    if (this.setting.dismisses === false) return false;
    return link.hasEnd && (this.setting.dismissesEarly === true || link.hasReleasedAll);
  }

  /** The slot of the slower one is overwritten. */
  #postAnyway(): void {
    for (const link of this.#links) {
      if (!link.steps().includes('post')) link.overwrite();
      else link.take('post');
    }
  }
}
