import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CardGone, NoCard, NoReader, type ReaderEvent } from '../../../src/nfc/card.ts'
import { EmulatorFileError, EmulatorReaders } from '../../../src/nfc/emulator/readers.ts'
import { apply } from '../../../src/nfc/provision/apply.ts'
import { type Inspection, inspect } from '../../../src/nfc/provision/inspect.ts'
import { plan } from '../../../src/nfc/provision/plan.ts'
import { readTap } from '../../../src/nfc/read-tap.ts'
import { runScript } from '../../../src/nfc/script.ts'
import { NDEF_FILE_ID, selectApplication, selectFile } from '../../../src/nfc/type4.ts'
import { VirtualHalo } from '../../support/virtual-halo.ts'
import { deps, template } from '../virtual-card.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapchip-emulator-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const planFor = ({ uid }: Inspection) =>
  plan({ uid, from: ['factory'], target: { keySet: 3, generation: 0 }, template })

describe('the emulated reader', () => {
  test('keeps its card in a file that only its owner reads, whole at every moment', async () => {
    const file = join(folder, 'state', 'emulator.json')
    const card = await new EmulatorReaders({ file }).waitForCard()
    const seen = await runScript(card, inspect())
    await runScript(card, apply(planFor(seen), seen, deps()))
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(join(folder, 'state'))).toEqual(['emulator.json'])

    const later = await new EmulatorReaders({ file }).waitForCard()
    const again = await runScript(later, inspect())
    expect(again.uid).toBe(seen.uid)
    expect(await runScript(later, apply(planFor(again), again, deps()))).toBe('unchanged')
    expect(await runScript(later, readTap())).toMatchObject({ family: 'ntag424', d: '3' })
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ sdmReadCounter: 2 })
  })

  test('gives the card that lies there until somebody waits for it to go', async () => {
    const readers = new EmulatorReaders()
    expect(await readers.list()).toEqual([{ name: 'emulator', state: 'present', isContact: false }])
    const card = await readers.waitForCard({ reader: 'emulator' })
    expect(await readers.waitForCard()).toBe(card)
    const { uid } = await runScript(card, inspect())
    await card.removed()
    await expect(card.transmit(Buffer.from('9060000000', 'hex'))).rejects.toThrow(CardGone)
    const again = await readers.waitForCard()
    expect(again).not.toBe(card)
    expect((await runScript(again, inspect())).uid).toBe(uid)
    await expect(readers.waitForCard({ reader: 'another' })).rejects.toThrow(NoReader)
  })

  test('is ours until it is released, and can be had again while it lies there', async () => {
    const readers = new EmulatorReaders()
    const card = await readers.waitForCard()
    await card.release()
    await expect(card.transmit(Buffer.from('9060000000', 'hex'))).rejects.toThrow('released')
    const again = await readers.waitForCard()
    const { uid } = await runScript(again, inspect())
    await again.release()
    await card.removed()
    expect(await runScript(await readers.waitForCard(), inspect())).toMatchObject({ uid })
    await expect(again.removed()).resolves.toBeUndefined()
  })

  test('puts down as many fresh cards as it has, then none', async () => {
    const file = join(folder, 'emulator.json')
    const readers = new EmulatorReaders({ file, blankCards: 3 })
    const uids = new Set<string>()
    for (let i = 0; i < 3; i += 1) {
      const card = await readers.waitForCard()
      uids.add((await runScript(card, inspect())).uid)
      await card.removed()
    }
    expect(uids.size).toBe(3)
    expect(await readers.list()).toEqual([{ name: 'emulator', state: 'empty', isContact: false }])
    await expect(readers.waitForCard({ timeoutMs: 1 })).rejects.toThrow(NoCard)
    const kept = await runScript(await new EmulatorReaders({ file }).waitForCard(), inspect())
    expect(uids).toContain(kept.uid)
  })

  test('tells of its cards one after another, and ends with the signal', async () => {
    const stop = new AbortController()
    const seen: ReaderEvent['type'][] = []
    for await (const event of new EmulatorReaders({ blankCards: 2 }).events({ signal: stop.signal })) {
      seen.push(event.type)
      if (event.type === 'card') await runScript(event.card, readTap())
      if (seen.length === 5) stop.abort()
    }
    expect(seen).toEqual(['reader-added', 'card', 'card-removed', 'card', 'card-removed'])
  })

  test('can have a HaLo tag', async () => {
    const readers = new EmulatorReaders({ chip: new VirtualHalo() })
    expect(await runScript(await readers.waitForCard(), readTap())).toMatchObject({ family: 'halo' })
  })

  test('lifts its card where it is told to, and what the chip had done is kept', async () => {
    const file = join(folder, 'emulator.json')
    const card = await new EmulatorReaders({ file, tear: { apdu: 17, when: 'after' } }).waitForCard()
    const seen = await runScript(card, inspect())
    await expect(runScript(card, apply(planFor(seen), seen, deps()))).rejects.toThrow(CardGone)
    const torn = await runScript(await new EmulatorReaders({ file }).waitForCard(), inspect())
    expect(torn).toMatchObject({ uid: seen.uid, versions: [0, 1, 1, 0, 0] })
  })

  test('takes its time for each command, and passes no longer ones on than its reader can', async () => {
    const card = await new EmulatorReaders({ delayMs: 5, maxLc: 59 }).waitForCard()
    const began = performance.now()
    const write = (length: number) => Buffer.concat([Buffer.of(0, 0xd6, 0, 0, length), Buffer.alloc(length)])
    await runScript(card, selectApplication())
    await runScript(card, selectFile(NDEF_FILE_ID))
    expect(Buffer.from(await card.transmit(write(60))).toString('hex')).toBe('6f00')
    expect(Buffer.from(await card.transmit(write(59))).toString('hex')).toBe('9000')
    expect(performance.now() - began).toBeGreaterThan(15)
  })

  test('refuses a file that is none of its own, and leaves it', async () => {
    const file = join(folder, 'emulator.json')
    writeFileSync(file, '{"version":1}')
    await expect(new EmulatorReaders({ file }).waitForCard()).rejects.toThrow(EmulatorFileError)
    expect(readFileSync(file, 'utf8')).toBe('{"version":1}')
  })

  test('stops waiting with what the signal was aborted with', async () => {
    const readers = new EmulatorReaders({ blankCards: 0 })
    const why = new Error('enough')
    await expect(readers.waitForCard({ signal: AbortSignal.abort(why) })).rejects.toBe(why)
    const stop = new AbortController()
    const waiting = readers.waitForCard({ signal: stop.signal })
    stop.abort(why)
    await expect(waiting).rejects.toBe(why)
  })
})
