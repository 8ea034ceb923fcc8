import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { spawnCli } from '../support/cli-process.ts'
import { openPcscd } from '../support/pcsc/opened.ts'

interface Finding {
  readonly check: string
  readonly status: string
  readonly detail: string
  readonly fix: string | null
}

/** What `tapchip doctor` says of the readers, and how long all of it took. */
async function checked(socket: string | undefined): Promise<{ finding: Finding | undefined; took: number }> {
  const home = mkdtempSync(join(tmpdir(), 'tapchip-nfc-'))
  const begun = performance.now()
  const env = { HOME: home, PCSCLITE_CSOCK_NAME: socket ?? '', TAPCHIP_URL: 'http://127.0.0.1:1' }
  const doctor = spawnCli(['doctor', '--json'], env, home)
  await doctor.ended
  const took = performance.now() - begun
  rmSync(home, { recursive: true })
  const findings = JSON.parse(doctor.stdout()) as Finding[]
  return { finding: findings.find(({ check }) => check === 'readers'), took }
}

const late = 'the reader service did not answer within 1 s'

/** What it says once a second was enough, which is not so at each run on a busy machine. */
async function inTime(socket: string | undefined): Promise<Finding | undefined> {
  for (;;) {
    const { finding } = await checked(socket)
    if (finding?.detail !== late) return finding
  }
}

test('doctor lists the readers and the library that serves them', async (t) => {
  const pcscd = await openPcscd(t)
  const [first, second] = pcscd.readers
  expect(await inTime(pcscd.env.PCSCLITE_CSOCK_NAME)).toEqual({
    check: 'readers',
    status: 'ok',
    detail: `${first} (empty), ${second} (empty), by nfc-pcsc`,
    fix: null,
  })
})

test('doctor is content with a machine that has no reader', async (t) => {
  const pcscd = await openPcscd(t, { readers: false })
  expect(await inTime(pcscd.env.PCSCLITE_CSOCK_NAME)).toMatchObject({
    status: 'ok',
    detail: 'none is plugged in, by nfc-pcsc',
  })
})

test('doctor does not wait for a pcscd that hangs', async (t) => {
  const pcscd = await openPcscd(t)
  await pcscd.freeze()
  const { finding, took } = await checked(pcscd.env.PCSCLITE_CSOCK_NAME)
  expect(finding).toMatchObject({ status: 'warn', detail: late, fix: 'systemctl restart pcscd' })
  // Less than readers are given to start.
  expect(took).toBeLessThan(8_000)
})

test('doctor tells one who is not let in where to read on', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tapchip-no-pcscd-'))
  const server = createServer((socket) => socket.destroy()).listen(join(folder, 'pcscd.comm'))
  t.onTestFinished(() => {
    server.close()
    rmSync(folder, { recursive: true })
  })
  await once(server, 'listening')
  expect((await checked(join(folder, 'pcscd.comm'))).finding).toMatchObject({
    status: 'warn',
    fix: expect.stringContaining('docs/nfc.md'),
  })
})
