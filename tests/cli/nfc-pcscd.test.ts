import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest'
import { type Running, spawnCli } from '../support/cli-process.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { Chip, nfcSeed } from '../support/nfc.ts'
import { openPcscd } from '../support/pcsc/opened.ts'
import type { PrivatePcscd } from '../support/pcsc/pcscd.ts'
import { emulated } from '../support/pcsc/vpcd.ts'

// The built executable, a real pcscd with virtual readers, and a daemon: as in the field, but for the plastic.

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
beforeAll(async () => {
  daemon = await startTestDaemon({ seed: nfcSeed })
})
afterAll(() => daemon.stop())

const nfc = (t: Pick<TestContext, 'onTestFinished'>, pcscd: PrivatePcscd, ...args: string[]): Running => {
  const home = mkdtempSync(join(tmpdir(), 'tapchip-field-'))
  const rows = 'label\nP-1\nP-2\nP-3\n'
  writeFileSync(join(home, 'labels.csv'), rows)
  const env = {
    HOME: home,
    PCSCLITE_CSOCK_NAME: pcscd.env.PCSCLITE_CSOCK_NAME ?? '',
    TAPCHIP_URL: daemon.url,
    TAPCHIP_ADMIN_TOKEN: daemon.adminToken,
  }
  const running = spawnCli(['nfc', ...args], env, home)
  t.onTestFinished(async () => {
    running.child.kill('SIGKILL')
    await running.ended
    rmSync(home, { recursive: true })
  })
  return running
}

// The emulator's signature is trusted for its own reader alone.
const unsigned = '--allow-unsigned'
const order = ['--key-set', '201', '--chip-group', 'Jackets', '--team', 'Acme', '--accept-url', unsigned]
const box = ['provision', ...order]
const count = (text: string, what: RegExp) => text.match(new RegExp(what, 'g'))?.length ?? 0
const labelOf = async (chip: Chip) => {
  const headers = { authorization: `Bearer ${daemon.adminToken}` }
  const answer = await fetch(`${daemon.url}/admin/chips/${chip.uid}`, { headers })
  return ((await answer.json()) as { label?: string }).label
}

describe.concurrent('on a real pcscd', () => {
  test('a box of chips is set up, one after another, also when one is lifted too early', async (t) => {
    const pcscd = await openPcscd(t)
    const running = nfc(t, pcscd, ...box, '--file', 'labels.csv')
    const [a, b, c] = [new Chip(), new Chip(), new Chip()]
    let left = 18
    const torn = (apdu: Uint8Array) => (left-- > 0 ? b.chip.process(apdu) : undefined)
    const steps = [
      emulated(a.chip),
      { ...emulated(b.chip), transmit: torn },
      emulated(c.chip),
      emulated(b.chip),
    ]
    for (const [i, chip] of steps.entries()) {
      await running.until((_, stderr) => count(stderr, /on the reader\n/) > i)
      const card = await pcscd.present(0, chip)
      await running.until((stdout) => count(stdout, /\n/) > i)
      // The torn one is gone already, and is not to be removed.
      if (i !== 1 && i < steps.length - 1)
        await running.until((_, stderr) => count(stderr, /Remove it from/) > i / 2)
      card.remove()
    }
    expect(await running.ended).toBe(0)
    expect(running.stdout()).toMatch(
      /provisioned {2}row 1 \(P-1\).*\n.*failed.*\n.*provisioned {2}row 2 \(P-2\).*\n.*provisioned {2}row 3 \(P-3\)/,
    )
    expect([await labelOf(a), await labelOf(c), await labelOf(b)]).toEqual(['P-1', 'P-2', 'P-3'])
    for (const chip of [a, b, c]) {
      expect(chip.versions).toEqual([1, 1, 1, 1, 1])
      expect(chip.failedAuthentications).toBe(0)
      expect((await fetch(daemon.url + (await chip.tapPath()))).status).toBe(200)
    }
  })

  test('a chip is recovered and reset', async (t) => {
    const pcscd = await openPcscd(t)
    const chip = new Chip()
    let left = 16
    const first = nfc(t, pcscd, ...box, '--json')
    const torn = await pcscd.present(0, {
      ...emulated(chip.chip),
      transmit: (apdu) => (left-- > 0 ? chip.chip.process(apdu) : undefined),
    })
    expect(await first.ended).toBe(6)
    expect(JSON.parse(first.stdout())).toMatchObject({ uid: chip.uid, status: 'failed' })
    await torn.removed
    // So soon that the reader may not have seen yet that it was away.
    await pcscd.present(0, emulated(chip.chip))
    const recovered = nfc(t, pcscd, 'recover')
    expect(await recovered.ended).toBe(0)
    expect(recovered.stdout()).toMatch(/^\d+ \(04:.*\) {2}provisioned\n$/)
    const reset = nfc(t, pcscd, 'reset', '--yes', '--json')
    expect(await reset.ended).toBe(0)
    expect(JSON.parse(reset.stdout())).toEqual({ uid: chip.uid, status: 'factory' })
    expect(chip.versions).toEqual([0, 0, 0, 0, 0])
  })

  test('Ctrl-C while it waits for a chip ends with 130, and no chip in time with 6', async (t) => {
    const pcscd = await openPcscd(t)
    const running = nfc(t, pcscd, ...box, '--count', '2')
    await running.until((_, stderr) => stderr.includes('put it on the reader'))
    running.child.kill('SIGINT')
    expect(await running.ended).toBe(130)
    expect(running.stderr()).toMatch(/0 of 2 are done.*\n.*--resume b_/)
    const late = nfc(t, pcscd, ...box, '--timeout', '1')
    expect(await late.ended).toBe(6)
  })

  test('the self-test runs, and its transcript is that of the virtual chip', async (t) => {
    const pcscd = await openPcscd(t)
    await pcscd.present(0, emulated(new Chip().chip))
    const file = join(mkdtempSync(join(tmpdir(), 'tapchip-selftest-')), 'transcript.jsonl')
    t.onTestFinished(() => rmSync(dirname(file), { recursive: true }))
    const running = nfc(t, pcscd, 'selftest', '--output', file, '--json')
    expect(await running.ended).toBe(0)
    expect(JSON.parse(running.stdout())).toMatchObject({ passed: true })
    const replayed = nfc(t, pcscd, 'selftest', '--replay', file, '--json')
    expect([await replayed.ended, replayed.stdout()]).toEqual([0, '[]\n'])
  })
})
