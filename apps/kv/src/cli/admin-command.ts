import { flag, openRecord, readShape, whole, withDefault } from '@rdmc/common/shapes';
import { type Command, Option } from 'commander';
import { type ClusterStatus, clusterStatus } from '../admin/status.js';
import { statusText } from '../admin/status-text.js';
import { MAX_SERVER_ID } from '../cluster/messages.js';
import { DEFAULT_ANSWER_SECONDS, DEFAULT_PORT, STATUS_TIMEOUT_MS } from '../limits.js';
import { endpoints, wholeNumber } from '../values.js';
import { type AdminFlags, askCluster } from './ask-cluster.js';
import { addSnapshotCommands } from './snapshot-commands.js';
import type { Tell } from './tell.js';
import { clientTlsOptions } from './tls-options.js';
import { hasSlots, type MovesWait, remainsAtDrained, waitForMoves } from './wait-for-moves.js';

/** Exit code: the cluster answered, and something is not as it should be. */
const EXIT_PROBLEMS = 3;

const STATUS_HELP = `
It asks one server, which asks the coordinator and the other servers; a member that does not answer within ${STATUS_TIMEOUT_MS / 1000} s
is a part of the answer. It changes nothing. The password of clients comes from RDMC_KV_PASSWORD.

  kv admin status --connect 10.0.0.1:6379,10.0.0.2:6379

state      connected; silent: connected, and it does not answer; failed: its connection ended;
           absent: it has left, or has not joined
run        incarnation: rises with each process of the server
slots      that it serves, by the slot table of the asked server
keys       in these slots
MiB        bytes of its log that are in use; log MiB: of all segments of the log
lease      whether it may answer reads
version    of the release; levels: that the process speaks. The cluster's level is in the first line
backup of  logs of other servers of which it keeps segments
buffers    segments of other servers in its memory, and how many it grants: --buffers, or fewer with --power-hold-seconds
files      ok: it writes these segments to files; or the code of the last failed write, as ENOSPC. They are tried again

Problems are also hand-overs that ended because a server does not have room, too few servers for the backups of each log, and
segments that a server cannot write to files.

Exit codes: 0 every slot is served, and every member answers; 3 there are problems, which are listed; 1 an error
`;

const REBALANCE_HELP = `
Servers hand slots over to each other, 64 at a time, until each has the same number, up to one. A server that was just started
gets slots without this command. Clients are served meanwhile. Ctrl-C ends the wait, and not the hand-overs. The wait goes on while
the coordinator does not answer, and while a hand-over that failed is tried again: the reason is on standard error.

  kv admin rebalance --connect 10.0.0.1:6379

Exit codes: 0 each server has its share; 1 an error: ERR_RDMC_KV_SERVER_FULL where a server does not have room
`;

const DRAIN_HELP = `
The server hands its slots over to the others, and its replicas of their logs are made again elsewhere. Then kv admin remove
forgets it. A drain is refused (ERR_RDMC_KV_SERVER_NEEDED) where too few servers would be left for the backups of each log. The
server stays drained when it is started again, until --undo. Ctrl-C ends the wait, and not the drain. The wait goes on while it is not
known whether the server has replicas, because it does not answer.

  kv admin drain 3 --connect 10.0.0.1:6379

Exit codes: 0 the server has neither slots nor replicas; 1 an error: ERR_RDMC_KV_SERVER_FULL where the others do not have room
`;

const REMOVE_HELP = `
The process of a drained server ends with 0. A server that died and does not return is forgotten by the others. A server with slots
is refused (ERR_RDMC_KV_SERVER_NEEDED): drain it first. The command may be repeated, and any server may be asked,
also the one that goes.

  kv admin remove 3 --connect 10.0.0.1:6379

Exit codes: 0 the server is forgotten, or was before; 1 an error
`;

const FINALIZE_HELP = `
After an upgrade: raises the level of the cluster to the highest that its members speak. From then on files have the formats of
the new release, and processes of the former one are refused (ERR_RDMC_KV_LEVEL). It cannot be undone; before it, each member can
be started with the former release again. It is refused (ERR_RDMC_KV_NOT_FINALIZED) where a member is not connected, or does not
speak the level. It may be repeated, for example where the coordinator ended before it answered.

  kv admin finalize --connect 10.0.0.1:6379

Exit codes: 0 the cluster has the highest level of its members; 1 an error
`;

const DEFAULT_ADDRESS = `127.0.0.1:${DEFAULT_PORT}`;

/** A release before this one does not say whether the server was removed before. */
const removeAnswer = openRecord({ isRepeated: withDefault(flag, false) });
const finalizeAnswer = openRecord({ before: whole(1), level: whole(1) });

interface WaitFlags extends AdminFlags {
  readonly wait: boolean;
}

interface DrainFlags extends WaitFlags {
  readonly undo?: boolean;
}

