// Two processes with one id: exactly one of them serves in the end.
import { setTimeout as delay } from 'node:timers/promises';
import { KEYS } from '../cluster/clients.js';
import type { Deeds, HarmedKv } from './harmed-kv.js';
import { hostOfServer } from './kv-places.js';
import type { KvProcess } from './kv-server.js';
import { ownerOf, serves } from './kv-status.js';

const MOST_ATTEMPTS = 3;
/** Between two requests for a key of the silent server. */
const ASK_MS = 20;
/** The first key is a counter. */
const TEXTS = KEYS.slice(1);
/** The others notice a silence of 8 s. */
const LONGEST_SILENCE_MS = 15_000;
/** Others have its id (ERR_RDMC_REPLACED), or its part. */
const REPLACED_CODES = [1, 75];

/** How a server becomes silent, and is heard again. */
interface Silence {
  begin(holder: KvProcess): Promise<void>;
  end(holder: KvProcess): Promise<void>;
}

export const TWINS: Deeds = {
  'kv-twin': besideRunning,
  'kv-twin-stopped': (run) => besideSilent(run, stop(run)),
  'kv-twin-cut': (run) => besideSilent(run, cut(run)),
};

function stop(run: HarmedKv): Silence {
  return {
    async begin(holder) {
      run.note(`SIGSTOP of ${holder.name}`);
      holder.signal('SIGSTOP');
    },
    async end(holder) {
      run.note(`SIGCONT of ${holder.name}`);
      holder.signal('SIGCONT');
    },
  };
}

/** Clients reach the server all the same. */
function cut(run: HarmedKv): Silence {
  return {
    async begin(holder) {
      await run.cluster.lab!.cut(hostOfServer(Number(holder.id)));
      run.note(`the link of ${holder.name} is cut`);
    },
    async end(holder) {
      await run.cluster.lab!.heal(hostOfServer(Number(holder.id)));
      run.note(`${holder.name} is joined again`);
    },
  };
}

/** A second process is refused as long as the first one runs, which is not disturbed. It may be admitted when the first one is dead. */
async function besideRunning(run: HarmedKv): Promise<void> {
  const [holder, other] = run.random.shuffled(run.living()) as [KvProcess, KvProcess];
  run.killed = [];
  const attempts = run.random.integer(1, MOST_ATTEMPTS);
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const twin = await claim(run, holder, run.random.pick(run.living()));
    if (twin) throw new Error(`it was admitted beside process ${holder.pid}: ${twin.report()}`);
    await run.clients.more(run.plan.away);
  }
  if (!(await serves(holder))) throw new Error(`it has ended because of another process: ${holder.report()}`);
  if (run.random.integer(0, 1) === 0) return;
  await run.killAll([holder]);
  await admit(run, holder, other);
}

/** The second process is started until it is admitted, or until the first one serves again. It is the only one that does then. */
async function besideSilent(run: HarmedKv, silence: Silence): Promise<void> {
  const key = run.random.pick(TEXTS);
  const holder = await holderOf(run, key);
  const other = run.random.pick(run.living().filter((each) => each !== holder));
  run.killed = [];
  const isLate = run.random.pick([true, false]);
  const silentMs = run.random.integer(0, LONGEST_SILENCE_MS);
  await silence.begin(holder);
  const asking = new AbortController();
  const asked = Promise.all([
    askOften(run, holder, [key, 'get'], asking.signal),
    askOften(run, other, [key, 'set'], asking.signal),
  ]);
  const heard = isLate ? undefined : endsAfter(silentMs, () => silence.end(holder));
  const twin = await compete(run, [holder, other], heard);
  await run.clients.more(run.plan.away);
  if (isLate) await silence.end(holder);
  await heard?.ended;
  if (twin) await requireEnd(run, holder);
  asking.abort();
  await asked;
}

async function holderOf(run: HarmedKv, key: string): Promise<KvProcess> {
  const id = await ownerOf(key, run.random.pick(run.living()));
  const holder = run.living().find((each) => each.id === id);
  if (holder === undefined) throw new Error(`server ${id} has ${key}, and does not run`);
  return holder;
}

/** The key is read at the silent server and written at another one, so that the checker finds stale values. */
async function askOften(
  run: HarmedKv,
  server: KvProcess,
  [key, kind]: readonly [string, 'get' | 'set'],
  end: AbortSignal,
): Promise<void> {
  while (!end.aborted && !server.gone) {
    await run.clients.ask(server, key, kind);
    await delay(ASK_MS);
  }
}

/** The end of a silence. */
interface Heard {
  readonly ended: Promise<void>;
  isOver: boolean;
}

function endsAfter(ms: number, end: () => Promise<void>): Heard {
  const ended = delay(ms).then(end);
  const heard = { ended, isOver: false };
  ended.then(
    () => {
      heard.isOver = true;
    },
    // Of a run that was given up.
    () => {},
  );
  return heard;
}

/** @param heard undefined: the first process does not go on before the second one is admitted */
async function compete(
  run: HarmedKv,
  [holder, other]: readonly [KvProcess, KvProcess],
  heard: Heard | undefined,
): Promise<KvProcess | undefined> {
  const lost = other.loses(holder.id);
  // Of a run that was given up.
  lost.catch(() => {});
  for (;;) {
    const twin = await claim(run, holder, other);
    if (twin) return take(run, holder, twin);
    await run.calmly(() => Promise.race([lost, ...(heard ? [heard.ended] : [])]));
    if (heard?.isOver && (await serves(holder))) {
      run.note(`${holder.name} serves again`);
      return undefined;
    }
  }
}

/** When the first process is dead, the others admit another one as soon as they have noticed. */
async function admit(run: HarmedKv, holder: KvProcess, other: KvProcess): Promise<void> {
  for (;;) {
    const twin = await claim(run, holder, other);
    if (twin) {
      take(run, holder, twin);
      return;
    }
  }
}

/** Starts a second process. Undefined: it was refused, because the first one has the id. */
async function claim(run: HarmedKv, holder: KvProcess, beside: KvProcess): Promise<KvProcess | undefined> {
  const twin = await run.cluster.launchTwin(holder.id, beside);
  const isAdmitted = await run.calmly(() =>
    twin.ready.then(
      () => true,
      () => false,
    ),
  );
  run.note(`process ${twin.pid} with the id of ${holder.name} is ${isAdmitted ? 'admitted' : 'refused'}`);
  if (isAdmitted) return twin;
  const { code } = await twin.exited;
  const isTold = twin.stderr.includes('ERR_RDMC_ID_IN_USE') && twin.stderr.includes(`process ${holder.pid}`);
  if (code !== 1 || !isTold) throw new Error(`it was not refused as a second process: ${twin.report()}`);
  return undefined;
}

function take(run: HarmedKv, holder: KvProcess, twin: KvProcess): KvProcess {
  run.cluster.replace(holder, twin);
  return twin;
}

async function requireEnd(run: HarmedKv, holder: KvProcess): Promise<void> {
  const { code } = await run.calmly(() => holder.exited);
  if (code === null || !REPLACED_CODES.includes(code))
    throw new Error(`it did not end as a process that was replaced: ${holder.report()}`);
  run.note(`the former process of ${holder.name} has ended with ${code}`);
}
