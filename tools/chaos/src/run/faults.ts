// Faults under load that recovery must survive: at most the primary and r − 1 backups.
import { readdirSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Violation } from '../checker/check.js';
import type { MemberProcess } from '../cluster/member-process.js';
import { flipBitOf } from '../cluster/memory.js';
import { fillDisk } from '../cluster/small-disk.js';
import type { Run } from './run.js';

const REPLICA_HEADER_BYTES = 4096;
const LONGEST_TORN_BYTES = 4000;
const ASK_MS = 10_000;
/** Much shorter than the silence after which the others declare a member failed. */
const LONGEST_CUT_MS = 1500;

export async function primary(run: Run): Promise<Violation[]> {
  await run.kill(run.primary);
  await run.takeOver();
  return run.judge();
}

/** All but one of the members with the newest data, at the same moment. */
export async function primaryAndBackups(run: Run): Promise<Violation[]> {
  const victims = run.random.shuffled(await run.backups()).slice(0, run.plan.shape.replicas - 1);
  await Promise.all([run.primary, ...victims].map((member) => run.kill(member)));
  await run.takeOver();
  return run.judge();
}

/** While the log replaces one backup, the next one dies; at the end the primary dies. */
export async function backupsThenPrimary(run: Run): Promise<Violation[]> {
  for (let lost = 1; lost < run.plan.shape.replicas; lost += 1) {
    await run.kill(run.random.pick(await run.backups()));
    await run.clients.more(run.random.pick([0, 1, 30]));
  }
  await run.kill(run.primary);
  await run.takeOver();
  return run.judge();
}

/** The stopped primary still gets requests, and continues while another server serves. */
export async function stoppedPrimary(run: Run): Promise<Violation[]> {
  const stopped = run.primary;
  run.note(`SIGSTOP of server ${stopped.id}`);
  stopped.signal('SIGSTOP');
  await run.takeOver();
  await run.clients.more(run.random.integer(1, 30));
  run.note(`SIGCONT of server ${stopped.id}`);
  stopped.signal('SIGCONT');
  return run.judge();
}

export async function tornWrite(run: Run): Promise<Violation[]> {
  const victim = run.primary;
  const afterBytes = run.random.integer(0, LONGEST_TORN_BYTES);
  run.note(`server ${victim.id} will die ${afterBytes} bytes later, in the middle of a write`);
  await victim.ask({ do: 'tear', afterBytes }, 10_000);
  while (!victim.gone) await delay(5);
  await run.takeOver();
  return run.judge();
}

/** A bit flips in the last acknowledged value, in the memory of r − 1 backups. */
export async function damagedBuffer(run: Run): Promise<Violation[]> {
  const victims = run.random.shuffled(await run.backups()).slice(0, run.plan.shape.replicas - 1);
  const value = run.clients.operations.findLast(
    ({ action, answer }) => action.kind === 'set' && answer,
  )?.action;
  const text = value?.kind === 'set' ? value.value : 'nothing was set yet';
  for (const { id, pid } of victims) {
    const places = await flipBitOf(pid, text, run.random.integer(0, 8 * text.length - 1));
    run.note(`a bit flipped in ${places} places of server ${id}’s memory`);
  }
  await run.kill(run.primary);
  await run.takeOver(run.others.filter((other) => !victims.includes(other)));
  return run.judge();
}

/** A bit flips in every file of r − 1 backups. */
export async function damagedFile(run: Run): Promise<Violation[]> {
  const victims = run.random.shuffled(run.others).slice(0, run.plan.shape.replicas - 1);
  await run.kill(run.primary);
  for (const { id, directory } of victims) {
    const names = readdirSync(directory).filter((name) => name.endsWith('.replica'));
    for (const name of names) await flipInFile(join(directory, name), run.random.integer(0, 1 << 30));
    run.note(`a bit flipped in ${names.length} files of server ${id}`);
  }
  await run.takeOver(run.others.filter((other) => !victims.includes(other)));
  return run.judge();
}

/**
 * A backup with a full disk refuses new buffers in the end, and works again when there is space. Writes continue until
 * one of the backups has detected its full disk.
 */
export async function fullDisk(run: Run): Promise<Violation[]> {
  const victims = run.random.shuffled(run.others).slice(0, run.plan.shape.replicas - 1);
  const free = await Promise.all(victims.map(({ directory }) => fillDisk(directory)));
  run.note(`the disks of servers ${victims.map(({ id }) => id).join(', ')} are full`);
  await run.clients.more(run.random.integer(50, 300));
  while ((await failedFlushes(victims)) === 0) await run.clients.more(20);
  run.note('a flush failed on the full disk');
  if (run.random.pick([true, false])) {
    for (const make of free) await make();
    run.note('the disks have space again');
    await run.clients.more(20);
  }
  await run.kill(run.primary);
  await run.takeOver();
  return run.judge();
}

async function failedFlushes(members: readonly MemberProcess[]): Promise<number> {
  const outcomes = await Promise.all(members.map((each) => each.ask({ do: 'failed-flushes' }, ASK_MS)));
  return outcomes.reduce(
    (sum, outcome) => sum + (outcome.kind === 'answered' ? Number(outcome.result) : 0),
    0,
  );
}

/** The primary is alive; only clients can reach it. */
export async function cutLinks(run: Run): Promise<Violation[]> {
  const victim = run.primary;
  const host = `h${victim.id}`;
  await run.lab!.cut(host);
  run.note(`the link of server ${victim.id} is cut`);
  // The others detect it by silence; recovery does not wait for that.
  await run.takeOver();
  await run.clients.more(run.random.integer(1, 30));
  await run.lab!.heal(host);
  run.note('it is joined again');
  return run.judge();
}

/**
 * Writes while one backup is cut off must not be acknowledged with the other backups alone: those die with the primary,
 * and only the disconnected one is left, unless it was replaced in time.
 */
export async function cutBackup(run: Run): Promise<Violation[]> {
  const [apart, ...others] = run.random.shuffled(await run.backups());
  const host = `h${apart!.id}`;
  await run.lab!.cut(host);
  run.note(`the link of server ${apart!.id} is cut`);
  await delay(run.random.integer(50, LONGEST_CUT_MS));
  await Promise.all([run.primary, ...others].map((member) => run.kill(member)));
  await run.lab!.heal(host);
  run.note('it is joined again');
  await run.takeOver(run.others.filter((other) => other !== apart));
  return run.judge();
}

async function flipInFile(path: string, at: number): Promise<void> {
  const file = await open(path, 'r+').catch((error: NodeJS.ErrnoException) => {
    // Freed meanwhile.
    if (error.code !== 'ENOENT') throw error;
  });
  if (!file) return;
  try {
    const { size } = await file.stat();
    if (size <= REPLICA_HEADER_BYTES) return;
    const place = REPLICA_HEADER_BYTES + (at % (size - REPLICA_HEADER_BYTES));
    const byte = Buffer.alloc(1);
    await file.read(byte, 0, 1, place);
    await file.write(Buffer.from([byte[0]! ^ (1 << (at & 7))]), 0, 1, place);
  } finally {
    await file.close();
  }
}
