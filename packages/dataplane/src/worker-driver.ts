import { MAX_KIND, ReplyKind, SYSTEM_PROTOCOL, SystemEvent, SystemKind } from './constants.js';
import { Counter, type CounterBlock } from './counters.js';
import { errorFacts } from './errors.js';
import type { EventOutbox } from './event-outbox.js';
import type { HostedProtocol } from './hosted-protocol.js';
import type { ProtocolWorker } from './protocol.js';
import type { ProtocolHost } from './protocol-host.js';
import { decoderOf, encoderOf, type Handler } from './record-codec.js';
import { commandsOf } from './record-functions.js';
import type { Call, EventHandlers, Post, RecordTable } from './record-table.js';
import { encodeFailure, tagOf } from './records.js';
import type { RingReader } from './ring.js';

export interface WorkerDriverParts {
  readonly counters: CounterBlock;
  readonly outbox: EventOutbox;
  /** Called after a record was given to the outbox, with whether it is in the ring already. */
  readonly sent: (delivered: boolean) => void;
  readonly onStop: () => void;
}

interface Protocol {
  readonly hosted: HostedProtocol;
  /** The handlers of commands, by kind. */
  readonly commands: readonly ((record: RingReader) => void)[];
}

/** Dispatches commands from the application's ring to the protocols of a host, and sends their answers and events. */
export class WorkerDriver {
  readonly #protocols: Protocol[] = [];

  constructor(
    private readonly host: ProtocolHost,
    private readonly parts: WorkerDriverParts,
  ) {}

  /** Starts a protocol; they are numbered from 1 in the order of these calls. */
  async add<Table extends RecordTable>(
    name: string,
    data: unknown,
    worker: ProtocolWorker<Table>,
  ): Promise<void> {
    const eventsOf = (hosted: HostedProtocol): EventHandlers<Table> => this.#events(hosted, worker.records);
    const hosted = await this.host.add(name, data, worker, eventsOf);
    const handlers = commandsOf(name, worker.records, hosted.protocol);
    const commands = Object.entries(worker.records.commands).map(([command, record]) =>
      this.#command(hosted, handlers.get(command)!, record),
    );
    this.#protocols.push({ hosted, commands });
  }

  readonly dispatchCommand = (record: RingReader): void => {
    const number = record.tag >>> 16;
    const kind = record.tag & MAX_KIND;
    if (number !== SYSTEM_PROTOCOL) this.#dispatch(this.#protocols[number - 1]!, kind, record);
    else if (kind === SystemKind.STOP) this.parts.onStop();
  };

  /** Reports to the application that a protocol has ended. */
  readonly reportFailure = (hosted: HostedProtocol, error: unknown): void => {
    const tag = tagOf(SYSTEM_PROTOCOL, SystemEvent.PROTOCOL_ENDED);
    const failure = { ...errorFacts(error), protocol: hosted.number };
    this.#send(Counter.events, tag, 0, encodeFailure(failure, this.parts.outbox.maxPayload));
  };

  #dispatch({ hosted, commands }: Protocol, kind: number, record: RingReader): void {
    // The event of the protocol's end settles all its calls in the application.
    if (hosted.failure) return;
    try {
      commands[kind]!(record);
    } catch (error) {
      this.host.fail(hosted, error);
    }
  }

  #command(
    hosted: HostedProtocol,
    handler: Handler,
    record: Post<readonly unknown[]> | Call<readonly unknown[], readonly unknown[]>,
  ): (record: RingReader) => void {
    const decode = decoderOf(record.payload, handler);
    const { answer } = record;
    if (!answer) return decode;
    const encode = encoderOf(answer);
    const done = tagOf(hosted.number, ReplyKind.DONE);
    const failed = tagOf(hosted.number, ReplyKind.FAILED);
    const reply = (request: number, value: unknown): void =>
      this.#send(Counter.replies, done, request, encode(value));
    const fail = (request: number, error: unknown): void => {
      const failure = encodeFailure(errorFacts(error), this.parts.outbox.maxPayload);
      this.#send(Counter.replies, failed, request, failure);
    };
    return (view) => answerWith(view.request, () => decode(view), reply, fail);
  }

  #events<Table extends RecordTable>(hosted: HostedProtocol, records: Table): EventHandlers<Table> {
    const emitters = Object.entries(records.events).map(([name, payload], kind) => {
      const encode = encoderOf(payload);
      const tag = tagOf(hosted.number, kind);
      const emit: Handler = (a, b, c, d, e, f, g, h) => {
        if (!hosted.failure) this.#send(Counter.events, tag, 0, encode(a, b, c, d, e, f, g, h));
      };
      return [name, emit];
    });
    return Object.fromEntries(emitters) as EventHandlers<Table>;
  }

  #send(counter: number, tag: number, request: number, payload: Uint8Array | undefined): void {
    const delivered = this.parts.outbox.send(tag, request, payload);
    this.parts.counters.values[counter]! += 1;
    this.parts.sent(delivered);
  }
}

/**
 * Answers a call with the result of its handler, at once or later, or with its error; also with the error if an answer
 * is too long for the ring.
 */
function answerWith(
  request: number,
  run: () => unknown,
  reply: (request: number, value: unknown) => void,
  fail: (request: number, error: unknown) => void,
): void {
  try {
    const result = run();
    if (!(result instanceof Promise)) reply(request, result);
    else result.then((value) => reply(request, value)).catch((error: unknown) => fail(request, error));
  } catch (error) {
    fail(request, error);
  }
}
