/** How receivers are started on other hosts. */
export interface RemoteOptions {
  /** The remote shell, which takes a host and a command: `ssh -o BatchMode=yes`, split into words. */
  readonly shell: readonly string[];
  /** The rdmc command on the receivers, split into words. */
  readonly command: readonly string[];
  /** Receiving directory; relative to the initial directory of the remote shell, with ssh the home directory. */
  readonly directory: string;
  readonly makeDirectory: boolean;
  /** Whether receivers sync everything to disk before the cast is complete. */
  readonly fsync: boolean;
  /** Whether receivers set owners and special mode bits. */
  readonly archive: boolean;
  readonly meshPorts: readonly [number, number] | undefined;
  /** How long a receiver may take to listen, in milliseconds. */
  readonly timeoutMs: number;
}
