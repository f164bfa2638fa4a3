// `npm run test:nightly`: every part of nightly-parts.mjs in full, one after the other, also after failures.
// `npm run test:smoke`: the smoke test of each, for every push. Arguments after it name parts: npm run test:smoke -- chaos
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PARTS, SMOKE_LIMIT_SECONDS } from './nightly-parts.mjs';
import { passParts } from './parts.mjs';
import { root, setUp, stop } from './setup.mjs';

const smoke = process.argv[2] === '--smoke';
const asked = process.argv.slice(smoke ? 3 : 2);
const unknown = asked.find((label) => !PARTS.some((part) => part.label === label));
if (unknown) stop(`No part '${unknown}'; there are: ${PARTS.map(({ label }) => label).join(', ')}`);

const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const chosen = PARTS.filter(({ label }) => asked.length === 0 || asked.includes(label));
for (const { label, script } of chosen) {
  if (!scripts[script]) console.log(`── ${label}: not yet (there is no script ${script})`);
}
const parts = chosen
  .filter((part) => scripts[part.script] && (smoke ? part.smoke : part.full))
  .map((part) => ({
    label: smoke ? `smoke test of ${part.label}` : part.label,
    command: 'npm',
    args: ['run', '--silent', part.script, '--', ...(smoke ? part.smoke : part.full)],
    env: part.env,
    limitSeconds: smoke ? SMOKE_LIMIT_SECONDS : 60 * part.limitMinutes,
  }));
setUp();
await passParts(parts, 1);
