import type { MetricsAddress } from '@rdmc/metrics';
import { COORDINATOR } from '../cluster/messages.js';
import { codeOf, messageOf } from '../errors.js';
import type { ServerOptions } from '../node/cluster-options.js';
import { type CoordinatorOptions, KvCoordinator } from '../node/coordinator-process.js';
import { KvServer } from '../node/kv-server.js';
import { Standalone, type StandaloneOptions } from '../node/standalone.js';
import { PlannedEnd } from './planned-end.js';
import { ServedMetrics } from './serve-metrics.js';
import type { Tell } from './tell.js';

/** Exit code of a process whose part others have now: start it again. */
export const EXIT_AGAIN = 75;
const EXIT_FAILED = 1;

export async function runStandalone(
  options: StandaloneOptions,
  tell: Tell,
  metricsAddress?: MetricsAddress,
): Promise<void> {
  const end = new PlannedEnd('server', tell);
  const metrics = await ServedMetrics.start('server', metricsAddress, tell);
  const server = await Standalone.start(options, { shutdown: () => end.begin(0) });
  metrics?.of(server);
  tell(`ready: clients at port ${server.port}; one process without replication`, { ready: server.port });
}

/** Runs until a signal, or until it ends itself; backups write their memory to files first. */
export async function runServer(
  options: ServerOptions,
  tell: Tell,
  metricsAddress?: MetricsAddress,
): Promise<void> {
  const name = `server ${options.id}`;
  const end = new PlannedEnd(name, tell);
  const metrics = await ServedMetrics.start(name, metricsAddress, tell);
  const server = await KvServer.start(options, {
    memberLost: (event) => tellLost(name, event, tell),
    shutdown: () => end.begin(0),
    httpRefused: (event) =>
      tell(
        `${name}: disconnected ${event.address}: it sent HTTP, as a browser does that a web page directs here`,
        {
          httpRefused: event,
        },
      ),
  });
  metrics?.of(server);
  end.beforeExit(async () => server.backup?.dump());
  const { device, reason } = server.device;
  tell(`${name}: device ${device}: ${reason}`, { device, reason });
  tell(`${name}: clients at port ${server.port}`, { ready: server.port });
  server.signal.addEventListener('abort', () => {
    const reason: unknown = server.signal.reason;
    const isAgain = codeOf(reason) === 'ERR_RDMC_LOG_FENCED';
    tell(`${name} ends: ${codeOf(reason)}: ${messageOf(reason)}`, { ended: codeOf(reason) });
    end.begin(isAgain ? EXIT_AGAIN : EXIT_FAILED);
  });
}

export async function runCoordinator(options: CoordinatorOptions, tell: Tell): Promise<void> {
  const end = new PlannedEnd('coordinator', tell);
  const coordinator = await KvCoordinator.start(options, {
    serving: (epoch) => tell(`all slots are served (epoch ${epoch})`, { serving: epoch }),
    recovered: (event) =>
      tell(`${ownerText(event)} recovered: ${event.entries} entries in ${event.milliseconds} ms`, {
        recovered: event,
      }),
    failed: (event) => tell(`${failedText(event)} yet: ${event.code}: ${event.reason}`, { failed: event }),
    moved: (event) =>
      tell(`server ${event.source} handed ${event.slots} slots over to server ${event.target}`, { moved: event }),
    notMoved: (event) =>
      tell(
        `server ${event.source} could not hand slots over to server ${event.target}: ${event.code}: ${event.reason}`,
        { notMoved: event },
      ),
    balanced: () => tell('each server has its share of the slots', { balanced: true }),
    memberLost: (event) => tellLost('coordinator', event, tell),
  });
  end.beforeExit(() => coordinator.end());
  tell(`coordinator: started, run ${coordinator.term}`, { ready: 0 });
  coordinator.lost?.addEventListener('abort', () => {
    tell('coordinator: another coordinator uses the state now', { ended: 'ERR_RDMC_STATE_LOST' });
    end.begin(EXIT_AGAIN);
  });
}

function tellLost(name: string, lost: { member: number; reason: string }, tell: Tell): void {
  const who = lost.member === COORDINATOR ? 'the coordinator' : `server ${lost.member}`;
  tell(`${name}: ${who} is lost: ${lost.reason}`, { memberLost: lost });
}

/** Names a log by its server; by its number where the server is not known. */
function ownerText({ server, logId }: { server: number | undefined; logId: string }): string {
  return server === undefined ? `log ${logId}` : `the log of server ${server} (number ${logId})`;
}

function failedText({ server, logId }: { server: number | undefined; logId: string | undefined }): string {
  return logId === undefined
    ? 'slots cannot be assigned'
    : `${ownerText({ server, logId })} is not recovered`;
}
