/** How receivers are started on other hosts. */
export interface RemoteOptions {
  /** Takes a host and a command: `ssh -o BatchMode=yes`, in words. */
  readonly shell: readonly string[];
  /** The rdmc command over there, in words. */
  readonly command: readonly string[];
  /** Where files go there; relative to where the remote shell begins, with ssh the home directory. */
  readonly directory: string;
  readonly makeDirectory: boolean;
  /** Whether everything is on disk over there before the cast is complete. */
  readonly fsync: boolean;
  readonly meshPorts: readonly [number, number] | undefined;
  /** Milliseconds until a receiver must listen. */
  readonly timeoutMs: number;
}
