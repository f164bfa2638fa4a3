import type { CastProgress } from '@rdmc/cast';
import type { Gathering } from '../commands/gathering-options.js';
import { plural } from '../ui/units.js';

/** Whether receivers may begin at different times. */
export function isGathering({ waitFor, joinWindowMs }: Partial<Gathering>): boolean {
  return waitFor !== undefined || joinWindowMs !== undefined;
}

/** A receiver that has answered. */
export interface JoinedReceiver {
  readonly name: string;
  readonly hostName: string | null;
  /** How many have answered, this one included, and have not been lost. */
  readonly here: number;
}

/** Finds, in the snapshots of a gathering cast, which receivers have answered. */
export class Joining {
  readonly #here = new Set<string>();

  constructor(
    private readonly waitFor: number,
    private readonly receivers: number,
  ) {}

  /** Those that have answered since the last snapshot. One that is lost, and answers again, joins again. */
  next({ receivers }: CastProgress): JoinedReceiver[] {
    const joined: JoinedReceiver[] = [];
    for (const { name, state, hostName = null } of receivers) {
      if (state === 'connecting' || state === 'failed') this.#here.delete(name);
      else if (!this.#here.has(name)) {
        this.#here.add(name);
        joined.push({ name, hostName, here: this.#here.size });
      }
    }
    return joined;
  }

  /** The line of a receiver that has joined. */
  describe({ name, here }: JoinedReceiver): string {
    const all = `${here} of ${plural(this.receivers, 'receiver')}`;
    if (here < this.waitFor) return `  ${name} is there: ${all}, the cast begins with ${this.waitFor}`;
    return `  ${name} is there: ${all}`;
  }
}
