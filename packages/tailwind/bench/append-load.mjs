// Loads and measurements of the appends' benchmark: values of 100 bytes, keys of 30.
import { createHistogram } from 'node:perf_hooks';
import { EntryType, encodeObject } from '@rdmc/tailwind';

const KEY = new Uint8Array(30).fill(1);
const VALUE = new Uint8Array(100).fill(2);
/** Limit of outstanding appends of an offered load; beyond it, the scheme cannot sustain the load. */
const MAX_UNDER_WAY = 10_000;

function append(log, version) {
  return log.append({ type: EntryType.OBJECT, parts: encodeObject(version, KEY, VALUE) }).acknowledged;
}

function result(histogram, appends, seconds) {
  return {
    rate: appends / seconds,
    p50: histogram.percentile(50) / 1000,
    p99: histogram.percentile(99) / 1000,
  };
}

/** Keeps `depth` appends outstanding for some seconds. */
export async function closedLoad(log, depth, seconds) {
  const histogram = createHistogram();
  const started = performance.now();
  const end = started + seconds * 1000;
  let appends = 0;
  const lane = async () => {
    while (performance.now() < end) {
      const before = performance.now();
      await append(log, appends);
      histogram.record(nanoseconds(performance.now() - before));
      appends += 1;
    }
  };
  await Promise.all(Array.from({ length: depth }, lane));
  return result(histogram, appends, (performance.now() - started) / 1000);
}

/**
 * Appends at instants that are fixed in advance, independent of earlier appends, for some seconds. The latency of an
 * append counts from its instant, so that the time it waited for this process is included.
 */
export async function offeredLoad(log, perSecond, seconds) {
  const histogram = createHistogram();
  const started = performance.now();
  const all = Math.round(perSecond * seconds);
  let issued = 0;
  let done = 0;
  let finish;
  const finished = new Promise((resolve) => {
    finish = resolve;
  });
  const one = async (due) => {
    await append(log, issued);
    histogram.record(nanoseconds(performance.now() - due));
    done += 1;
    if (done === all) finish();
  };
  const turn = () => {
    const due = Math.min(all, Math.floor(((performance.now() - started) / 1000) * perSecond));
    while (issued < due && issued - done < MAX_UNDER_WAY) {
      void one(started + (issued / perSecond) * 1000);
      issued += 1;
    }
    if (issued < all) setImmediate(turn);
  };
  turn();
  await finished;
  return result(histogram, all, (performance.now() - started) / 1000);
}

function nanoseconds(milliseconds) {
  return Math.max(1, Math.round(milliseconds * 1e6));
}
