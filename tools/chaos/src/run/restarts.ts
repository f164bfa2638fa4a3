// Scenarios in which all processes end and are started again on their files, or in which recovery must refuse.
import { setTimeout as delay } from 'node:timers/promises';
import type { Violation } from '../checker/check.js';
import type { MemberProcess } from '../cluster/member-process.js';
import { RecoveryFailed, type Run } from './run.js';

/** SIGTERM to all at once: backups dump their buffers. */
export async function powerFailure(run: Run): Promise<Violation[]> {
  run.note('SIGTERM to all');
  await run.cluster.powerFailure();
  await run.clients.stop();
  await run.restart();
  await run.takeOver(run.cluster.servers);
  run.clients.start();
  return run.judge();
}

/** Without the coordinator appends continue, and reads end with their leases. A mesh is fixed, so all start again. */
export async function coordinator(run: Run): Promise<Violation[]> {
  await run.kill(run.cluster.coordinator);
  await run.clients.more(run.random.integer(1, 50));
  return powerFailure(run);
}

/** Kills the primary and all r backups of the newest segment: recovery must refuse, also at a second attempt. */
export async function tooMuch(run: Run): Promise<Violation[]> {
  await run.clients.stop();
  const victims = await run.backups();
  await Promise.all([run.primary, ...victims].map((member) => run.kill(member)));
  // The recoverer may try again as long as it lives.
  const recoverer = run.random.pick(run.others);
  await mustRefuse(run, recoverer);
  await mustRefuse(run, recoverer);
  return [];
}

/**
 * A backup that was replaced while it was stopped comes back with its stale replica, when all members with newer data
 * have died. A recovery from this replica would lose the writes that were acknowledged since.
 */
export async function staleBackup(run: Run): Promise<Violation[]> {
  const stale = run.random.pick(await run.backups());
  run.note(`SIGSTOP of server ${stale.id}, and its connections are ended`);
  stale.signal('SIGSTOP');
  while ((await run.backups()).includes(stale)) await delay(50);
  await run.clients.more(1);
  await run.clients.stop();
  const holders = await run.backups();
  await Promise.all([run.primary, ...holders].map((member) => run.kill(member)));
  run.note(`SIGCONT of server ${stale.id}; SIGTERM to all remaining processes`);
  stale.signal('SIGCONT');
  await run.cluster.powerFailure();
  await run.restart();
  await mustRefuse(run, run.random.pick(run.others));
  return [];
}

async function mustRefuse(run: Run, recoverer: MemberProcess): Promise<void> {
  try {
    await run.takeOver([recoverer]);
  } catch (error) {
    if (error instanceof RecoveryFailed && error.why.code === 'ERR_RDMC_LOG_INCOMPLETE') return;
    throw error;
  }
  throw new Error('recovery did not refuse, although all members with the newest data are lost');
}
