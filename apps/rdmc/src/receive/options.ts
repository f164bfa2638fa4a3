/** What `rdmc receive` was asked for. */
export interface ReceiveCommandOptions {
  /** The library's choice when undefined: everywhere with a key, else only the user of this process, on this machine. */
  readonly host: string | undefined;
  readonly port: number | undefined;
  readonly directory: string;
  readonly makeDirectory: boolean;
  readonly key: Uint8Array | undefined;
  readonly once: boolean;
  readonly fsync: boolean;
  readonly meshPorts: readonly [number, number] | undefined;
  readonly device: string;
  readonly transport: 'auto' | 'shm' | 'tcp';
  readonly verbose: boolean;
  readonly quiet: boolean;
  readonly json: boolean;
}
