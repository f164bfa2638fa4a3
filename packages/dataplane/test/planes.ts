import {
  type Counters,
  DataPlane,
  type DataPlaneError,
  type DataPlaneOptions,
  type EventHandlers,
  InlineDriver,
  type ProtocolClient,
  type ProtocolWorker,
  type RecordTable,
} from '@rdmc/dataplane';
import { onTestFinished } from 'vitest';
import echo, { type EchoRecords, echoRecords } from './fixtures/echo.mjs';

export const ECHO = new URL('./fixtures/echo.mjs', import.meta.url);

type Settings = Omit<Partial<DataPlaneOptions>, 'protocols'>;

/** A data plane of the built package with those protocols; it is closed at the end of the test. */
export async function startPlane(
  protocols: DataPlaneOptions['protocols'],
  settings: Settings = {},
): Promise<DataPlane> {
  const plane = await DataPlane.open({ device: { device: 'soft' }, ...settings, protocols });
  onTestFinished(() => plane.terminate());
  return plane;
}

export const NO_ECHO_EVENTS: EventHandlers<EchoRecords> = {
  started() {},
  emitted() {},
  emittedLater() {},
  stopped() {},
};

interface EchoSettings extends Settings {
  readonly data?: unknown;
  readonly events?: Partial<EventHandlers<EchoRecords>>;
}

export interface EchoPlane {
  readonly plane: DataPlane;
  readonly echo: ProtocolClient<EchoRecords>;
  /** The errors of `onEnd`. */
  readonly ends: DataPlaneError[];
}

/** A data plane with the echo protocol, and its client. */
export async function startEcho({ data, events, ...settings }: EchoSettings = {}): Promise<EchoPlane> {
  const plane = await startPlane([{ name: 'echo', module: ECHO, data }], settings);
  const ends: DataPlaneError[] = [];
  const client = plane.connect('echo', echoRecords, { ...NO_ECHO_EVENTS, ...events }, (error) =>
    ends.push(error),
  );
  return { plane, echo: client, ends };
}

export const DRIVERS = ['worker', 'inline'] as const;
export type Driver = (typeof DRIVERS)[number];

/** A protocol under one of the drivers. */
export interface Driven<Table extends RecordTable> {
  readonly plane: DataPlane;
  readonly client: ProtocolClient<Table>;
  readonly ends: DataPlaneError[];
  counters(): Counters;
  close(): Promise<void>;
}

export interface Subject<Table extends RecordTable> {
  readonly name: string;
  readonly module: URL;
  readonly worker: ProtocolWorker<Table>;
  readonly data?: unknown;
  readonly events: EventHandlers<Table>;
}

/** Starts protocols side by side: all in one worker, or each under an InlineDriver of one data plane. */
export async function drive<Table extends RecordTable>(
  driver: Driver,
  subjects: readonly Subject<Table>[],
): Promise<Driven<Table>[]> {
  const protocols = subjects.map(({ name, module, data }) => ({ name, module, data }));
  const plane = await startPlane(driver === 'worker' ? protocols : [{ name: 'idle', module: ECHO }]);
  return Promise.all(
    subjects.map(async (subject) => {
      const ends: DataPlaneError[] = [];
      const onEnd = (error: DataPlaneError) => void ends.push(error);
      if (driver === 'worker') {
        const client = plane.connect(subject.name, subject.worker.records, subject.events, onEnd);
        return { plane, client, ends, counters: () => plane.counters(), close: () => plane.close() };
      }
      const inline = await InlineDriver.open(plane, { ...subject, onEnd });
      onTestFinished(() => inline.close().catch(() => {}));
      return {
        plane,
        client: inline.client,
        ends,
        counters: () => inline.counters(),
        close: () => inline.close(),
      };
    }),
  );
}

/** The echo protocol under one of the drivers. */
export async function driveEcho(
  driver: Driver,
  { data, events }: { data?: unknown; events?: Partial<EventHandlers<EchoRecords>> } = {},
): Promise<Driven<EchoRecords>> {
  const [driven] = await drive(driver, [
    { name: 'echo', module: ECHO, worker: echo, data, events: { ...NO_ECHO_EVENTS, ...events } },
  ]);
  return driven!;
}
