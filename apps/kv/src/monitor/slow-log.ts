import type { Arguments } from '../resp/arguments.js';

/** As Redis: of a command, so many arguments are kept, and so many characters of each. */
const [MOST_ARGUMENTS, MOST_CHARACTERS] = [32, 128] as const;

export interface SlowCommand {
  /** Rises with each slow command. */
  readonly id: number;
  /** Seconds since 1970. */
  readonly at: number;
  readonly durationUs: number;
  /** The command and its arguments, shortened. */
  readonly words: readonly string[];
  /** Of the client; empty: the command came from another server. */
  readonly address: string;
  readonly name: string;
}

/** The latest commands that took longer than a threshold. */
export class SlowLog {
  readonly #commands: SlowCommand[] = [];
  /** Number of slow commands since the start. */
  total = 0;

  constructor(
    /** Microseconds; negative: no command is slow. */
    readonly thresholdUs: number,
    /** So many commands are kept. */
    readonly mostCommands: number,
  ) {}

  get length(): number {
    return this.#commands.length;
  }

  /** The latest first. */
  latest(count: number): readonly SlowCommand[] {
    return this.#commands.slice(-count).reverse();
  }

  reset(): void {
    this.#commands.length = 0;
  }

  /** Keeps a command that ended just now, if it was slow. */
  add(
    args: Arguments,
    durationMs: number,
    client: { readonly address: string; readonly name: string },
  ): void {
    const durationUs = Math.round(durationMs * 1000);
    if (this.thresholdUs < 0 || durationUs < this.thresholdUs) return;
    const { address, name } = client;
    const at = Math.floor(Date.now() / 1000);
    this.#commands.push({ id: this.total, at, durationUs, words: shortened(args), address, name });
    this.total += 1;
    if (this.#commands.length > this.mostCommands) this.#commands.shift();
  }
}

function shortened(args: Arguments): string[] {
  const shown = args.count > MOST_ARGUMENTS ? MOST_ARGUMENTS - 1 : args.count;
  const words: string[] = [];
  for (let i = 0; i < shown; i += 1) {
    const rest = args.length(i) - MOST_CHARACTERS;
    const word = args.prefix(i, MOST_CHARACTERS);
    words.push(rest > 0 ? `${word}... (${rest} more bytes)` : word);
  }
  if (shown < args.count) words.push(`... (${args.count - shown} more arguments)`);
  return words;
}
