import type { TraceEvent } from '@rdmc/dataplane/trace';
import type { Clock } from './clock.js';
import type { Fabric, RackCrossings } from './fabric.js';
import { allBytesOf, lengthOf, type SimulatedGroup, stepsOf, transfersOf } from './group.js';
import type { GroupRun } from './group-run.js';
import type { Host, HostUse } from './host.js';
import type { LiveTrace } from './live-trace.js';
import type { TraceRecord } from './trace.js';

/** One message of a group. Times are microseconds of simulated time. */
export interface MessageReport {
  /** The group, from 0: the node of its root. */
  readonly group: number;
  /** The message of the group, from 0. */
  readonly message: number;
  /** Its length. */
  readonly byteLength: number;
  /** The root's call of `send`. */
  readonly sentAt: number;
  /** The last member has it, and has relayed its part. */
  readonly completeAt: number;
}

/** One host's thread, and the part of the run that its thread was busy. */
export interface HostReport extends HostUse {
  /** The node, from 0. */
  readonly node: number;
}

/** What a simulation measured. */
export interface SimulationReport {
  /** From the first `send` to the last completion, in microseconds. */
  readonly microseconds: number;
  /** Message bytes over that time, in Gbit/s, over all groups. */
  readonly gbitPerSecond: number;
  /** The messages of all groups, in order of group and message. */
  readonly messages: readonly MessageReport[];
  /** Blocks sent from one member to another, over all groups and messages. */
  readonly transfers: number;
  /** Steps of one message's schedule; of the first group. */
  readonly steps: number;
  /** Blocks into and out of each rack; empty without racks. */
  readonly racks: readonly RackCrossings[];
  /** The threads of all hosts, in order of node. */
  readonly hosts: readonly HostReport[];
  /** Events of the simulator. */
  readonly events: number;
  /** Present if a trace was asked for: per group, member and message in step order. */
  readonly trace: readonly TraceRecord[] | undefined;
  /** Present if asked for: what live groups would have recorded, in the order of time. Members are nodes. */
  readonly records: readonly TraceEvent[] | undefined;
}

/** A finished run. */
export interface Finished {
  readonly groups: readonly SimulatedGroup[];
  readonly traces: boolean;
  readonly live: LiveTrace | undefined;
  readonly clock: Clock;
  readonly fabric: Fabric;
  readonly hosts: readonly Host[];
  readonly runs: readonly GroupRun[];
}

export function reportOf({ groups, traces, live, clock, fabric, hosts, runs }: Finished): SimulationReport {
  const messages = runs.flatMap(({ sentAt, completeAt }, group) =>
    sentAt.map((at, message) => {
      const byteLength = lengthOf(groups[group]!, message);
      return { group, message, byteLength, sentAt: at, completeAt: completeAt[message]! };
    }),
  );
  const end = messages.reduce((latest, { completeAt }) => Math.max(latest, completeAt), 0);
  return {
    microseconds: end,
    gbitPerSecond: groups.reduce((sum, group) => sum + allBytesOf(group), 0) / 125 / end,
    messages,
    transfers: groups.reduce((sum, group) => sum + transfersOf(group), 0),
    steps: stepsOf(groups[0]!),
    racks: fabric.traffic,
    hosts: hosts.map((host, node) => ({ node, ...host.use(end) })),
    events: clock.events,
    trace: traces ? runs.flatMap(({ members }) => members.flatMap((m) => m.tracer!.records)) : undefined,
    records: live?.events,
  };
}
