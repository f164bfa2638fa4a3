import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MetricsAddress } from '@rdmc/metrics';
import { type MemberLoss, memberName } from '../cluster/messages.js';
import { codeOf, messageOf } from '../errors.js';
import type { ServerOptions } from '../node/cluster-options.js';
import {
  type CoordinatorEvents,
  type CoordinatorOptions,
  KvCoordinator,
} from '../node/coordinator-process.js';
import { KvServer } from '../node/kv-server.js';
import { Standalone, type StandaloneOptions } from '../node/standalone.js';
import { COORDINATOR_SAMPLES, CoordinatorCounters } from './coordinator-samples.js';
import { PlannedEnd } from './planned-end.js';
import { ServedMetrics } from './serve-metrics.js';
import { SERVER_SAMPLES } from './server-samples.js';
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
  const metrics = await ServedMetrics.start('server', metricsAddress, SERVER_SAMPLES, tell);
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
  const metrics = await ServedMetrics.start(name, metricsAddress, SERVER_SAMPLES, tell);
  const server = await KvServer.start(options, {
    // Others give it data before it has started, and a signal may come before that, too.
    backupOpened: (backup) => end.beforeExit(() => backup.dump()),
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
  end.beforeExit(repliesSent);
  const { device, reason } = server.device;
  tell(`${name}: device ${device}: ${reason}`, { device, reason });
  tell(`${name}: clients at port ${server.port}`, { ready: server.port });
  server.signal.addEventListener('abort', () => {
    const reason: unknown = server.signal.reason;
    if (codeOf(reason) === 'ERR_RDMC_MESH_EVICTED') {
      tell(`${name}: was removed from the cluster`, { removed: options.id });
      end.begin(0);
      return;
    }
    const isAgain = codeOf(reason) === 'ERR_RDMC_LOG_FENCED';
    tell(`${name} ends: ${codeOf(reason)}: ${messageOf(reason)}`, { ended: codeOf(reason) });
    end.begin(isAgain ? EXIT_AGAIN : EXIT_FAILED);
  });
}

/** The operator who has a server removed may have asked that one. Replies are sent at the end of the turn in which they are made. */
async function repliesSent(): Promise<void> {
  await nextTurn();
  await nextTurn();
}

/** Runs until a signal, or until it can neither lead nor wait for the lead. */
export async function runCoordinator(
  options: CoordinatorOptions,
  tell: Tell,
  metricsAddress?: MetricsAddress,
): Promise<void> {
  const name = options.standby === undefined ? 'coordinator' : `standby ${options.standby}`;
  const end = new PlannedEnd(name, tell);
  const counters = new CoordinatorCounters();
  const metrics = await ServedMetrics.start(name, metricsAddress, COORDINATOR_SAMPLES, tell);
  metrics?.of(counters);
  const coordinator = await KvCoordinator.start(options, counters.counting(coordinatorEvents(name, tell)));
  end.beforeExit(() => coordinator.end());
  tell(`${name}: started`, { ready: 0 });
  coordinator.signal.addEventListener('abort', () => {
    const reason: unknown = coordinator.signal.reason;
    tell(`${name} ends: ${codeOf(reason)}: ${messageOf(reason)}`, { ended: codeOf(reason) });
    end.begin(EXIT_FAILED);
  });
}

/** A line for each event that an operator wants to know. */
function coordinatorEvents(name: string, tell: Tell): CoordinatorEvents {
  let isWhole = false;
  return {
    leading: (term) => tell(`${name}: coordinates, run ${term}`, { leading: term }),
    waiting: ({ reason }) => tell(waitingText(name, reason), { waiting: reason ?? '' }),
    serving: (epoch) => {
      // Each hand-over makes a table: only the first one after a start, a loss or a failure is a line.
      tell(isWhole ? undefined : `all slots are served (epoch ${epoch})`, { serving: epoch });
      isWhole = true;
    },
    recovered: (event) =>
      tell(`${ownerText(event)} recovered: ${event.entries} entries in ${event.milliseconds} ms`, {
        recovered: event,
      }),
    failed: (event) => {
      isWhole = false;
      tell(`${failedText(event)} yet: ${event.code}: ${event.reason}`, { failed: event });
    },
    moved: (event) =>
      tell(`server ${event.source} handed ${event.slots} slots over to server ${event.target}`, {
        moved: event,
      }),
    notMoved: (event) =>
      tell(
        `server ${event.source} could not hand slots over to server ${event.target}: ${event.code}: ${event.reason}`,
        { notMoved: event },
      ),
    balanced: () => tell('each server has its share of the slots', { balanced: true }),
    memberLost: (event) => {
      isWhole = false;
      tellLost(name, event, tell);
    },
  };
}

function waitingText(name: string, reason: string | undefined): string {
  if (reason === undefined) return `${name}: waits for the end of the coordinator that leads`;
  return `${name}: does not coordinate any more, and waits for the lead: ${reason}`;
}

/** Exported for tests. */
export function tellLost(name: string, lost: MemberLoss, tell: Tell): void {
  const text = lost.type === 'left' ? 'has left' : `is lost: ${lost.reason}`;
  tell(`${name}: ${memberName(lost.member)} ${text}`, { memberLost: lost });
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
