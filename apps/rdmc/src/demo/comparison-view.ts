import type { Group } from '@rdmc/group';
import type { LocalCluster } from '../cluster/local-cluster.js';
import type { Terminal } from '../ui/terminal.js';
import { formatSeconds } from '../ui/units.js';
import { MemberBars } from './member-bars.js';

/** Shows the comparison while it runs: a bar for each receiver on a terminal, and a line for each algorithm. */
export class ComparisonView {
  #bars: MemberBars | undefined;
  #current: Group | undefined;
  /** Bytes of the group's earlier messages: members report the sum. */
  #before = 0;
  #bytes = 0;
  readonly #printed = new Set<string>();

  /** Without a terminal nothing is shown. */
  constructor(
    private readonly cluster: LocalCluster,
    private readonly terminal: Terminal | undefined,
  ) {
    if (!terminal?.interactive) return;
    for (const receiver of cluster.receivers) {
      receiver.onReport((report) => {
        if (report.type === 'progress') this.#progress(receiver.id, report.group, report.bytesReceived);
        else if (report.type === 'received' && report.group === this.#current?.id)
          this.#bars?.update(receiver.id, { phase: 'received', receivedBytes: this.#bytes });
      });
    }
  }

  /** A message of `byteLength` is sent to a group that has had `bytesBefore`. */
  begin(title: string, group: Group, byteLength: number, bytesBefore: number): void {
    if (!this.terminal?.interactive) return;
    this.#current = group;
    this.#before = bytesBefore;
    this.#bytes = byteLength;
    const members = this.cluster.receiversOf(group).map(({ id }) => id);
    this.#bars = new MemberBars(this.terminal, members, byteLength, false, title);
  }

  /** The message has arrived at all receivers. A line is printed in the first round: later ones repeat it. */
  end(title: string, seconds: number): void {
    this.stop();
    if (this.#printed.has(title)) return;
    this.#printed.add(title);
    this.terminal?.out(
      `  ${title.padEnd('binomial-pipeline'.length)}  ${formatSeconds(seconds).padStart(8)}`,
    );
  }

  stop(): void {
    this.#bars?.stop({ clear: true });
    this.#bars = this.#current = undefined;
  }

  #progress(member: number, group: number, bytesReceived: number): void {
    if (group !== this.#current?.id) return;
    const receivedBytes = Math.max(0, bytesReceived - this.#before);
    if (receivedBytes > 0) this.#bars?.update(member, { phase: 'receiving', receivedBytes });
  }
}
