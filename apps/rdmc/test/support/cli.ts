import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Named, temporaryDirectory, underTest, until, WatchedProcess } from '@rdmc/testing';
import type * as z from 'zod';
import { runCommandLine } from '../../src/command-line.js';
import { type DemoEvent, demoEvent } from '../../src/demo/events.js';
import { createPalette } from '../../src/ui/palette.js';
import { DEFAULT_COLUMNS, DEFAULT_ROWS, type Terminal } from '../../src/ui/terminal.js';

/** Between looks at processes. */
const POLL_MS = 20;
const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a command that ran in this process has answered. */
export type Answered = Pick<Ended, 'code' | 'stdout' | 'stderr'>;

interface AnyEvent {
  readonly event: string;
}

/** Environment variables that change the behaviour of the command. */
const CLEAN = {
  NO_COLOR: undefined,
  RDMC_DEVICE: undefined,
  RDMC_KEY: undefined,
  SLURM_JOB_NODELIST: undefined,
};

export interface CliOptions<Event extends AnyEvent> {
  /** The schema of lines on stdout that begin as events. */
  readonly schema?: z.ZodType<Event>;
  /** Written to its standard input, which then stays open. */
  readonly input?: string;
  /** A file or directory that is its standard input, in the place of `input`. */
  readonly inputPath?: string;
}

/** The built command, running. */
export class Cli<Event extends AnyEvent = DemoEvent> extends WatchedProcess<Event, 'event'> {
  readonly ended: Promise<Ended>;

  constructor(
    args: readonly string[],
    environment: NodeJS.ProcessEnv = {},
    { schema, input, inputPath }: CliOptions<Event> = {},
  ) {
    const events = schema ?? (demoEvent as unknown as z.ZodType<Event>);
    const env = { ...process.env, ...CLEAN, ...environment };
    const opened = inputPath === undefined ? undefined : openSync(inputPath, 'r');
    const stdin = opened ?? (input === undefined ? 'ignore' : 'pipe');
    const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: [stdin, 'pipe', 'pipe'] });
    if (opened !== undefined) closeSync(opened);
    if (input !== undefined) child.stdin!.on('error', () => {}).write(input);
    // Lines that are not events, as of other commands, are only kept.
    const parse = (line: string) =>
      line.startsWith('{"event"') ? events.parse(JSON.parse(line)) : undefined;
    super(child, 'event', { name: `rdmc ${args.join(' ')}`, parse });
    underTest(this);
    this.ended = this.exited.then((exit) => ({ ...exit, stdout: this.stdout, stderr: this.stderr }));
  }

  /** The first `count` events of that name. */
  several<Name extends Event['event']>(name: Name, count: number): Promise<Named<Event, 'event', Name>[]> {
    const enough = (): Named<Event, 'event', Name>[] | false => {
      const found = this.named(name);
      return found.length >= count && found.slice(0, count);
    };
    return this.until(enough, `${count} times '${name}'`);
  }
}

/** The path of the built command. */
export const main = MAIN;

export function run(...args: readonly string[]): Promise<Ended> {
  return new Cli(args).ended;
}

/**
 * Runs the command in this process: a process of its own takes a quarter of a second of a processor. Not for commands that
 * use standard input, or that a signal ends.
 */
export function answer(...args: readonly string[]): Promise<Answered> {
  return answering(args, () => {});
}

/** The same; `heard` is called with each text that it prints. */
export async function answering(args: readonly string[], heard: (text: string) => void): Promise<Answered> {
  for (const name of Object.keys(CLEAN)) delete process.env[name];
  const printed = { stdout: '', stderr: '' };
  const print = (stream: keyof typeof printed, text: string): void => {
    printed[stream] += `${text}\n`;
    heard(text);
  };
  const terminal: Terminal = {
    palette: createPalette(false),
    columns: DEFAULT_COLUMNS,
    rows: DEFAULT_ROWS,
    interactive: false,
    out: (...lines) => print('stdout', lines.join('\n')),
    note: (...lines) => print('stderr', lines.join('\n')),
    json: (document) => print('stdout', JSON.stringify(document)),
    line: (document) => print('stdout', JSON.stringify(document)),
  };
  const code = await runCommandLine([process.execPath, MAIN, ...args], terminal);
  return { code, ...printed };
}

/** A folder for temporary files of a test, to check what is left in it. Later commands end before it is removed. */
export class Scratch {
  readonly path = temporaryDirectory('rdmc-cli-test');

  get environment(): NodeJS.ProcessEnv {
    return { TMPDIR: this.path };
  }

  left(): string[] {
    return readdirSync(this.path);
  }
}

/** A zombie process does not run. */
export function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}

/** Resolves when none of the processes runs. */
export function untilGone(pids: readonly number[]): Promise<void> {
  return until(() => !pids.some(isRunning), POLL_MS);
}

/** The events a demonstration printed. */
export function eventsOf({ stdout }: Ended): DemoEvent[] {
  return stdout
    .trim()
    .split('\n')
    .map((line) => demoEvent.parse(JSON.parse(line)));
}
