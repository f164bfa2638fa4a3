/** What COMMAND DOCS says of each command. A test compares the names with the command table. */

/** Redis's groups of commands. */
export type CommandGroup =
  | 'string'
  | 'hash'
  | 'generic'
  | 'transactions'
  | 'connection'
  | 'server'
  | 'cluster';

export interface CommandDocs {
  readonly group: CommandGroup;
  /** The version of Redis that had it first. */
  readonly since: string;
  readonly complexity: string;
  readonly summary: string;
}

type Row = readonly [since: string, complexity: string, summary: string];

const CONSTANT = 'O(1)';
const EACH_KEY = 'O(N) for N keys';
const EACH_FIELD = 'O(N) for N fields';
const ALL_KEYS = 'O(N) for all keys of the cluster';

const ROWS: Readonly<Record<CommandGroup, Readonly<Record<string, Row>>>> = {
  string: {
    get: ['1.0.0', CONSTANT, 'Returns the string of a key.'],
    set: ['1.0.0', CONSTANT, 'Sets the string of a key; replaces a value of any type.'],
    setnx: ['1.0.0', CONSTANT, 'Sets the string of a key that does not exist.'],
    setex: ['2.0.0', CONSTANT, 'Sets the string of a key, and its expiry in seconds.'],
    psetex: ['2.6.0', CONSTANT, 'Sets the string of a key, and its expiry in milliseconds.'],
    getset: ['1.0.0', CONSTANT, 'Sets the string of a key, and returns the one before.'],
    getdel: ['6.2.0', CONSTANT, 'Returns the string of a key, and removes the key.'],
    getex: ['6.2.0', CONSTANT, 'Returns the string of a key, and changes its expiry.'],
    getrange: ['2.4.0', 'O(N) for N bytes', 'Returns a part of the string of a key.'],
    append: ['2.0.0', 'O(N) for N bytes of the string', 'Appends to the string of a key.'],
    strlen: ['2.2.0', CONSTANT, 'Returns the length of the string of a key, in bytes.'],
    incr: ['1.0.0', CONSTANT, 'Adds one to the number of a key.'],
    decr: ['1.0.0', CONSTANT, 'Subtracts one from the number of a key.'],
    incrby: ['1.0.0', CONSTANT, 'Adds to the number of a key.'],
    decrby: ['1.0.0', CONSTANT, 'Subtracts from the number of a key.'],
    mget: ['1.0.0', EACH_KEY, 'Returns the strings of keys.'],
    mset: ['1.0.1', EACH_KEY, 'Sets the strings of keys; those of one server in one step.'],
  },
  hash: {
    hset: ['2.0.0', EACH_FIELD, 'Sets fields of a hash in one step.'],
    hsetnx: ['2.0.0', CONSTANT, 'Sets a field of a hash that does not exist.'],
    hget: ['2.0.0', CONSTANT, 'Returns a field of a hash.'],
    hmget: ['2.0.0', EACH_FIELD, 'Returns fields of a hash.'],
    hgetall: ['2.0.0', EACH_FIELD, 'Returns all fields of a hash, and their values.'],
    hdel: ['2.0.0', EACH_FIELD, 'Removes fields of a hash in one step; the last one removes the key.'],
    hlen: ['2.0.0', CONSTANT, 'Returns the number of fields of a hash.'],
    hexists: ['2.0.0', CONSTANT, 'Tells whether a hash has a field.'],
    hkeys: ['2.0.0', EACH_FIELD, 'Returns the names of all fields of a hash.'],
    hvals: ['2.0.0', EACH_FIELD, 'Returns the values of all fields of a hash.'],
    hincrby: ['2.0.0', CONSTANT, 'Adds to the number of a field.'],
  },
  generic: {
    del: ['1.0.0', EACH_KEY, 'Removes keys.'],
    unlink: ['4.0.0', EACH_KEY, 'Removes keys, as DEL.'],
    exists: ['1.0.0', EACH_KEY, 'Counts the keys that exist.'],
    touch: ['3.2.1', EACH_KEY, 'Counts the keys that exist, as EXISTS.'],
    type: ['1.0.0', CONSTANT, 'Returns the type of a key.'],
    expire: ['1.0.0', CONSTANT, 'Sets the expiry of a key, in seconds from now.'],
    pexpire: ['2.6.0', CONSTANT, 'Sets the expiry of a key, in milliseconds from now.'],
    expireat: ['1.2.0', CONSTANT, 'Sets the expiry of a key, in seconds since 1970.'],
    pexpireat: ['2.6.0', CONSTANT, 'Sets the expiry of a key, in milliseconds since 1970.'],
    ttl: ['1.0.0', CONSTANT, 'Returns the seconds until a key expires.'],
    pttl: ['2.6.0', CONSTANT, 'Returns the milliseconds until a key expires.'],
    expiretime: ['7.0.0', CONSTANT, 'Returns the expiry of a key, in seconds since 1970.'],
    pexpiretime: ['7.0.0', CONSTANT, 'Returns the expiry of a key, in milliseconds since 1970.'],
    persist: ['2.2.0', CONSTANT, 'Removes the expiry of a key.'],
    keys: ['1.0.0', ALL_KEYS, 'Returns the keys of the cluster that match a pattern.'],
    scan: ['2.8.0', 'O(1) for each call', 'Returns keys of the cluster, some with each call.'],
    object: ['2.2.3', CONSTANT, 'Returns facts about a key.'],
    wait: ['3.0.0', CONSTANT, 'Returns the number of backups, which have all writes before it.'],
  },
  transactions: {
    multi: ['1.2.0', CONSTANT, 'Begins a transaction: the next commands are queued.'],
    exec: ['1.2.0', 'That of the queued commands', 'Runs the queued commands in one step.'],
    discard: ['2.0.0', 'O(N) for N queued commands', 'Drops the queued commands.'],
    watch: ['2.2.0', EACH_KEY, 'Makes the next EXEC answer nil if one of the keys has changed.'],
    unwatch: ['2.2.0', CONSTANT, 'Ends the watch of all keys.'],
  },
  connection: {
    ping: ['1.0.0', CONSTANT, 'Answers with PONG.'],
    echo: ['1.0.0', CONSTANT, 'Answers with its argument.'],
    hello: ['6.0.0', CONSTANT, 'Chooses the version of the protocol.'],
    auth: ['1.0.0', CONSTANT, 'Gives the password.'],
    quit: ['1.0.0', CONSTANT, 'Ends the connection.'],
    reset: ['6.2.0', CONSTANT, 'Resets the state of the connection.'],
    select: ['1.0.0', CONSTANT, 'Chooses the database; there is only database 0.'],
    client: ['2.4.0', 'That of the subcommand', 'Reads and changes facts about connections.'],
  },
  server: {
    command: ['2.8.13', 'O(N) for N commands', 'Returns facts about commands.'],
    config: ['2.0.0', CONSTANT, 'Returns settings.'],
    info: ['1.0.0', CONSTANT, 'Returns facts about the server.'],
    dbsize: ['1.0.0', 'O(1) at each server', 'Returns the number of keys of the cluster.'],
    flushdb: ['1.0.0', ALL_KEYS, 'Removes all keys of the cluster.'],
    flushall: ['1.0.0', ALL_KEYS, 'Removes all keys of the cluster.'],
    latency: ['2.8.13', CONSTANT, 'Returns the events of this server that took long.'],
    memory: ['4.0.0', EACH_FIELD, 'Returns the bytes that a key takes of the log.'],
    shutdown: ['1.0.0', CONSTANT, 'Ends this server, as SIGTERM does.'],
    slowlog: ['2.2.12', 'O(N) for N commands', 'Returns the commands of this server that took long.'],
    time: ['2.6.0', CONSTANT, "Returns the server's time."],
  },
  cluster: {
    cluster: ['3.0.0', 'That of the subcommand', 'Returns facts about slots and servers.'],
    readonly: ['3.0.0', CONSTANT, 'Does nothing: there are no replicas that serve reads.'],
    readwrite: ['3.0.0', CONSTANT, 'Does nothing, as READONLY.'],
  },
};

/** By the name of the command. */
export const COMMAND_DOCS: ReadonlyMap<string, CommandDocs> = new Map(
  Object.entries(ROWS).flatMap(([group, rows]) =>
    Object.entries(rows).map(([name, [since, complexity, summary]]) => [
      name,
      { group: group as CommandGroup, since, complexity, summary },
    ]),
  ),
);
