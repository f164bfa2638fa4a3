import { algorithms } from '@rdmc/schedule';
import type { SimulationReport, ValidationCase } from '@rdmc/simulator';
import * as z from 'zod';

const message = z.object({
  group: z.number(),
  message: z.number(),
  byteLength: z.number(),
  sentAt: z.number(),
  completeAt: z.number(),
});
const rack = z.object({ rack: z.number(), entering: z.number(), leaving: z.number() });
const host = z.object({
  node: z.number(),
  working: z.number(),
  polling: z.number(),
  wakeUps: z.number(),
  turns: z.number(),
});

/** `rdmc simulate --json`. Times are microseconds of simulated time. */
export const simulationDocument = z.object({
  preset: z.string(),
  algorithm: z.enum(algorithms),
  nodes: z.number(),
  bytes: z.number(),
  blockBytes: z.number(),
  windows: z.object({ receive: z.number(), send: z.number(), ready: z.number().nullable() }),
  offload: z.boolean(),
  seed: z.number(),
  /** The known results that the simulator reproduced before the run. */
  validated: z.array(z.object({ property: z.string(), checks: z.number() })),
  microseconds: z.number(),
  gbitPerSecond: z.number(),
  steps: z.number(),
  transfers: z.number(),
  events: z.number(),
  messages: z.array(message),
  racks: z.array(rack),
  hosts: z.array(host),
});
export type SimulationDocument = z.output<typeof simulationDocument>;

/** The part of the document that the options give. */
export type SimulationHead = Pick<
  SimulationDocument,
  'preset' | 'algorithm' | 'nodes' | 'bytes' | 'blockBytes' | 'windows' | 'offload' | 'seed'
>;

export function toSimulationDocument(
  head: SimulationHead,
  validated: readonly ValidationCase[],
  { trace: _, records: _r, messages, racks, hosts, ...rest }: SimulationReport,
): SimulationDocument {
  return {
    ...head,
    validated: [...validated],
    ...rest,
    messages: [...messages],
    racks: [...racks],
    hosts: [...hosts],
  };
}
