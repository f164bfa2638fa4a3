import { invalidOption, NetlabError } from '../errors.js';
import { requireTools } from '../tools.js';
import { parseArguments } from './arguments.js';
import { COMMANDS } from './commands.js';
import { HELP } from './help.js';

const FAILED = 1;
const USAGE = 2;

async function main(argv: readonly string[]): Promise<number> {
  const [name = '', ...rest] = argv;
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  const args = parseArguments(command ? rest : argv);
  if (args.options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (command === undefined) {
    throw invalidOption(
      name ? `there is no command ${name}; see netlab --help` : 'no command given; see netlab --help',
    );
  }
  requireTools();
  return command(args);
}

// `netlab list | head -1` ends as other tools do when their reader has ended.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(FAILED);
});
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof NetlabError)) throw error;
  process.stderr.write(`netlab: ${error.message} [${error.code}]\n`);
  process.exitCode = error.code === 'ERR_RDMC_NETLAB_INVALID_OPTION' ? USAGE : FAILED;
}
