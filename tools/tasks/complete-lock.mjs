// `npm run lock`: completes package-lock.json after a change of dependencies, so that `npm ci` accepts it everywhere.
// With --check it does not change anything, and fails if the file is not complete.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { completeLock } from './lock.mjs';
import { root, stop } from './setup.mjs';

const path = join(root, 'package-lock.json');
const lock = JSON.parse(readFileSync(path, 'utf8'));
const changes = completeLock(lock);
if (process.argv[2] !== '--check') {
  if (changes.length > 0) writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`package-lock.json: ${changes.length} changes`);
} else if (changes.length > 0) {
  stop(
    `package-lock.json is not complete, and npm ci would refuse it; run: npm run lock\n${changes.join('\n')}`,
  );
}
