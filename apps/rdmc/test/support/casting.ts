import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { type CastEvent, type CastPlan, castEvent } from '../../src/cast/events.js';
import { type ReceiveEvent, receiveEvent } from '../../src/receive/events.js';
import { type Answered, Cli, type Scratch } from './cli.js';

/** `rdmc cast … --json`. */
export function cast(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Cli<CastEvent> {
  return new Cli<CastEvent>(['cast', ...args, '--json'], environment, { schema: castEvent });
}

/** The events `rdmc cast --json` printed; the last line may be an error. */
export function castEvents({ stdout }: Answered): CastEvent[] {
  const lines = stdout
    .trim()
    .split('\n')
    .filter((line) => line.startsWith('{"event"'));
  return lines.map((line) => castEvent.parse(JSON.parse(line)));
}

export function finishedOf(ended: Answered): Extract<CastEvent, { event: 'finished' }> {
  const found = castEvents(ended).find(({ event }) => event === 'finished');
  if (found?.event !== 'finished') throw new Error(`no 'finished' in ${ended.stdout}\n${ended.stderr}`);
  return found;
}

export function planOf(ended: Answered): CastPlan {
  const [plan] = castEvents(ended);
  if (plan?.event !== 'plan') throw new Error(`no 'plan' in ${ended.stdout}\n${ended.stderr}`);
  return plan;
}

/** `rdmc receive --json` on loopback, with a separate directory. */
export class Receiver {
  readonly cli: Cli<ReceiveEvent>;

  private constructor(
    readonly directory: string,
    args: readonly string[],
    environment: NodeJS.ProcessEnv,
    listen: string,
  ) {
    const own = ['receive', '--listen', listen, '--dir', directory, '--json'];
    this.cli = new Cli<ReceiveEvent>([...own, ...args], environment, { schema: receiveEvent });
  }

  static async start(
    directory: string,
    args: readonly string[] = [],
    environment: NodeJS.ProcessEnv = {},
    listen = '127.0.0.1:0',
  ) {
    mkdirSync(directory, { recursive: true });
    const receiver = new Receiver(directory, args, environment, listen);
    const { port, pid } = await receiver.cli.event('listening');
    return Object.assign(receiver, { port, pid, name: `127.0.0.1:${port}` });
  }

  /** Names in its directory, without what an interrupted cast has left. */
  visible(): string[] {
    return withoutKept(this.left());
  }

  /** Names in its directory, hidden ones included. */
  left(): string[] {
    return readdirSync(this.directory).sort();
  }
}
/** Names without those that an interrupted cast has left. */
export function withoutKept(names: readonly string[]): string[] {
  return names.filter((name) => !name.startsWith('.rdmc-cast-kept-'));
}
export type RunningReceiver = Awaited<ReturnType<typeof Receiver.start>>;

/**
 * Starts `count` receivers with the directories r1, r2, …; returns them with their names for `--to`. Their ports are
 * reserved, so that another receiver can replace one that has ended.
 */
export async function startReceivers(scratch: Scratch, count: number, args: readonly string[] = []) {
  const reserved = await reserveLoopbackPorts(count);
  const starting = reserved.map(({ host, port, server }, i) => {
    server.close();
    return Receiver.start(join(scratch.path, `r${i + 1}`), args, {}, `${host}:${port}`);
  });
  const receivers = await Promise.all(starting);
  return { receivers, to: receivers.map(({ name }) => name).join(',') };
}

/** A file whose parts all differ, so that swapped or missing parts are detected. */
export function sampleFile(path: string, bytes: number): string {
  const content = Buffer.alloc(bytes);
  for (let i = 0; i < bytes; i += 1) content[i] = (i * 31 + (i >>> 8) * 7 + (i >>> 16)) & 0xff;
  writeFileSync(path, content);
  return path;
}
