import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, type TestContext, test } from 'vitest'
import { type Running, spawnCli } from '../support/cli-process.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { holdElsewhere, openPcscd } from '../support/pcsc/opened.ts'
import type { PrivatePcscd } from '../support/pcsc/pcscd.ts'
import { emulated } from '../support/pcsc/vpcd.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { setUpChip } from '../support/set-up-chip.ts'
import { VirtualHalo } from '../support/virtual-halo.ts'

// The built executable, a real pcscd, virtual readers.

type Test = Pick<TestContext, 'onTestFinished'>

/** Starts `tapchip nfc …` in a home of its own. */
function nfc(t: Test, pcscd: Pick<PrivatePcscd, 'env'>, ...args: string[]): Running {
  const home = mkdtempSync(join(tmpdir(), 'tapchip-nfc-'))
  const running = spawnCli(
    ['nfc', ...args],
    { HOME: home, PCSCLITE_CSOCK_NAME: pcscd.env.PCSCLITE_CSOCK_NAME ?? '' },
    home,
  )
  t.onTestFinished(async () => {
    running.child.kill('SIGKILL')
    await running.ended
    rmSync(home, { recursive: true })
  })
  return running
}

const json = ({ stdout }: Running): unknown => JSON.parse(stdout())
const waits = (running: Running) => running.until((_, stderr) => stderr.includes('Hold a chip'))
const chipOf = (uid: string) => setUpChip(derived, uid)

/** As PC/SC shows a MIFARE Classic 1K, which knows no APDU. */
const classic = Buffer.from('3B8F8001804F0CA000000306030001000000006A', 'hex')
const deaf = { transmit: () => Uint8Array.of(0x6a, 0x81) }

