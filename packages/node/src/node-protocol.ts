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

/** What the application's side of a protocol has to work with. Belongs to the thread that joined. */
export interface NodeContext<Table extends RecordTable> {
  /** The protocol's name: the first part of its mesh topics, by convention. */
  readonly name: string;
  /** This member's id. */
  readonly id: number;
  /** Connections to the other members, for what is agreed on before data flows. Protocols share it: use topics of your own. */
  readonly mesh: Mesh;
  /** Device, protection domain and counters; shared by all protocols of the node. */
  readonly plane: DataPlane;
  /** What the protocol's `data()` made for this node; its worker has a clone of it. */
  readonly data: unknown;
  readonly logger: NodeLogger | undefined;
  /**
   * Connects to the protocol's side in the worker; once.
   * @param onEnd hears, once, that it does nothing any more: it threw, or the worker died
   */
  connect(events: EventHandlers<Table>, onEnd?: EndListener): ProtocolClient<Table>;
}

/** What a protocol's API may have for the node. */
export interface NodeApi {
  /** Called when the node closes, before its mesh and its device: ends what is open. */
  close?(): void | Promise<void>;
}

/**
 * A protocol: what the nodes of a cluster can be given to run. It has a side in the worker, between the completion queue and
 * the application, and a side in the application's thread, whose API is a property of the node.
 */
export interface NodeProtocol<Api extends object = object, Table extends RecordTable = RecordTable> {
  /** No two protocols of a node have the same; letters, digits, `.`, `-`. */
  readonly name: string;
  /** Of what the members say to each other. All members of a cluster run the same version. */
  readonly version: number;
  readonly records: Table;
  /**
   * Its side between completion queue and application. The module whose default export is `protocolWorker(records, …)`: it runs
   * in the node's worker, beside the other protocols. Or what that module exports: it runs in the application's thread, with a
   * completion queue of its own, so that a command wakes no other thread; what the application does meanwhile delays it.
   */
  readonly worker: URL | ProtocolWorker<Table>;
  /** Made once for each node: what both sides share, such as a SharedArrayBuffer. */
  data?(): unknown;
  /** Makes the API, when the members have gathered and the worker runs. Its `close` is called with the node's: `NodeApi`. */
  application(context: NodeContext<Table>): Api | Promise<Api>;
}

/** A protocol, with its types inferred. */
export function nodeProtocol<Api extends object, Table extends RecordTable>(
  protocol: NodeProtocol<Api, Table>,
): NodeProtocol<Api, Table> {
  return protocol;
}

/** What a protocol of any types is assignable to. */
// biome-ignore lint/suspicious/noExplicitAny: its context takes the protocol's own types, which `unknown` does not accept
export type AnyProtocol = NodeProtocol<any, any>;

/** Protocols by the names that their APIs get at the node. */
export type Protocols = Readonly<Record<string, AnyProtocol>>;

/** The APIs of protocols. */
export type ApisOf<Set extends Protocols> = {
  readonly [Key in keyof Set]: Set[Key] extends NodeProtocol<infer Api, infer _Table> ? Api : never;
};
