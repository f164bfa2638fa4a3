import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

/** Characters of its output, and events, that an error shows. */
const SHOWN_CHARACTERS = 4000;
const SHOWN_EVENTS = 6;

export interface WatchOptions<Event> {
  /** Its name in errors. */
  readonly name: string;
  /** Parses a line of its standard output as an event; undefined for other text. */
  readonly parse?: (line: string) => Event | undefined;
  /** Whether a message is an event, and not for somebody else (default: all are). */
  readonly isEvent?: (message: Event) => boolean;
  /** Limit of a wait; a longer one fails (default: the test's time limit ends it). */
  readonly deadlineMs?: number;
}

/** The events of one name. */
export type Named<Event, Key extends keyof Event, Name extends Event[Key]> =
  Extract<Event, Record<Key, Name>> extends never ? Event : Extract<Event, Record<Key, Name>>;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Each line is one event as JSON. */
export function jsonLine<Event>(line: string): Event {
  return JSON.parse(line) as Event;
}

const running = new Set<ChildProcess>();

// A test process that ends in the middle of a test does not leave children.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/**
 * A child process and its events: its messages, and lines of its standard output. `Key` is the field
 * with the name of an event. Waits look at all events so far, and fail with its last output if it ends without the
 * awaited event.
 */
export class WatchedProcess<Event, Key extends keyof Event> {
  readonly events: Event[] = [];
  /** Set after it has ended and its output has been read. */
  readonly exited: Promise<Exit>;
  stdout = '';
  stderr = '';
  readonly #watchers = new Set<() => void>();
  #exit: Exit | undefined;

  constructor(
    readonly child: ChildProcess,
    protected readonly key: Key,
    private readonly watch: WatchOptions<Event>,
  ) {
    running.add(child);
    child.on('message', (message) => {
      if (watch.isEvent?.(message as Event) ?? true) this.#take(message as Event);
    });
    if (child.stdout) this.#read(child.stdout);
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
      this.#look();
    });
    this.exited = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        this.#exit = { code, signal };
        running.delete(child);
        resolve(this.#exit);
        this.#look();
      });
    });
    child.once('error', (error) => {
      this.stderr += error.message;
    });
  }

  get pid(): number {
    return this.child.pid!;
  }

  get gone(): boolean {
    return this.#exit !== undefined;
  }

  /** The first event of this name, past or to come, that `fits` accepts. */
  event<Name extends Event[Key]>(
    name: Name,
    fits: (event: Named<Event, Key, Name>) => boolean = () => true,
    deadlineMs?: number,
  ): Promise<Named<Event, Key, Name>> {
    return this.until(() => this.named(name).find(fits), `its '${name}'`, deadlineMs);
  }

  /** The events of this name so far. */
  named<Name extends Event[Key]>(name: Name): Named<Event, Key, Name>[] {
    return this.events.filter((event) => event[this.key] === name) as Named<Event, Key, Name>[];
  }

  /** Waits until `look` returns a value; it is called after each event of the process. */
  until<T>(
    look: (self: this) => T | undefined | false,
    what = 'what was awaited',
    deadlineMs = this.watch.deadlineMs,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        this.#watchers.delete(again);
        settle();
      };
      const again = (): void => {
        const found = look(this);
        if (found !== undefined && found !== false) end(() => resolve(found));
        else if (this.gone) end(() => reject(this.#without(what)));
      };
      if (deadlineMs)
        timer = setTimeout(() => end(() => reject(this.#without(what, deadlineMs))), deadlineMs);
      this.#watchers.add(again);
      again();
    });
  }

  /** Sends it a message. */
  tell(message: object): void {
    this.child.send(message);
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Ends it, if it has not ended; resolves when it has ended. */
  kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<Exit> {
    if (!this.gone) this.child.kill(signal);
    return this.exited;
  }

  /** Its name, its end, and its last output. */
  report(): string {
    const how = this.#exit ? `ended with ${this.#exit.code ?? this.#exit.signal}` : 'runs';
    const events = this.events.slice(-SHOWN_EVENTS).map((event) => JSON.stringify(event));
    const output = `${this.stdout.slice(-SHOWN_CHARACTERS)}${this.stderr.slice(-SHOWN_CHARACTERS)}`;
    return `${this.watch.name} (process ${this.child.pid}) ${how}; its last events: ${events.join(' ') || 'none'}; its output:\n${output}`;
  }

  #without(what: string, deadlineMs?: number): Error {
    const when = deadlineMs ? ` within ${deadlineMs} ms` : '';
    return new Error(`${what} did not come${when}: ${this.report()}`);
  }

  #read(stdout: Readable): void {
    const { parse } = this.watch;
    stdout.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
      this.#look();
    });
    if (!parse) return;
    createInterface({ input: stdout }).on('line', (line) => {
      const event = parse(line);
      if (event !== undefined) this.#take(event);
    });
  }

  #take(event: Event): void {
    this.events.push(event);
    this.#look();
  }

  #look(): void {
    for (const again of [...this.#watchers]) again();
  }
}
