import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ReconnectPolicy } from '../../src/cli/batch/reconnect-policy.ts'
import type { Order, SessionResult } from '../../src/cli/nfc/forward-apdus.ts'
import { modelOf, ReaderLimits } from '../../src/cli/nfc/reader-limits.ts'
import { runSession, type SessionRunner } from '../../src/cli/nfc/run-session.ts'
import type { Card } from '../../src/nfc/card.ts'
import { CardGone } from '../../src/nfc/card.ts'
import { noStop } from '../support/nfc.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'tapchip-carry-'))
})
afterEach(() => rmSync(home, { recursive: true }))

const provisioned: SessionResult = { status: 'provisioned', uid: '1', keySet: 1, url: null }
const failed = (code: string): SessionResult => ({ ...provisioned, status: 'failed', code, error: code })

/** A daemon that ends each session as told, or sends an APDU with so many bytes of data first. */
const scripted = (ends: (SessionResult | { lc: number })[], reader = 'Small Reader 00 00') => {
  const orders: Order[] = []
  const said: string[] = []
  const answer = (next: unknown) => ({ id: 's', step: 1, next })
  const ended = (outcome: SessionResult) => answer({ type: 'ended', outcome })
  const call = async (key: string, { body }: { body?: Order } = {}) => {
    if (key === 'POST /admin/nfc/sessions' && body) orders.push(body)
    const next = ends.shift() ?? provisioned
    if ('status' in next) return ended(next)
    const apdus = [`90AD0000${next.lc.toString(16).padStart(2, '0')}${'00'.repeat(next.lc)}00`]
    return answer({ type: 'apdus', apdus, phase: 'set-up' })
  }
  const io = { note: (text: string) => said.push(text), warn: (text: string) => said.push(text) }
  const system = { env: {}, home }
  let isTorn = false
  const card: Card = {
    reader,
    atr: Buffer.alloc(0),
    transmit: async () => {
      if (isTorn) return Buffer.from('9000', 'hex')
      isTorn = true
      throw new CardGone()
    },
    removed: ({ signal } = {}) =>
      new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
    signal: async (outcome) => void said.push(outcome),
    release: async () => undefined,
  }
  const ctx = { call, io, system, flags: {} } as unknown as SessionRunner['ctx']
  const stop = noStop()
  const carrier: SessionRunner = {
    ctx,
    opened: {
      isEmulator: false,
      all: { waitForCard: async () => card } as unknown as SessionRunner['opened']['all'],
    },
    limits: new ReaderLimits(system),
    station: 'st_1',
    outage: { isAway: false },
    reconnect: new ReconnectPolicy(ctx, {} as never, stop.now, undefined),
  }
  const run = () => runSession(carrier, card, { purpose: 'recover' }, { stop })
  return { run, orders, said }
}

test('a chip that another session holds is waited for, and that is said once', async () => {
  const { run, orders, said } = scripted([failed('chip_busy'), failed('chip_busy')])
  expect(await run()).toEqual(provisioned)
  expect(orders).toEqual(
    Array(3).fill({ atr: '', purpose: 'recover', reader: 'Small Reader 00 00', station: 'st_1' }),
  )
  expect(said).toEqual([expect.stringContaining('Another session holds this chip'), 'done'])
})

test('a reader that passes no long command on is remembered by its model', async () => {
  const first = scripted([failed('ReaderLimit')])
  expect(await first.run()).toEqual(provisioned)
  expect(first.orders.map(({ maxLc }) => maxLc)).toEqual([undefined, 59])
  expect(first.said).toEqual([expect.stringContaining('only short commands'), 'done'])
  const path = join(home, '.local/state/tapchip/small-readers.json')
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(['Small Reader'])
  // Another of this model; and one that fails at short commands, too, fails.
  const later = scripted([failed('ReaderLimit')], 'Small Reader 01 00')
  expect(await later.run()).toMatchObject({ status: 'failed' })
  expect(later.orders.map(({ maxLc }) => maxLc)).toEqual([59])

  const limits = new ReaderLimits({ env: {}, home })
  for (let i = 0; i < 40; i += 1) limits.remember(`Model ${i}x`)
  expect(JSON.parse(readFileSync(path, 'utf8'))).toHaveLength(32)
  expect([modelOf('ACS ACR122U PICC Interface 00 00'), modelOf('ACS ACR1252 Dual 1')]).toEqual([
    'ACS ACR122U PICC Interface',
    'ACS ACR1252 Dual',
  ])
  expect(limits.maxLc('ACS ACR122U PICC Interface 00 00')).toBe(59)
  expect(limits.maxLc('ACS ACR1252 Dual Reader 00 00')).toBe(undefined)
})

test('a card that is lost at a long command, and lies there still, is gone on with in short ones', async () => {
  const { run, orders } = scripted([{ lc: 60 }])
  expect(await run()).toEqual(provisioned)
  expect(orders.map(({ maxLc }) => maxLc)).toEqual([undefined, 59])
  const short = scripted([{ lc: 59 }])
  expect(await short.run()).toEqual(provisioned)
  expect(short.orders.map(({ maxLc }) => maxLc)).toEqual([undefined, undefined])
})
