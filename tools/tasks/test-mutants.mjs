// `npm run test:mutants`: installs, builds, and tries the list of faults; arguments are the tool's own.
import { run, setUp } from './setup.mjs';

setUp();
run('mutants', 'node', ['tools/mutants/dist/main.js', ...process.argv.slice(2)], { loud: true });
