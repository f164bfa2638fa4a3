import { SLOTS } from '../limits.js';
import type { Arguments } from '../resp/arguments.js';
import { CommandError, NOT_AN_INTEGER } from '../resp/command-error.js';
import { type Command, define } from './command.js';
import type { CommandContext } from './command-context.js';
import { type NodeAddress, nodeId, type SlotRange } from './node-view.js';

type Subcommand = (x: CommandContext, args: Arguments) => void;

/** Clients expect a second port of each node, and do not use it. */
const BUS_PORT_DISTANCE = 10_000;

function served({ node }: CommandContext): { range: SlotRange; address: NodeAddress }[] {
  const byMember = new Map(node.nodes().map((address) => [address.member, address]));
  return node.ranges().flatMap((range) => {
    const address = byMember.get(range.member);
    return address ? [{ range, address }] : [];
  });
}

function slots(x: CommandContext): void {
  const all = served(x);
  x.writer.array(all.length);
  for (const { range, address } of all) {
    x.writer.array(3);
    x.writer.integer(range.from);
    x.writer.integer(range.to);
    x.writer.array(3);
    x.writer.bulk(address.host);
    x.writer.integer(address.port);
    x.writer.bulk(nodeId(address.member));
  }
}

function shards(x: CommandContext): void {
  const all = x.node.nodes();
  x.writer.array(all.length);
  for (const address of all) {
    const mine = x.node.ranges().filter(({ member }) => member === address.member);
    x.writer.map(2);
    x.writer.bulk('slots');
    x.writer.array(mine.length * 2);
    for (const { from, to } of mine) {
      x.writer.integer(from);
      x.writer.integer(to);
    }
    x.writer.bulk('nodes');
    x.writer.array(1);
    tellNode(x, address);
  }
}

function tellNode({ writer }: CommandContext, { member, host, port, connected }: NodeAddress): void {
  const fields: [string, string | number][] = [
    ['id', nodeId(member)],
    ['port', port],
    ['ip', host],
    ['endpoint', host],
    ['role', 'master'],
    ['replication-offset', 0],
    ['health', connected ? 'online' : 'fail'],
  ];
  writer.map(fields.length);
  for (const [name, value] of fields) {
    writer.bulk(name);
    if (typeof value === 'number') writer.integer(value);
    else writer.bulk(value);
  }
}

function nodes({ writer, node }: CommandContext): void {
  const lines = node.nodes().map(({ member, host, port, connected }) => {
    const flags = member === node.member ? 'myself,master' : connected ? 'master' : 'master,fail';
    const mine = node.ranges().filter((range) => range.member === member);
    const ranges = mine.map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`));
    const link = connected ? 'connected' : 'disconnected';
    const bus = port + BUS_PORT_DISTANCE;
    const line = [nodeId(member), `${host}:${port}@${bus}`, flags, '-', 0, 0, node.epoch, link, ...ranges];
    return line.join(' ');
  });
  writer.bulk(`${lines.join('\n')}\n`);
}

function info({ writer, node }: CommandContext): void {
  const assigned = node
    .ranges()
    .reduce((sum, { from, to, member }) => sum + (member < 0 ? 0 : to - from + 1), 0);
  const all = node.nodes();
  const fields = {
    cluster_state: assigned === SLOTS ? 'ok' : 'fail',
    cluster_slots_assigned: assigned,
    cluster_slots_ok: assigned,
    cluster_slots_pfail: 0,
    cluster_slots_fail: SLOTS - assigned,
    cluster_known_nodes: all.length,
    cluster_size: all.filter(({ connected }) => connected).length,
    cluster_current_epoch: node.epoch,
    cluster_my_epoch: node.epoch,
  };
  writer.bulk(
    Object.entries(fields)
      .map(([name, value]) => `${name}:${value}\r\n`)
      .join(''),
  );
}

function slotArgument(args: Arguments): number {
  const slot = args.integer(2);
  if (slot === undefined) throw new CommandError(NOT_AN_INTEGER);
  if (slot < 0 || slot >= SLOTS) throw new CommandError('ERR Invalid or out of range slot');
  return slot;
}

const subcommands: Record<string, { count: number; run: Subcommand }> = {
  SLOTS: { count: 2, run: slots },
  SHARDS: { count: 2, run: shards },
  NODES: { count: 2, run: nodes },
  INFO: { count: 2, run: info },
  MYID: { count: 2, run: ({ writer, node }) => writer.bulk(nodeId(node.member)) },
  KEYSLOT: { count: 3, run: (x, args) => x.writer.integer(x.slot(args, 2)) },
  COUNTKEYSINSLOT: {
    count: 3,
    // Of this server, as in Redis, whoever owns the slot.
    run: (x, args) => x.writer.integer(x.sizeOf(slotArgument(args))),
  },
};

function cluster(x: CommandContext, args: Arguments): void {
  const found = subcommands[args.word(1)];
  if (!found) throw new CommandError(`ERR unknown subcommand '${args.string(1)}'. Try CLUSTER HELP.`);
  if (args.count !== found.count) {
    throw new CommandError(
      `ERR wrong number of arguments for 'cluster|${args.string(1).toLowerCase()}' command`,
    );
  }
  found.run(x, args);
}

export const clusterCommands: readonly Command[] = [define('cluster', -2, '', cluster)];
