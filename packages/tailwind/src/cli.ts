#!/usr/bin/env node
import { scanCommand } from './command/scan-command.js';

process.exitCode = await scanCommand(process.argv.slice(2), process.stdout, process.stderr);
