import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import { LineSplitter } from '../../../values/line-splitter.ts'
import type { CliContext } from '../../context.ts'
import { CliError } from '../../errors.ts'
import { type Service, unitName } from '../../local-daemon.ts'

/** A log whose lines so far have been read. */
interface Rest {
  /** Passes on each further line until `ended`. */
  follow(ended: AbortSignal, each: (line: string) => Promise<void>): Promise<void>
  close(): void
}

const chunkBytes = 1024 * 1024
const pollMs = 200

export const fromFile = (path: string, each: (line: string) => void): Rest => {
  const file = openSync(path, 'r')
  const chunk = Buffer.alloc(chunkBytes)
  let decoder = new StringDecoder('utf8')
  let splitter = new LineSplitter()
  let position = 0
  const next = (): string[] | undefined => {
    // It was emptied, as docs/daemon.md allows when the disk is full.
    if (fstatSync(file).size < position) {
      position = 0
      decoder = new StringDecoder('utf8')
      splitter = new LineSplitter()
    }
    const length = readSync(file, chunk, 0, chunkBytes, position)
    position += length
    return length === 0 ? undefined : splitter.push(decoder.write(chunk.subarray(0, length)))
  }
  for (let lines = next(); lines !== undefined; lines = next()) for (const line of lines) each(line)
  return {
    follow: async (ended, print) => {
      while (!ended.aborted) {
        await new Promise((done) => setTimeout(done, pollMs))
        for (let lines = next(); lines !== undefined; lines = next())
          for (const line of lines) await print(line)
      }
    },
    close: () => closeSync(file),
  }
}

interface LogRequest {
  readonly ctx: CliContext
  /** In milliseconds; 0: all. */
  readonly since: number
  /** At the end; Infinity: all. */
  readonly lines: number
}

/** @throws CliError if journalctl fails */
export const fromJournal = async (
  { scope }: Service,
  { ctx, since, lines }: LogRequest,
  each: (line: string) => void,
): Promise<Rest> => {
  const unit = scope === 'user' ? ['--user', `--user-unit=${unitName}`] : [`--unit=${unitName}`]
  const begin = (...more: string[]): ChildProcess =>
    spawn('journalctl', [...unit, '--no-pager', '--output=cat', ...more], {
      env: { ...ctx.system.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  let cursor: string | undefined
  const history = begin(
    '--show-cursor',
    `--lines=${Number.isFinite(lines) ? lines : 'all'}`,
    ...(since === 0 ? [] : [`--since=@${Math.floor(since / 1000)}`]),
  )
  await readLines(history, (line) => {
    const here = /^-- cursor: (.+)$/.exec(line)?.[1]
    if (here === undefined) each(line)
    else cursor = here
  })
  return {
    follow: async (ended, print) => {
      const child = begin(
        '--follow',
        '--lines=all',
        ...(cursor === undefined ? [] : [`--after-cursor=${cursor}`]),
      )
      const stop = () => child.kill('SIGTERM')
      ended.addEventListener('abort', stop)
      if (ended.aborted) stop()
      let last: Promise<void> = Promise.resolve()
      await readLines(child, (line) => {
        last = last.then(() => print(line))
      }).catch((error: unknown) => {
        if (!ended.aborted) throw error
      })
      await last
    },
    close: () => undefined,
  }
}

const readLines = async (child: ChildProcess, each: (line: string) => void): Promise<void> => {
  const decoder = new StringDecoder('utf8')
  const splitter = new LineSplitter()
  let stderr = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    if (stderr.length < 2000) stderr += chunk.toString()
  })
  child.stdout?.on('data', (chunk: Buffer) => {
    for (const line of splitter.push(decoder.write(chunk))) each(line)
  })
  const [code] = await once(child, 'close').catch((error: Error) => {
    stderr = error.message
    return [127]
  })
  // "No journal files were found" is no failure for journalctl, and the reason for an empty log.
  if (code === 0) return
  throw new CliError(`journalctl failed: ${stderr.trim().split('\n').at(-1) ?? ''}`, {
    advice: 'A service of the machine may need root: sudo tapchip daemon logs',
  })
}
