import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { pcscMini } from '../../scripts/test-tools.mjs'
import { CardGone } from '../../src/nfc/card.ts'
import { PcscReaders } from '../../src/nfc/pcsc/readers.ts'
import { follow, hostScript } from '../support/pcsc/opened.ts'

// Virtual readers cannot be pulled out while pcscd goes on, so the library is one here: it has two readers, A and B,
// with a card each. A is away while the file `pulled` is there; then, its handles give errors, as PC/SC's do.
const library = `
  const { existsSync } = require('node:fs')
  const { setTimeout: delay } = require('node:timers/promises')
  const isPulled = (reader) => reader === 'A' && existsSync(process.env.PULLED)
  const use = (reader, answer) => {
    if (isPulled(reader)) throw Object.assign(new Error('away'), { code: 'ReaderUnavailable' })
    return answer
  }
  exports.CardMode = { EXCLUSIVE: 1 }
  exports.CardDisposition = { LEAVE: 0 }
  exports.newClient = () => ({
    start(onChange) {
      let wasPulled
      setInterval(() => {
        if (wasPulled === undefined) onChange('B', 0x10022)
        if (isPulled('A') !== wasPulled) onChange('A', isPulled('A') ? 0x0e : 0x10022)
        wasPulled = isPulled('A')
      }, 5)
    },
    connect: async (reader) => use(reader, {
      reconnect: async () => use(reader),
      state: async () => ({ atr: Uint8Array.of(0x3b) }),
      // Longer for A: it is pulled out meanwhile.
      transmit: async () => (await delay(reader === 'A' ? 50 : 5), use(reader, Uint8Array.of(0x90, 0))),
      disconnect: async () => use(reader),
    }),
  })`

test('a reader that is pulled out in the middle of a command tears its own chip alone, and is used again', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tapchip-unplugged-'))
  const service = createServer().listen(join(folder, 'pcscd.comm'))
  await once(service, 'listening')
  mkdirSync(join(folder, 'node_modules', pcscMini), { recursive: true })
  writeFileSync(join(folder, 'node_modules', pcscMini, 'index.js'), library)
  copyFileSync(hostScript, join(folder, 'reader-host.cjs'))
  const pulled = join(folder, 'pulled')
  const env = { ...process.env, PCSCLITE_CSOCK_NAME: join(folder, 'pcscd.comm'), PULLED: pulled }
  const readers = new PcscReaders({ hostScript: join(folder, 'reader-host.cjs'), backend: 'pcsc-mini', env })
  t.onTestFinished(async () => {
    await readers.close()
    service.close()
    rmSync(folder, { recursive: true })
  })

  const events = follow(t, readers)
  const [one, two] = [(await events.next('card')).card, (await events.next('card')).card]
  const [a, b] = one.reader === 'A' ? [one, two] : [two, one]
  const { pid } = await readers.host()
  const command = Uint8Array.of(0, 0xa4, 4, 0)
  for (const round of [1, 2]) {
    const card = round === 1 ? a : (await events.next('card')).card
    expect(card.reader).toBe('A')
    const torn = card.transmit(command)
    torn.catch(() => undefined)
    writeFileSync(pulled, '')
    await expect(torn).rejects.toThrow(CardGone)
    await card.removed()
    expect((await events.next('reader-removed')).reader).toBe('A')
    expect(await b.transmit(command)).toEqual(Uint8Array.of(0x90, 0))
    expect((await readers.list()).map(({ name }) => name)).toEqual(['B'])
    rmSync(pulled)
    expect((await events.next('reader-added')).reader).toBe('A')
  }
  const { card } = await events.next('card')
  expect(await card.transmit(command)).toEqual(Uint8Array.of(0x90, 0))
  expect((await readers.host()).pid).toBe(pid)
})
