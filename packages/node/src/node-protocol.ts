import type {
  DataPlane,
  EndListener,
  EventHandlers,
  ProtocolClient,
  ProtocolWorker,
  RecordTable,
} from '@rdmc/dataplane';
import type { Mesh, MeshLogger } from '@rdmc/mesh';

/** A pino logger fits; so does `console`. Methods may be missing. */
export type NodeLogger = MeshLogger;

/** The context of a protocol's application side. Belongs to the thread that joined. */
export interface NodeContext<Table extends RecordTable> {
  /** The protocol's name: the first part of its mesh topics, by convention. */
  readonly name: string;
  /** This member's id. */
  readonly id: number;
  /**
   * Connections to the other members, to exchange addresses and settings before data flows. All protocols share it: use
   * topics that begin with the protocol's name.
   */
  readonly mesh: Mesh;
  /** Device, protection domain and counters; shared by all protocols of the node. */
  readonly plane: DataPlane;
  /** The result of the protocol's `data()` for this node; its worker has a clone of it. */
  readonly data: unknown;
  /** The node's logger; undefined if it does not have one. */
  readonly logger: NodeLogger | undefined;
  /**
   * Connects to the protocol's worker side. Works once.
   * @param onEnd called once when that side has ended because it threw or the worker died
   */
  connect(events: EventHandlers<Table>, onEnd?: EndListener): ProtocolClient<Table>;
}

/** Optional methods of a protocol's API that the node calls. */
export interface NodeApi {
  /** Called when the node closes, before its mesh and its device close: closes everything of the protocol. */
  close?(): void | Promise<void>;
}

/**
 * A protocol that nodes run. It has a side in the worker, between the completion queue and the application, and a side
 * in the application's thread, whose API is a property of the node.
 */
export interface NodeProtocol<Api extends object = object, Table extends RecordTable = RecordTable> {
  /** Unique among the protocols of a node; letters, digits, `.`, `-`. */
  readonly name: string;
  /** The version of the messages between members. All members of a cluster run the same version. */
  readonly version: number;
  /** The commands and events between its two sides. */
  readonly records: Table;
  /**
   * The worker side. Either the URL of a module whose default export is `protocolWorker(records, …)`: it runs in the
   * node's worker, beside the other protocols. Or that export itself: it runs in the application's thread, with its own
   * completion queue, so that a command does not wake another thread; the application's other work delays it.
   */
  readonly worker: URL | ProtocolWorker<Table>;
  /** Called once for each node: creates data that both sides share, such as a SharedArrayBuffer. */
  data?(): unknown;
  /**
   * Creates the API, when all members have joined and the worker runs. The node's `close` calls that of the API:
   * `NodeApi`.
   */
  application(context: NodeContext<Table>): Api | Promise<Api>;
}

/** The options that protocols of this repository have in common. */
export interface ProtocolOptions {
  /** The thread of the protocol's worker side (default 'worker'): see `NodeProtocol.worker`. */
  readonly thread?: 'worker' | 'application';
}

/** Returns the protocol, with its types inferred. */
export function nodeProtocol<Api extends object, Table extends RecordTable>(
  protocol: NodeProtocol<Api, Table>,
): NodeProtocol<Api, Table> {
  return protocol;
}

/** A protocol of any types. */
// biome-ignore lint/suspicious/noExplicitAny: its context takes the protocol's own types, which `unknown` does not accept
export type AnyProtocol = NodeProtocol<any, any>;

/** Protocols by the names of their APIs at the node. */
export type Protocols = Readonly<Record<string, AnyProtocol>>;

/** The APIs of protocols. */
export type ApisOf<Set extends Protocols> = {
  readonly [Key in keyof Set]: Set[Key] extends NodeProtocol<infer Api, infer _Table> ? Api : never;
};
