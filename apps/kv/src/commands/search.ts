import { MAX_MATCH_STEPS, MAX_PATTERN_BYTES } from '../limits.js';
import { CommandError } from '../resp/command-error.js';
import type { CommandContext } from './command-context.js';
import { globMatches } from './glob.js';
import { typeOf } from './value.js';

/**
 * Finds keys by a pattern. Matching of a crafted pattern and keys can take very long, and other clients are not served
 * meanwhile: so the effort of one command is bounded.
 */
export class Search {
  readonly #found: string[] = [];
  #steps = 0;

  /** @throws CommandError for a pattern that is too long */
  constructor(
    private readonly x: CommandContext,
    private readonly pattern: string,
    /** Undefined: keys of all types. */
    private readonly type?: string,
  ) {
    if (pattern.length > MAX_PATTERN_BYTES)
      throw new CommandError(`ERR a pattern is over ${MAX_PATTERN_BYTES} bytes`);
    // Also where no key matches: another server may own the slots by now, and have such keys.
    x.reads = true;
  }

  /** @throws CommandError when matching has taken too long */
  spend(steps: number): void {
    this.#steps += steps;
    this.x.effort += steps;
    if (this.#steps > MAX_MATCH_STEPS)
      throw new CommandError('ERR too many keys for this pattern at once: use SCAN, or a simpler pattern');
  }

  /** The keys of a slot that match and have not expired. */
  slot(slot: number): void {
    for (const key of this.x.store.keyspace.allKeys(slot)) this.key(slot, key);
  }

  /** Where the key matches and was removed, the reply waits for its removal. */
  key(slot: number, key: string): void {
    if (!globMatches(this.pattern, key, this)) return;
    const entry = this.x.peek(slot, key);
    if (entry && (this.type === undefined || typeOf(entry) === this.type)) this.#found.push(key);
  }

  tell(): void {
    this.x.writer.array(this.#found.length);
    for (const key of this.#found) this.x.writer.bulk(key);
  }
}
