// udpcast: UDP multicast with acknowledgements and resends. It must be told the rate: without a limit it overruns
// the queue before the first link. Debian: udpcast.
import { parseRate } from '@rdmc/netlab';
import { UNMEASURED } from '../meter.mjs';
import { ended, nowSeconds } from '../tools.mjs';
import { fileAt } from './chain.mjs';

/** Of the link's rate: what still passes without loss, headers counted. */
const SHARE = 0.925;

/** Seconds from the sender's start, when all receivers wait, until the slowest has ended. */
export async function udpcast(lab, hosts, path, folderOf, { rate, meter = UNMEASURED }) {
  const start = (host, command, args) =>
    lab.exec(host, ...meter.wrap(host, command, args), { stdio: ['ignore', 'ignore', 'ignore'] });
  const common = ['--interface', 'eth0', '--nokbd', '--portbase', '9000'];
  const ends = hosts
    .slice(1)
    .map((host) =>
      ended(
        start(host, 'udp-receiver', [...common, '--file', fileAt(folderOf(host))]),
        `udp-receiver at ${host}`,
      ),
    );
  const limit = `${Math.floor((parseRate(rate) * SHARE) / 1000)}k`;
  const own = [
    '--file',
    path,
    '--min-receivers',
    String(hosts.length - 1),
    '--full-duplex',
    '--max-bitrate',
    limit,
  ];
  const started = nowSeconds();
  ends.push(ended(start(hosts[0], 'udp-sender', [...common, ...own]), 'udp-sender'));
  return { seconds: Math.max(...(await Promise.all(ends))) - started };
}
