// Measures how fast one core scans segments: `node bench/scan.mjs`. Prints GB/s for objects of several sizes.
import { performance } from 'node:perf_hooks';
import { EntryType, encodeObject } from '@rdmc/tailwind';
import { SegmentWriter, scanSegment } from '@rdmc/tailwind/format';

const SEGMENT_BYTES = 8 * 1024 * 1024;
const IDENTITY = { logId: 1n, segmentId: 1n, incarnation: 1 };
const ROUNDS = 15;

function filled(valueBytes, objectsPerGroup) {
  const bytes = new Uint8Array(SEGMENT_BYTES);
  const writer = new SegmentWriter(bytes, IDENTITY);
  const key = new Uint8Array(30).fill(1);
  const value = new Uint8Array(valueBytes).fill(2);
  let objects = 0;
  while (writer.fits(valueBytes + 42)) {
    writer.append(EntryType.OBJECT, ...encodeObject(1, key, value));
    objects += 1;
    if (objects % objectsPerGroup === 0) writer.seal();
  }
  writer.seal();
  return { bytes, objects, used: writer.sealedBytes };
}

for (const [valueBytes, perGroup] of [
  [100, 1],
  [100, 16],
  [1024, 1],
  [65536, 1],
]) {
  const { bytes, objects, used } = filled(valueBytes, perGroup);
  const times = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const started = performance.now();
    if (scanSegment(bytes, IDENTITY).offset !== used) throw new Error('the scan did not reach the end');
    times.push(performance.now() - started);
  }
  const median = times.sort((a, b) => a - b)[ROUNDS >> 1];
  const rate = (used / median / 1e6).toFixed(2);
  console.log(
    `values of ${valueBytes} bytes, ${perGroup} per group: ${rate} GB/s, ${((median * 1e6) / objects).toFixed(0)} ns per object`,
  );
}
