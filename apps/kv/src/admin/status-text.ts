import type { Levels } from '@rdmc/common';
import { type ClusterStatus, type ServerStatus, slotCount } from './status.js';

const MIB = 1024 * 1024;
const TITLES = [
  'server',
  'state',
  'run',
  'slots',
  'keys',
  'MiB',
  'log MiB',
  'lease',
  'backup of',
  'buffers',
  'files',
  'version',
  'levels',
  'clients at',
];
const NOT_KNOWN = '?';

/** The status for people. */
export function statusText(status: ClusterStatus): string {
  const { askedServer, epoch, coordinator, standbys, servers, isHealthy, problems } = status;
  const run = coordinator.facts === null ? NOT_KNOWN : String(coordinator.facts.run);
  const moves = movesOf(status);
  const which = coordinator.standby ? `coordinator (standby ${coordinator.standby})` : 'coordinator';
  const others = standbys.map(
    ({ standby, state }) => `; ${standby === 0 ? 'former coordinator' : `standby ${standby}`} ${state}`,
  );
  const level = coordinator.facts?.level ?? NOT_KNOWN;
  const head = `asked server ${askedServer}: slot table ${epoch}, ${which} ${coordinator.state}, its run ${run}, level ${level}${others.join('')}`;
  const outcome = isHealthy ? ['every slot is served'] : problems.map((problem) => `PROBLEM: ${problem}`);
  return [
    head,
    '',
    ...table([TITLES, ...servers.map(row)]),
    '',
    ...moves,
    ...upgradeOf(status),
    ...outcome,
  ].join('\n');
}

/** Slots that move, and servers that are to go. */
function movesOf({ coordinator: { facts } }: ClusterStatus): string[] {
  if (facts === null) return [];
  const { moves, drained } = facts;
  const { isRunning, failure } = moves;
  // One that is not tried again is a problem.
  const retried =
    isRunning && failure !== null
      ? `; the last hand-over failed, and is tried again: ${failure.code}: ${failure.reason}`
      : '';
  const left = moves.left ?? NOT_KNOWN;
  return [
    ...(isRunning || left !== 0 ? [`${left} slots are to move${retried}`] : []),
    ...drained.map((server) => `server ${server} is drained`),
  ];
}

/** That the cluster can have a higher level. */
function upgradeOf({ coordinator: { facts }, servers }: ClusterStatus): string[] {
  const all = [facts?.levels, ...servers.map((server) => server.facts?.levels)];
  const highest = Math.min(...all.map((levels) => levels?.most ?? 0));
  if (facts?.level == null || highest <= facts.level) return [];
  return [`every server speaks level ${highest}: kv admin finalize raises the level of the cluster`];
}

function row({ server, state, incarnation, address, slots, facts }: ServerStatus): string[] {
  const of = (pick: (known: NonNullable<typeof facts>) => string): string =>
    facts === null ? NOT_KNOWN : pick(facts);
  return [
    String(server),
    state,
    incarnation === 0 ? NOT_KNOWN : String(incarnation),
    String(slotCount(slots)),
    of(({ keys }) => String(keys)),
    of(({ bytes }) => (bytes / MIB).toFixed(1)),
    of(({ logBytes }) => (logBytes / MIB).toFixed(1)),
    of(({ lease }) => (lease ? 'yes' : 'NO')),
    of(({ backup }) => (backup === null ? '-' : `${backup.logs.length} logs`)),
    of(({ backup }) => (backup === null ? '-' : `${backup.buffersUsed}/${backup.buffers}`)),
    of(({ backup }) => (backup === null ? '-' : (backup.flushFailure?.code ?? 'ok'))),
    of(({ version }) => version),
    of(({ levels }) => (levels === null ? NOT_KNOWN : rangeText(levels))),
    address === null ? NOT_KNOWN : addressText(address),
  ];
}

function rangeText({ least, most }: Levels): string {
  return least === most ? String(most) : `${least}-${most}`;
}

function addressText({ host, port }: NonNullable<ServerStatus['address']>): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Columns of equal width. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((cells) => cells[column]!.length)));
  return rows.map((cells) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
}