describe.concurrent('through a real pcscd', () => {
  test('nfc readers lists them with what lies there', async (t) => {
    const pcscd = await openPcscd(t)
    const [first, second] = pcscd.readers
    const empty = nfc(t, pcscd, 'readers', '--json')
    expect(await empty.ended).toBe(0)
    expect(json(empty)).toEqual([
      { name: first, state: 'empty' },
      { name: second, state: 'empty' },
    ])
    const cards = [await pcscd.present(0, deaf), await pcscd.present(1, deaf)]
    await Promise.all(cards.map(({ powered }) => powered))
    await holdElsewhere(t, pcscd, second)
    const full = nfc(t, pcscd, 'readers', '--json')
    expect(await full.ended).toBe(0)
    expect(json(full)).toEqual([
      { name: first, state: 'present' },
      { name: second, state: 'in-use' },
    ])
  })

  test('a slot for cards with contacts is used by name alone, and so is a card with contacts', async (t) => {
    const names = ['ACS ACR1281 1S Dual Reader ICC', 'ACS ACR1281 1S Dual Reader PICC']
    const pcscd = await openPcscd(t, { readers: 4, names })
    const [slot = '', , field = '', other = ''] = pcscd.readers
    const chip = await chipOf(uids.jacket)
    const bankCard = Buffer.from('3B6E00000031C071D66438D00300840090000F', 'hex')
    const inSlot = await pcscd.present(0, deaf)
    const onOther = await pcscd.present(3, deaf, bankCard)
    await Promise.all([inSlot.powered, onOther.powered])
    const list = nfc(t, pcscd, 'readers')
    expect(await list.ended).toBe(0)
    expect(list.stdout()).toContain(`${slot}\tpresent: it has a card (slot for cards with contacts`)
    expect(list.stdout()).toContain(`${other}\tpresent: it has a card (slot for cards with contacts`)
    const reading = nfc(t, pcscd, 'read')
    await waits(reading)
    await pcscd.present(2, emulated(chip))
    expect(await reading.ended).toBe(0)
    expect(reading.stdout()).toContain(field)
    const watching = nfc(t, pcscd, 'watch', '--count', '1', '--json')
    expect(await watching.ended).toBe(0)
    expect(json(watching)).toMatchObject({ reader: field })
    expect(watching.stderr()).not.toContain(other)
    for (const name of [slot, other]) {
      const asked = nfc(t, pcscd, 'read', '--reader', name)
      expect(await asked.ended).toBe(1)
      expect(asked.stderr()).toContain('The card is ')
    }
  })

  test('nfc readers without a reader prints an empty list, and says so', async (t) => {
    const none = nfc(t, await openPcscd(t, { readers: false }), 'readers', '--json')
    expect([await none.ended, none.stdout()]).toEqual([0, '[]\n'])
    const people = nfc(t, await openPcscd(t, { readers: false }), 'readers')
    expect(await people.ended).toBe(0)
    expect(people.stderr()).toContain('There is no NFC reader')
  })

  test('nfc read waits for a chip, reads it, and costs exactly one count', async (t) => {
    const pcscd = await openPcscd(t)
    const chip = await chipOf(uids.jacket)
    const reading = nfc(t, pcscd, 'read')
    await waits(reading)
    await pcscd.present(1, emulated(chip))
    expect(await reading.ended).toBe(0)
    expect(reading.stdout()).toMatch(/^Reader: +Virtual PCD 00 01\nFamily: +NTAG 424 DNA\nURL: +https:/)
    expect(chip.memory.sdmReadCounter).toBe(1)
    const again = nfc(t, pcscd, 'read', '--json')
    expect([await again.ended, again.stderr()]).toEqual([0, ''])
    expect(json(again)).toEqual({
      reader: pcscd.readers[1],
      family: 'ntag424',
      url: expect.stringMatching(/^https:\/\/n\.example\/t\?d=101&e=[0-9A-F]{32}&c=[0-9A-F]{16}$/),
      e: expect.stringMatching(/^[0-9A-F]{32}$/),
      c: expect.stringMatching(/^[0-9A-F]{16}$/),
      d: '101',
    })
    expect(chip.memory.sdmReadCounter).toBe(2)
  })

  test('nfc read gives the parameters of a HaLo tag, whose URL is longer than a short record', async (t) => {
    const pcscd = await openPcscd(t)
    const halo = new VirtualHalo()
    await pcscd.present(0, emulated(halo))
    const reading = nfc(t, pcscd, 'read', '--json')
    expect(await reading.ended).toBe(0)
    expect(json(reading)).toMatchObject({
      family: 'halo',
      url: expect.stringMatching(/^https:\/\/nfc\.example\/\?av=.{400}/),
      pk2: halo.publicKeys[1].toString('hex').toUpperCase(),
      rnd: expect.stringMatching(/^00000001/),
      rndsig: expect.stringMatching(/^30/),
      e: null,
      c: null,
      d: null,
    })
    expect(halo.counter).toBe(1)
  })

  test('nfc verify has the daemon judge what lies there, of both families', async (t) => {
    const halo = new VirtualHalo()
    const [acme, ...others] = seed.teams
    const chip = { family: 'halo', publicKey: halo.publicKeys[1].toString('hex') }
    const chipGroups = [...(acme?.chipGroups ?? []), { name: 'HaLo', chips: [chip] }]
    const daemon = await startTestDaemon({ seed: { ...seed, teams: [{ ...acme, chipGroups }, ...others] } })
    t.onTestFinished(() => daemon.stop())
    const pcscd = await openPcscd(t)
    const tag = await pcscd.present(1, emulated(halo))
    const other = nfc(t, pcscd, 'verify', '--reader', '00 01', '--json', '--url', daemon.url)
    expect([await other.ended, other.stderr()]).toEqual([0, ''])
    expect(json(other)).toMatchObject({ family: 'halo', uid: expect.any(String), isValidTap: true })
    tag.remove()
    await tag.removed
    await pcscd.present(0, emulated(await chipOf(uids.jacket)))
    const verifying = nfc(t, pcscd, 'verify', '--reader', '00 00', '--json', '--url', daemon.url)
    expect([await verifying.ended, verifying.stderr()]).toEqual([0, ''])
    expect(json(verifying)).toMatchObject({ uid: '1370400024739904', isValidTap: true, d: '101' })
  })

  test('a card that is lifted in the middle may be laid down again', async (t) => {
    const pcscd = await openPcscd(t)
    const chip = await chipOf(uids.jacket)
    let left = 4
    const torn = await pcscd.present(0, {
      ...emulated(chip),
      transmit: (apdu) => (left-- > 0 ? chip.process(apdu) : undefined),
    })
    const reading = nfc(t, pcscd, 'read', '--json')
    await reading.until((_, stderr) => stderr.includes('left the reader before'))
    await torn.removed
    await pcscd.present(0, emulated(chip))
    expect(await reading.ended).toBe(0)
    expect(json(reading)).toMatchObject({ family: 'ntag424', d: '101' })
    expect(reading.stderr()).toContain('Put the same card back')
  })

  test('a card that is no known chip: exit 1, with what it is', async (t) => {
    const pcscd = await openPcscd(t)
    await pcscd.present(0, deaf, classic)
    const reading = nfc(t, pcscd, 'read', '--json')
    expect([await reading.ended, reading.stdout()]).toEqual([1, ''])
    expect(reading.stderr()).toContain('a MIFARE Classic 1K')
    expect(reading.stderr()).toContain('Use an NTAG 424 DNA or a HaLo tag.')
  })

  test('no card in time, no reader of that name, no reader at all: exit 6 with advice', async (t) => {
    const pcscd = await openPcscd(t)
    const late = nfc(t, pcscd, 'read', '--timeout', '0.5')
    const other = nfc(t, pcscd, 'read', '--reader', 'ACR122U')
    const none = nfc(t, await openPcscd(t, { readers: false }), 'read')
    expect(await Promise.all([late.ended, other.ended, none.ended])).toEqual([6, 6, 6])
    expect(late.stderr()).toContain('No card was put on the reader.\nLay the card flat')
    expect(other.stderr()).toContain('Readers: Virtual PCD 00 00, Virtual PCD 00 01')
    expect(none.stderr()).toContain('There is no NFC reader.\nPlug one in, or use --reader emulator')
  })

  test('a card that another program holds: that is said at once, and read when it is let go of', async (t) => {
    const pcscd = await openPcscd(t)
    const card = await pcscd.present(0, emulated(await chipOf(uids.jacket)))
    await card.powered
    const { letGo, pid } = await holdElsewhere(t, pcscd, pcscd.readers[0])
    const reading = nfc(t, pcscd, 'read', '--json')
    await reading.until((_, stderr) => stderr.includes(`is using the card. Close node (pid ${pid}), or`))
    await letGo()
    expect(await reading.ended).toBe(0)
  })

  test('two readers with a card: it asks which, and takes a part of the name', async (t) => {
    const pcscd = await openPcscd(t)
    const cards = [
      await pcscd.present(0, emulated(await chipOf(uids.jacket))),
      await pcscd.present(1, emulated(new VirtualHalo())),
    ]
    await Promise.all(cards.map(({ powered }) => powered))
    const both = nfc(t, pcscd, 'read')
    expect([await both.ended, both.stdout()]).toEqual([2, ''])
    expect(both.stderr()).toContain('Several readers have a card: Virtual PCD 00 00, Virtual PCD 00 01.')
    expect(both.stderr()).toContain('--reader "Virtual PCD 00 00"')
    const part = nfc(t, pcscd, 'read', '--reader', 'pcd 00 01', '--json')
    expect(await part.ended).toBe(0)
    expect(json(part)).toMatchObject({ family: 'halo', reader: pcscd.readers[1] })
  })

  test('Ctrl-C while it waits: exit 130', async (t) => {
    const reading = nfc(t, await openPcscd(t), 'read')
    await waits(reading)
    reading.child.kill('SIGINT')
    expect(await reading.ended).toBe(130)
  })
})
