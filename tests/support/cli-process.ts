import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'

/** The executable as people run it; `npm test` builds it before. */
export const executable = join(import.meta.dirname, '../../bin/tapchip.js')

export interface Running {
  readonly child: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  /** Resolves once standard output or error satisfies `when`. */
  until(when: (stdout: string, stderr: string) => boolean): Promise<void>
  /** The exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>
}

export const spawnCli = (args: readonly string[], env: Record<string, string>, cwd: string): Running => {
  const child = spawn(process.execPath, [executable, ...args], {
    env: { PATH: process.env.PATH ?? '', ...env },
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  const waiting = new Set<() => void>()
  const look = () => {
    for (const check of waiting) check()
  }
  child.stdout.on('data', (chunk) => {
    stdout += String(chunk)
    look()
  })
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk)
    look()
  })
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.on('close', (code, signal) => {
      resolve(code ?? signal)
      look()
    })
  })
  const until = (when: (out: string, err: string) => boolean) =>
    new Promise<void>((resolve, reject) => {
      const check = () => {
        if (when(stdout, stderr)) resolve()
        else if (child.exitCode !== null || child.signalCode !== null)
          reject(new Error(`It ended first: ${stderr}`))
        else return
        waiting.delete(check)
      }
      waiting.add(check)
      check()
    })
  return { child, stdout: () => stdout, stderr: () => stderr, until, ended }
}

export type Answers = readonly [question: RegExp, keys: string | (() => Promise<string>)][]

/** Runs the CLI on a terminal of its own, and types each answer once its question is there. */
export const onTerminal = (command: string, answers: Answers, env: Record<string, string>) =>
  new Promise<{ code: number | null; screen: string }>((resolve) => {
    const child = spawn('script', ['-qec', `'${process.execPath}' '${executable}' ${command}`, '/dev/null'], {
      env: { PATH: process.env.PATH ?? '', TERM: 'xterm', SHELL: '/bin/sh', ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const left = [...answers]
    let screen = ''
    child.stdout.on('data', (chunk) => {
      screen += String(chunk)
      const [next] = left
      if (next?.[0].test(screen)) {
        left.shift()
        const [, keys] = next
        if (typeof keys === 'string') child.stdin.write(keys)
        else void keys().then((typed) => child.stdin.write(typed))
      }
    })
    child.on('close', (code) => resolve({ code, screen }))
  })
