#!/usr/bin/env node
import { refuseOldNode } from '@rdmc/common/node-floor';

refuseOldNode('tailwind-scan');
const { scanCommand } = await import('./command/scan-command.js');
process.exitCode = await scanCommand(process.argv.slice(2), process.stdout, process.stderr);
