import type { Monitor } from '../monitor/monitor.js';

/** A server in replies to clients. */
export interface NodeAddress {
  readonly member: number;
  readonly host: string;
  /** Where clients connect. */
  readonly port: number;
  readonly connected: boolean;
}

/** Consecutive slots with the same server; −1: no server at present. */
export interface SlotRange {
  readonly from: number;
  readonly to: number;
  readonly member: number;
}

/** The server that runs a command, as the command sees it. */
export interface NodeView {
  readonly member: number;
  readonly startedAt: number;
  readonly port: number;
  readonly password: string | undefined;
  readonly clients: number;
  readonly epoch: number;
  commandsProcessed: number;
  /** The commands and events that took long. */
  readonly monitor: Monitor;
  /** Ends this server as planned; false: the program that started it does not do that. */
  shutdown(): boolean;
  nodes(): NodeAddress[];
  ranges(): SlotRange[];
  isOwn(slot: number): boolean;
  /** One line per client. */
  clientList(): string[];
}

/** 40 hexadecimal digits, as clients expect of a node's id; the member's number in them. */
export function nodeId(member: number): string {
  return `72646d63${member.toString(16).padStart(32, '0')}`;
}
