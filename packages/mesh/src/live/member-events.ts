import { isolate } from '../isolate.js';
import type { MemberEvent } from './member-event.js';

/** Called with one event at a time, in order. */
export type MemberListener = (event: MemberEvent) => void;

/** What one listener has not heard yet. */
interface Subscriber {
  readonly listener: MemberListener;
  readonly waiting: MemberEvent[];
  isBusy: boolean;
}

/**
 * Calls listeners with the events of all peers, in order. A listener first gets `joined` of the peers that are connected. An
 * event that a listener causes comes to every listener after the events before it.
 */
export class MemberEvents {
  readonly #connected = new Map<number, MemberEvent>();
  readonly #subscribers = new Set<Subscriber>();

  publish(event: MemberEvent): void {
    this.#connected.delete(event.member);
    if (event.type === 'joined') this.#connected.set(event.member, event);
    const subscribers = [...this.#subscribers];
    for (const { waiting } of subscribers) waiting.push(event);
    for (const subscriber of subscribers) this.#drain(subscriber);
  }

  subscribe(listener: MemberListener): () => void {
    const subscriber: Subscriber = { listener, waiting: [...this.#connected.values()], isBusy: true };
    this.#subscribers.add(subscriber);
    queueMicrotask(() => {
      subscriber.isBusy = false;
      this.#drain(subscriber);
    });
    return () => {
      this.#subscribers.delete(subscriber);
    };
  }

  clearListeners(): void {
    this.#subscribers.clear();
  }

  #drain(subscriber: Subscriber): void {
    if (subscriber.isBusy) return;
    subscriber.isBusy = true;
    while (subscriber.waiting.length > 0 && this.#subscribers.has(subscriber)) {
      const event = subscriber.waiting.shift()!;
      isolate(() => subscriber.listener(event));
    }
    subscriber.isBusy = false;
  }
}
