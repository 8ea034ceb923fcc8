import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createClient } from '../../src/cli/client/client.ts'
import { DaemonUnreachable } from '../../src/cli/client/errors.ts'
import { forwardApdus } from '../../src/cli/nfc/forward-apdus.ts'
import { Chip, inA, nfcSeed, noStop } from '../support/nfc.ts'
import { type DaemonProcess, spawnDaemon } from '../support/process.ts'

const env = {
  TAPCHIP_ADMIN_TOKEN: 'adm_crash-test-0123456789',
  TAPCHIP_RATE_LIMIT: 'off',
  TAPCHIP_DEV_CHAIN: 'off',
}
let dataDir: string
let daemon: DaemonProcess
const start = (...more: string[]) =>
  spawnDaemon(['--data-dir', dataDir, '--port', '0', '--log-level', 'error', ...more], env)

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'tapchip-nfc-crash-'))
  const seed = join(dataDir, 'seed.json')
  writeFileSync(seed, JSON.stringify(nfcSeed))
  daemon = await start('--seed', seed)
})
afterEach(async () => {
  await daemon.kill()
  rmSync(dataDir, { recursive: true, force: true })
})

test.each([
  { apdu: 13, when: 'before its first command that writes' },
  { apdu: 17, when: 'between two keys' },
  { apdu: 21, when: 'between settings and file' },
  { apdu: 24, when: 'after key 0' },
  { apdu: 32, when: 'while it is read back' },
  { apdu: Number.POSITIVE_INFINITY, when: 'at its last answer' },
])(
  'the daemon killed by -9 $when: after a restart the chip is recovered',
  async ({ apdu }) => {
    const open = (url: string) => createClient({ url, adminToken: () => env.TAPCHIP_ADMIN_TOKEN })
    const before = open(daemon.ready.url)
    const whole = new Chip().put()
    await forwardApdus(before, whole, inA, { stop: noStop() })
    const isLast = apdu > whole.sent

    const chip = new Chip()
    const card = chip.put()
    const transmit = card.transmit.bind(card)
    let killed: Promise<void> | undefined
    card.transmit = async (bytes) => {
      const answer = await transmit(bytes)
      if (card.sent === Math.min(apdu, whole.sent)) {
        killed = daemon.kill()
        // The last answer is on its way when it dies.
        if (!isLast) await killed
      }
      return answer
    }
    await expect(forwardApdus(before, card, inA, { stop: noStop() })).rejects.toThrow(DaemonUnreachable)
    before.close()
    card.lift()
    await killed

    daemon = await start()
    const client = open(daemon.ready.url)
    const ended = await forwardApdus(client, chip.put(), { purpose: 'recover' }, { stop: noStop() })
    expect(ended).toMatchObject({ status: 'provisioned', uid: chip.uid, keySet: 201 })
    expect(chip.versions).toEqual([1, 1, 1, 1, 1])
    expect(chip.failedAuthentications).toBe(0)
    expect(await client.call('GET /admin/nfc/journal')).toEqual([])
    client.close()
    const path = await chip.tapPath('/chips/find')
    const find = async () => (await fetch(daemon.ready.url + path)).json()
    expect(await find()).toMatchObject({ isValidTap: true })
    expect(await find()).toMatchObject({ isValidTap: false })
  },
  30_000,
)