/** `kv admin`: looks after a cluster that runs. */
export function addAdminCommand(program: Command, tell: Tell): void {
  const admin = program.command('admin').description('looks after a cluster that runs');
  const status = admin
    .command('status')
    .description('lists the servers, their slots, keys and leases, and the recoveries that are under way')
    .addHelpText('after', STATUS_HELP);
  connectOptions(status).action((flags: AdminFlags) => tellStatus(flags, tell));
  const rebalance = admin
    .command('rebalance')
    .description('gives each server the same number of slots')
    .option('--no-wait', 'do not wait until that is so')
    .addHelpText('after', REBALANCE_HELP);
  connectOptions(rebalance).action((flags: WaitFlags) => tellRebalance(flags, tell));
  const drain = admin
    .command('drain')
    .description('moves the slots and replicas of a server to the others')
    .argument('<server>', 'its number', wholeNumber(1, MAX_SERVER_ID))
    .option('--undo', 'the server gets slots and replicas again')
    .option('--no-wait', 'do not wait until that is so')
    .addHelpText('after', DRAIN_HELP);
  connectOptions(drain).action((server: number, flags: DrainFlags) => tellDrain(server, flags, tell));
  const remove = admin
    .command('remove')
    .description('ends a drained server, or forgets a dead one')
    .argument('<server>', 'its number', wholeNumber(1, MAX_SERVER_ID))
    .addHelpText('after', REMOVE_HELP);
  connectOptions(remove).action((server: number, flags: AdminFlags) => tellRemove(server, flags, tell));
  const finalize = admin
    .command('finalize')
    .description('ends an upgrade: raises the level of the cluster')
    .addHelpText('after', FINALIZE_HELP);
  connectOptions(finalize).action((flags: AdminFlags) => tellFinalize(flags, tell));
  addSnapshotCommands(admin, connectOptions, tell);
}

function connectOptions(command: Command): Command {
  const [first] = endpoints(DEFAULT_ADDRESS);
  const addresses = new Option(
    '-c, --connect <list>',
    'host:port for clients of one or more servers; the first that answers is asked',
  );
  const answer = new Option(
    '--answer-seconds <n>',
    'time for a server to accept the connection and to answer a question, before the next one is asked; a server waits ' +
      `${STATUS_TIMEOUT_MS / 1000} s for the others`,
  );
  command
    .addOption(addresses.argParser(endpoints).default([first], DEFAULT_ADDRESS))
    .addOption(answer.argParser(wholeNumber(1, 3600)).default(DEFAULT_ANSWER_SECONDS))
    .option('--json', 'one JSON document instead of text');
  return clientTlsOptions(command);
}

async function askStatus(flags: AdminFlags): Promise<ClusterStatus> {
  return readShape(clusterStatus, await askCluster(flags, ['STATUS']));
}

async function tellStatus(flags: AdminFlags, tell: Tell): Promise<void> {
  const status = await askStatus(flags);
  tell(flags.json ? JSON.stringify(status) : statusText(status), status);
  if (!status.isHealthy) process.exitCode = EXIT_PROBLEMS;
}

async function tellRebalance(flags: WaitFlags, tell: Tell): Promise<void> {
  await askCluster(flags, ['REBALANCE']);
  if (flags.wait) await waitUntilMoved(flags, tell);
  say(
    flags.wait ? 'each server has its share of the slots' : 'slots move',
    { balanced: flags.wait },
    flags,
    tell,
  );
}

async function tellDrain(server: number, flags: DrainFlags, tell: Tell): Promise<void> {
  await askCluster(flags, [flags.undo ? 'UNDRAIN' : 'DRAIN', String(server)]);
  const drain = { remains: remainsAtDrained(server), isHindered: hasSlots(server) };
  if (flags.wait) await waitUntilMoved(flags, tell, flags.undo ? {} : drain);
  const text = flags.undo
    ? `server ${server} has slots and replicas as the others`
    : `server ${server} has neither slots nor replicas: kv admin remove ${server} ends it`;
  const isDrained = !flags.undo;
  say(flags.wait ? text : `server ${server}: begun`, { server, isDrained, isDone: flags.wait }, flags, tell);
}

async function tellRemove(server: number, flags: AdminFlags, tell: Tell): Promise<void> {
  const answer = await askCluster(flags, ['REMOVE', String(server)]);
  const { isRepeated } = readShape(removeAnswer, answer);
  const text = isRepeated ? `server ${server} is not a member any more` : `server ${server} is removed`;
  say(text, { removed: server }, flags, tell);
}

async function tellFinalize(flags: AdminFlags, tell: Tell): Promise<void> {
  const { before, level } = readShape(finalizeAnswer, await askCluster(flags, ['FINALIZE']));
  const text =
    level === before
      ? `the cluster has level ${level} already, the highest of its members`
      : `the cluster has level ${level} now; it had level ${before}`;
  say(text, { before, level }, flags, tell);
}

function waitUntilMoved(
  flags: WaitFlags,
  tell: Tell,
  order: Pick<MovesWait, 'remains' | 'isHindered'> = {},
): Promise<void> {
  return waitForMoves({
    status: () => askStatus(flags),
    order: () => askCluster(flags, ['REBALANCE']),
    ...order,
    progress: (text, left) => {
      if (!flags.json) tell(text, { left });
    },
    warn: (text) => process.stderr.write(`${text}\n`),
  });
}

function say(text: string, document: object, { json }: AdminFlags, tell: Tell): void {
  tell(json ? JSON.stringify(document) : text, document);
}
