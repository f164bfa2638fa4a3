// `npm run test:chaos`: installs, builds, and runs the chaos harness; arguments are the harness's own.
import { run, setUp } from './setup.mjs';

setUp();
run('chaos', 'node', ['tools/chaos/dist/main.js', ...process.argv.slice(2)], { loud: true });
