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
  'clients at',
];
const NOT_KNOWN = '?';

/** The status for people. */
export function statusText(status: ClusterStatus): string {
  const { askedServer, epoch, coordinator, standbys, servers, isHealthy, problems } = status;
  const run = coordinator.facts === null ? NOT_KNOWN : String(coordinator.facts.run);
  const which = coordinator.standby ? `coordinator (standby ${coordinator.standby})` : 'coordinator';
  const others = standbys.map(
    ({ standby, state }) => `; ${standby === 0 ? 'former coordinator' : `standby ${standby}`} ${state}`,
  );
  const head = `asked server ${askedServer}: slot table ${epoch}, ${which} ${coordinator.state}, its run ${run}${others.join('')}`;
  const outcome = isHealthy ? ['every slot is served'] : problems.map((problem) => `PROBLEM: ${problem}`);
  return [head, '', ...table([TITLES, ...servers.map(row)]), '', ...outcome].join('\n');
}

function row({ server, state, incarnation, address, slots, facts }: ServerStatus): string[] {
  const of = (pick: (known: NonNullable<typeof facts>) => string): string =>
    facts === null ? NOT_KNOWN : pick(facts);
  return [
    String(server),
    state,
    address === null ? NOT_KNOWN : String(incarnation),
    String(slotCount(slots)),
    of(({ keys }) => String(keys)),
    of(({ bytes }) => (bytes / MIB).toFixed(1)),
    of(({ logBytes }) => (logBytes / MIB).toFixed(1)),
    of(({ lease }) => (lease ? 'yes' : 'NO')),
    of(({ backup }) => (backup === null ? '-' : `${backup.logs.length} logs`)),
    of(({ backup }) => (backup === null ? '-' : `${backup.buffersUsed}/${backup.buffers}`)),
    address === null ? NOT_KNOWN : addressText(address),
  ];
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
