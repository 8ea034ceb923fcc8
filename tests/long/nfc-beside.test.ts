import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { spawnCli } from '../support/cli-process.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { Chip, nfcSeed } from '../support/nfc.ts'
import { openPcscd, openReaders, pollElsewhere } from '../support/pcsc/opened.ts'
import { emulated } from '../support/pcsc/vpcd.ts'

// A table with four readers, at which other programs look as well.

const total = 50

test('50 of 50 chips are set up while other programs poll the readers and a watch reads them', async (t) => {
  const daemon = await startTestDaemon({ seed: nfcSeed })
  t.onTestFinished(() => daemon.stop())
  const pcscd = await openPcscd(t, { readers: 4 })
  const home = mkdtempSync(join(tmpdir(), 'tapchip-beside-'))
  t.onTestFinished(() => rmSync(home, { recursive: true }))
  const env = {
    HOME: home,
    PCSCLITE_CSOCK_NAME: pcscd.env.PCSCLITE_CSOCK_NAME ?? '',
    TAPCHIP_URL: daemon.url,
    TAPCHIP_ADMIN_TOKEN: daemon.adminToken,
  }
  const nfc = (...args: string[]) => {
    const running = spawnCli(['nfc', ...args], env, home)
    t.onTestFinished(async () => {
      running.child.kill('SIGKILL')
      await running.ended
    })
    return running
  }
  for (const reader of pcscd.readers) await pollElsewhere(t, pcscd, reader)
  const watch = nfc('watch', '--json')
  await watch.until((_, stderr) => stderr.includes('Waiting for chips'))
  const order = ['--key-set', '201', '--chip-group', 'Jackets', '--team', 'Acme', '--accept-url']
  const box = nfc(
    ...['provision', ...order, '--allow-unsigned', '--reader', 'all', '--count', String(total), '--json'],
  )

  const looking = openReaders(t, { env: pcscd.env })
  const isEmpty = async (reader: string) =>
    (await looking.list()).some(({ name, state }) => name === reader && state === 'empty')
  const chips: Chip[] = []
  const work = pcscd.readers.map(async (reader, slot) => {
    while (chips.length < total) {
      const chip = new Chip()
      chips.push(chip)
      const card = await pcscd.present(slot, emulated(chip.chip))
      await box.until((stdout) => stdout.includes(`"uid":"${chip.uid}"`))
      card.remove()
      // The next one would be taken for this one until the reader has seen that it is gone.
      await expect.poll(() => isEmpty(reader), { interval: 20 }).toBe(true)
    }
  })
  await Promise.all(work)
  expect(await box.ended).toBe(0)
  const lines = box
    .stdout()
    .split('\n')
    .filter((line) => line !== '')
  expect(lines.map((line) => JSON.parse(line).status)).toEqual(Array(total).fill('provisioned'))
  for (const { versions, failedAuthentications } of chips)
    expect([versions, failedAuthentications]).toEqual([[1, 1, 1, 1, 1], 0])
  expect(watch.stdout()).not.toBe('')
})
