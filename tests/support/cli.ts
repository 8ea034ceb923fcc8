import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { runCli } from '../../src/cli/program.ts'
import type { Interrupts, Output, System } from '../../src/cli/system.ts'
import { type Options, startTestDaemon, type TestDaemon } from './daemon.ts'
import { undocumented } from './documented-json.ts'
import { acmeKey } from './seeds.ts'

/** Takes what is written. */
class Capture extends Writable implements Output {
  text = ''
  isTTY = false
  columns = 80
  rows = 24
  onText: (text: string) => void = () => undefined
  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.text += chunk.toString()
    this.onText(this.text)
    done()
  }
}

/** Runs the CLI in this process, with its own home and environment. */
export interface CliHome {
  readonly home: string
  readonly env: Record<string, string>
  /** The working directory: the home, unless set. */
  cwd: string
  /** Writes nothing; give the text that `-` stands for. */
  stdin: string
  /** Standard error is a terminal of 80 × 24. Default: false. */
  hasTerminal: boolean
  /** Whether standard output is a terminal. */
  /** Whose words messages have; undefined: this computer's. */
  platform: NodeJS.Platform | undefined
  printsOnTerminal: boolean
  run(...args: string[]): Promise<Ran>
  /** Runs with --json, which must succeed. @returns the output as JSON */
  json(...args: string[]): Promise<unknown>
  /** As run, but `at` the text on stderr a SIGINT comes. */
  interruptedRun(when: (stdout: string, stderr: string) => boolean, ...args: string[]): Promise<Ran>
  remove(): void
}

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  /** Standard output as JSON. */
  json(): unknown
  /** Standard output as JSON lines. */
  lines(): unknown[]
}

export const cliHome = (env: Record<string, string> = {}): CliHome => {
  const home = mkdtempSync(join(tmpdir(), 'tapchip-cli-'))
  const run = async (
    args: readonly string[],
    when: (stdout: string, stderr: string) => boolean,
  ): Promise<Ran> => {
    const stdout = new Capture()
    const stderr = new Capture()
    stderr.isTTY = here.hasTerminal
    stdout.isTTY = here.printsOnTerminal
    const listeners = new Set<(signal: NodeJS.Signals) => void>()
    let interrupted = false
    const look = () => {
      if (interrupted || !when(stdout.text, stderr.text)) return
      interrupted = true
      for (const listener of listeners) listener('SIGINT')
    }
    stdout.onText = look
    stderr.onText = look
    const interrupts: Interrupts = {
      listen: (handler) => {
        listeners.add(handler)
        return () => listeners.delete(handler)
      },
    }
    const at: System = {
      env: here.env,
      home,
      cwd: here.cwd,
      stdin: Readable.from(here.stdin === '' ? [] : [Buffer.from(here.stdin)]),
      stdout,
      stderr,
      now: () => new Date(),
      interrupts,
      atExit: () => () => undefined,
      platform: here.platform,
      daemonScript: () => join(import.meta.dirname, '../../bin/tapchipd.js'),
    }
    const code = await runCli(at, args)
    expect(undocumented(args, stdout.text, code)).toBe(undefined)
    return {
      code,
      stdout: stdout.text,
      stderr: stderr.text,
      json: () => JSON.parse(stdout.text || JSON.stringify({ nothing: stderr.text })),
      lines: () =>
        stdout.text
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line)),
    }
  }
  const here: CliHome = {
    home,
    cwd: home,
    env: { HOME: home, ...env },
    stdin: '',
    hasTerminal: false,
    printsOnTerminal: false,
    platform: undefined,
    run: (...args) => run(args, () => false),
    json: async (...args) => {
      const ran = await here.run(...args, '--json')
      expect([ran.code, ran.code === 0 ? '' : ran.stderr]).toEqual([0, ''])
      return ran.json()
    },
    interruptedRun: (when, ...args) => run(args, when),
    remove: () => rmSync(home, { recursive: true, force: true }),
  }
  return here
}

/** Checks how a command ended, and that standard error contains the text. */
export const ends = (ran: Ran, code: number, text: string) =>
  expect([ran.code, ran.stderr]).toEqual([code, expect.stringContaining(text)])

/** Starts one daemon for all tests of a file, and gives each test a home with the keys of that daemon. */
export function withDaemon(options: Options, given: (home: CliHome, daemon: TestDaemon) => void): void {
  let daemon: TestDaemon
  let home: CliHome
  beforeAll(async () => {
    daemon = await startTestDaemon(options)
  })
  afterAll(() => daemon.stop())
  beforeEach(() => {
    home = cliHome({
      TAPCHIP_URL: daemon.url,
      TAPCHIP_API_KEY: acmeKey,
      TAPCHIP_ADMIN_TOKEN: daemon.adminToken,
    })
    given(home, daemon)
  })
  afterEach(() => home.remove())
}
