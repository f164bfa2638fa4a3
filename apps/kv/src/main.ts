#!/usr/bin/env node
import { Standalone } from './node/standalone.js';

const server = await Standalone.start({ port: Number(process.argv[2] ?? 6379) });
process.stdout.write(`ready ${server.port}\n`);
