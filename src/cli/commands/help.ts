import type { Command } from 'commander'
import { defineCommand, type Verb } from '../command/define.ts'
import { optionalArgument } from '../command/options.ts'
import { UsageError } from '../errors.ts'
import type { System } from '../system.ts'

/** The texts of `tapchip help <topic>`. */
export const topics: Readonly<Record<string, string>> = {
  'exit-codes': `Exit codes

    0  done
    1  failed
    2  usage: the command line or its input is invalid, and nothing was written
    3  part of a batch failed; the others are done
    4  authentication: a key is missing, unknown, or may not do this
    5  the daemon is out of reach
    6  no reader or card
  130  interrupted
`,
  environment: `Environment

  TAPCHIP_URL                 the daemon (default: http://127.0.0.1:8484). With it, keys come from the
                              environment alone: a stored key is never sent to it
  TAPCHIP_API_KEY             the API key of a team
  TAPCHIP_ADMIN_TOKEN         an admin token (default: that of a daemon of yours on this machine, for itself alone)
  TAPCHIP_ADMIN_URL           where administration is, if not at TAPCHIP_URL: http://HOST:PORT, or unix: and the
                              path of admin.sock in the data directory (default: found automatically on this machine)
  TAPCHIP_CONTEXT             the context to take address and keys from
  TAPCHIP_WIRE_PREFIX         the word in the header x-svc-api-key, if the daemon speaks another (default: svc)
  TAPCHIP_WIRE_BADGE          the word in /badge-events, if the daemon speaks another (default: badge)
  TAPCHIP_DATA_DIR            where daemon commands find the data directory
  TAPCHIP_META_READ_KEY, TAPCHIP_FILE_READ_KEY, TAPCHIP_APP_MASTER_KEY
                              the keys of key-sets create
  TAPCHIP_BACKUP_PASSPHRASE   the passphrase of backup and restore
  TAPCHIP_PATIENCE_SECONDS    how long a batch waits for a daemon that restarts (default: 60)
  TAPCHIP_EMULATOR            the kind of a new virtual chip (--reader emulator): tagtamper, clone, or lrp
  TAPCHIP_DEBUG               any value: show where an error comes from
  NO_COLOR, TERM=dumb, CI     no colors; no prompts under CI
  XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_DATA_HOME
                              where contexts, boxes of chips and the data of the daemon are kept

Flags take precedence over the environment, the context file and the defaults, in this order. TAPCHIP_URL is --url,
TAPCHIP_CONTEXT --context, and TAPCHIP_DATA_DIR --data-dir. Keys, tokens and passphrases have no flag, since others
could read it in the list of processes; nor have the rest, which belong to a machine and not to a command.
`,
  formatting: `Formatting

Data goes to standard output, everything else to standard error.

For people: tables. On a terminal their columns are aligned, hashes and addresses are shortened to 0x1234…abcd, and
the column TEAM is left out where all is one team's; elsewhere they are separated by tabs, and nothing is left out.
UIDs stand in decimal and in hex, times are ISO 8601 in UTC, and control characters are shown as \\u001b.

--json: a finite list is one JSON array, a single thing one object. The results of a batch, and streams such as
taps follow, are one object a line. UIDs are decimal strings, as on the wire.

--ndjson: the same, with a list as one object a line.

--csv: lists, single things, and streams as rows for a spreadsheet, with the fields of --json as columns and UIDs in
hex. The results of a batch are for people, or for --json.

--fields uid,redirectUrl prints only these fields, in tables and with --json alike, by their names in --json;
chipGroup.name is a nested field, and hex is the UID in hex. docs/json.md names the fields of each command; those of
the interface are also at /openapi.json of the daemon.

--quiet prints only data and errors. Hints about the next command are for people; --json has none.

  $ tapchip chips list --chip-group Jackets --fields hex,redirectUrl
  $ tapchip chips list --chip-group Jackets --json | jq -r '.[].uid'
  $ tapchip chips edit --file edits.csv --json | jq -c 'select(.status == "failed")'
`,
  files: `Files

Input is CSV, a JSON array or JSON lines, by --file; - is standard input. The format follows from --format, the
file name or the first character. CSV is UTF-8 (or UTF-16 with its mark), separated by commas, semicolons or tabs, with
a heading. Rows count from 1; the heading and blank lines do not count.

  --map uid=TagID        the column uid is called TagID in this sheet
  --ignore-columns       ignore unknown columns; --ignore-columns a,b only those

The whole input is checked before the first row is written. If anything is invalid, every bad row is named,
nothing is written, and the exit code is 2.

  --failed again.csv     write the rows that the daemon refused to a sheet that can be fixed and run again
  --rate 500             at most this many rows per second, to leave the daemon room for taps

UIDs are decimal, or 14 hex digits, alone or in pairs as other tools write them: 04:A1:…, 04-a1-…, 04 A1 …,
0x04a1…. Spreadsheets keep 15 digits of the 16, so CSV that we write has them in hex. UIDs in scientific notation
are refused; so are ten or more decimal UIDs that all end in 0, unless you use --yes.

A spreadsheet runs a cell that begins with = + - or @, also fullwidth, as a formula. CSV that we write puts an
apostrophe before such a cell, and reading removes one: '=1+1 is read as =1+1. A round trip changes nothing.

Cells that are missing at the end of a row, as Excel leaves them out, are absent: what they name is left alone.
Invisible characters are dropped at the ends of cells, and within UIDs, addresses, ids, and numbers.

--keys takes the keys of chips that others set up: JSON with k0 to k4 (wipe files of other tools), or with keys under
any other names, or a key per line. A key has 32 hex digits, also with blanks, colons, dashes, or 0x.
`,
}

const names = Object.keys(topics)

/** @param createProgram makes a fresh command tree */
export const helpBy = (createProgram: (system: System) => Command): Verb =>
  defineCommand({
    name: 'help',
    summary: `Show help for a command, or on ${names.join(', ')}`,
    examples: ['help chips edit', 'help exit-codes'],
    args: {
      command: optionalArgument('command', 'A command, or a topic', names),
      verb: optionalArgument('verb', 'Its verb'),
    },
    run: async (ctx, { args }) => {
      const topic = args.command === undefined ? undefined : topics[args.command]
      if (topic !== undefined) {
        await ctx.io.raw(topic)
        return
      }
      // Reuses --help, so that there is a single text.
      const program = createProgram(ctx.system)
      const path = [args.command, args.verb].flatMap((word) => word ?? [])
      const known =
        args.command === undefined || program.commands.some((command) => command.name() === args.command)
      if (!known)
        throw new UsageError(
          `There is no command or topic "${args.command}".`,
          `Topics: ${names.join(', ')}. Commands: tapchip --help`,
        )
      await program.parseAsync([...path, '--help'], { from: 'user' })
    },
  })
