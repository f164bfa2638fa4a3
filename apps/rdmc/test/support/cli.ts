import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFailed, onTestFinished } from 'vitest';
import type * as z from 'zod';
import { type DemoEvent, demoEvent } from '../../src/demo/events.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface AnyEvent {
  readonly event: string;
}
type EventOf<Event extends AnyEvent, Name> = Extract<Event, { event: Name }>;

/** Characters of its output that a failed test shows. */
const SHOWN = 2000;

/** The variables that change what the command does. */
const CLEAN = {
  NO_COLOR: undefined,
  RDMC_DEVICE: undefined,
  RDMC_KEY: undefined,
  SLURM_JOB_NODELIST: undefined,
};

export interface CliOptions<Event extends AnyEvent> {
  /** What lines on stdout that begin as events must be. */
  readonly schema?: z.ZodType<Event>;
  /** Written to its standard input, which then stays open. */
  readonly input?: string;
}

const running = new Set<ChildProcess>();

/** The built command, running. */
export class Cli<Event extends AnyEvent = DemoEvent> {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  readonly #schema: z.ZodType<Event>;
  readonly #events: Event[] = [];
  readonly #watchers = new Set<() => void>();
  #stdout = '';
  #rest = '';
  #stderr = '';

  constructor(
    args: readonly string[],
    environment: NodeJS.ProcessEnv = {},
    { schema, input }: CliOptions<Event> = {},
  ) {
    this.#schema = schema ?? (demoEvent as unknown as z.ZodType<Event>);
    const env = { ...process.env, ...CLEAN, ...environment };
    const stdin = input === undefined ? 'ignore' : 'pipe';
    this.child = spawn(process.execPath, [MAIN, ...args], { env, stdio: [stdin, 'pipe', 'pipe'] });
    if (input !== undefined) this.child.stdin!.on('error', () => {}).write(input);
    // What it said tells why a test failed that waited for something else.
    onTestFailed(() => console.error(`rdmc ${args.join(' ')}\n${this.#stderr}${this.#stdout.slice(-SHOWN)}`));
    running.add(this.child);
    this.child.on('close', () => running.delete(this.child));
    // A test that fails or times out leaves nothing running.
    onTestFinished(() => void this.child.kill('SIGKILL'));
    this.child.stdout!.setEncoding('utf8').on('data', (text: string) => this.#take(text));
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    this.ended = new Promise((resolve) => {
      this.child.on('close', (code, signal) =>
        resolve({ code, signal, stdout: this.#stdout, stderr: this.#stderr }),
      );
    });
  }

  /** The first event of that name which fits; rejects when the command ends without it. */
  async event<Name extends Event['event']>(
    name: Name,
    fits: (event: EventOf<Event, Name>) => boolean = () => true,
  ): Promise<EventOf<Event, Name>> {
    const [first] = await this.events(name, 1, fits);
    return first!;
  }

  /** The first `count` events of that name. */
  events<Name extends Event['event']>(
    name: Name,
    count: number,
    fits: (event: EventOf<Event, Name>) => boolean = () => true,
  ): Promise<EventOf<Event, Name>[]> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const named = this.#events.filter(({ event }) => event === name) as EventOf<Event, Name>[];
        const found = named.filter(fits);
        if (found.length < count) return;
        this.#watchers.delete(look);
        resolve(found.slice(0, count));
      };
      this.#watchers.add(look);
      look();
      this.ended.then(({ code, stderr }) =>
        reject(new Error(`ended with ${code} before ${count} times '${name}': ${stderr}`)),
      );
    });
  }

  #take(text: string): void {
    this.#stdout += text;
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop()!;
    for (const line of lines) this.#takeLine(line);
  }

  /** Lines that are no events, as of other commands, are only kept. */
  #takeLine(line: string): void {
    if (!line.startsWith('{"event"')) return;
    this.#events.push(this.#schema.parse(JSON.parse(line)));
    for (const look of this.#watchers) look();
  }
}

/** The path of the built command. */
export const main = MAIN;

export function run(...args: readonly string[]): Promise<Ended> {
  return new Cli(args).ended;
}

/** A folder for temporary files of its own, to see what is left in it. */
export class Scratch {
  readonly path = mkdtempSync(join(tmpdir(), 'rdmc-cli-test-'));

  get environment(): NodeJS.ProcessEnv {
    return { TMPDIR: this.path };
  }

  left(): string[] {
    return readdirSync(this.path);
  }

  /** Ends what still runs: it may write here. */
  async remove(): Promise<void> {
    const children = [...running];
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(children.map((child) => once(child, 'close')));
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** One that has ended, and that its parent has not asked after yet, does not run. */
export function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}

/** The events a demonstration printed. */
export function eventsOf({ stdout }: Ended): DemoEvent[] {
  return stdout
    .trim()
    .split('\n')
    .map((line) => demoEvent.parse(JSON.parse(line)));
}
