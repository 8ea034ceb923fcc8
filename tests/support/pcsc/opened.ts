import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { TestContext } from 'vitest'
import type { ReaderEvent, ReaderFilter } from '../../../src/nfc/card.ts'
import { PcscReaders, type PcscSettings } from '../../../src/nfc/pcsc/readers.ts'
import { type PcscdOptions, type PrivatePcscd, startPcscd } from './pcscd.ts'

/** The test that opens something: it is closed with it. Tests run side by side, so each passes its own. */
type Test = Pick<TestContext, 'onTestFinished'>

const root = resolve(import.meta.dirname, '../../..')
export const hostScript = resolve(root, 'dist/reader-host.cjs')

/** A pcscd that ends with the test. */
export async function openPcscd(test: Test, options?: PcscdOptions): Promise<PrivatePcscd> {
  const pcscd = await startPcscd(options)
  test.onTestFinished(() => pcscd.end())
  return pcscd
}

/** Readers that are closed with the test. */
export function openReaders(test: Test, settings: Omit<PcscSettings, 'hostScript'>): PcscReaders {
  const readers = new PcscReaders({ hostScript, ...settings })
  test.onTestFinished(() => readers.close())
  return readers
}

/** What happens at readers, one after another; ends with the test. */
export function follow(test: Test, readers: PcscReaders, filter?: ReaderFilter) {
  const stop = new AbortController()
  const events = readers
    .events({ signal: stop.signal, ...(filter ? { readers: filter } : {}) })
    [Symbol.asyncIterator]()
  test.onTestFinished(() => stop.abort())
  /** The next event of a type; others that come before it are passed over. */
  const next = async <T extends ReaderEvent['type']>(type: T): Promise<Extract<ReaderEvent, { type: T }>> => {
    for (;;) {
      const { value, done } = await events.next()
      if (done) throw new Error(`The events ended before ${type}`)
      if (isOfType(value, type)) return value
    }
  }
  return { next, stop: () => stop.abort(), ended: async () => (await events.next()).done === true }
}

const isOfType = <T extends ReaderEvent['type']>(
  event: ReaderEvent,
  type: T,
): event is Extract<ReaderEvent, { type: T }> => event.type === type

/** Another program, which is connected to the card on a reader, and shares it, until it is told to disconnect. */
export async function shareElsewhere(
  test: Test,
  pcscd: PrivatePcscd,
  reader: string,
): Promise<{ disconnect(): void }> {
  const script = `
    client.connect(process.argv[1], addon.CardMode.SHARED).then((card) => {
      process.on('SIGTERM', () => void card.disconnect(addon.CardDisposition.LEAVE))
      console.log('shared')
    })`
  const { child } = await otherProgram(test, pcscd, script, reader)
  return { disconnect: () => void child.kill('SIGTERM') }
}

/** Another program, which holds the card on a reader for itself until it is told to let go. */
export async function holdElsewhere(
  test: Test,
  pcscd: PrivatePcscd,
  reader: string,
): Promise<{ readonly pid: number | undefined; letGo(): Promise<void> }> {
  const script = `
    client.connect(process.argv[1], addon.CardMode.EXCLUSIVE).then(() => console.log('held'))`
  const { child, letGo } = await otherProgram(test, pcscd, script, reader)
  return { pid: child.pid, letGo }
}

/**
 * Another program that looks at the card on a reader over and over: it connects (shared), asks for its UID, selects
 * another application, and disconnects. Resolves when it has seen the reader.
 * @param pauseMs between two looks
 * @param holdMs for which it keeps every so many connections
 */
export async function pollElsewhere(
  test: Test,
  pcscd: PrivatePcscd,
  reader: string,
  { pauseMs = 50, holdMs = 0, holdEvery = 20 } = {},
): Promise<{ letGo(): Promise<void> }> {
  const script = `
    const pause = (ms) => new Promise((done) => setTimeout(done, ms))
    const [, reader, pauseMs, holdMs, holdEvery] = process.argv
    const output = new ArrayBuffer(512)
    const getUid = Uint8Array.of(0xff, 0xca, 0, 0, 0)
    const select = Uint8Array.of(0, 0xa4, 4, 0, 7, 0xd2, 0x76, 0, 0, 0x85, 1, 1, 0)
    const poll = async (hold) => {
      const card = await client.connect(reader, addon.CardMode.SHARED)
      try {
        await card.transmit(undefined, getUid, output)
        await card.transmit(undefined, select, output)
        if (hold) await pause(Number(holdMs))
      } finally {
        await card.disconnect(addon.CardDisposition.LEAVE)
      }
    }
    console.log('polls')
    for (let look = 1; ; look++) {
      await poll(look % Number(holdEvery) === 0).catch(() => undefined)
      await pause(Number(pauseMs))
    }`
  const numbers = [pauseMs, holdMs, holdEvery].map(String)
  return otherProgram(test, pcscd, `(async () => {${script}})()`, reader, ...numbers)
}

/** Runs a script with PC/SC as `client`; resolves when it prints something. */
async function otherProgram(test: Test, pcscd: PrivatePcscd, script: string, ...args: string[]) {
  const begin = `
    const addon = require('@pcsc-mini/linux-x86_64-gnu')
    const client = addon.newClient()
    client.start(() => {}, () => {})`
  const child = spawn(process.execPath, ['-e', `${begin};\n${script}`, ...args], {
    cwd: root,
    env: pcscd.env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const letGo = async () => {
    child.kill('SIGKILL')
    await exited
  }
  test.onTestFinished(letGo)
  const said = once(child.stdout, 'data').then(() => true)
  if (!(await Promise.race([said, exited.then(() => false)]))) throw new Error('The other program ended')
  return { child, letGo }
}

/** Resolves when a process is no more; one that nobody has asked about yet is none either. */
export async function gone(pid: number | undefined): Promise<void> {
  if (pid === undefined) throw new Error('There was no process')
  while (runs(pid)) await new Promise((resolve) => setTimeout(resolve, 5))
}

function runs(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
