import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type CliHome, cliHome } from '../support/cli.ts'
import { spawnCli } from '../support/cli-process.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { acmeKey, seed, uids } from '../support/seeds.ts'

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let here: CliHome
beforeAll(async () => {
  daemon = await startTestDaemon({ seed, env: { TAPCHIP_EPHEMERAL: 'on' } })
})
afterAll(() => daemon.stop())
beforeEach(() => {
  here = cliHome({
    TAPCHIP_URL: daemon.url,
    TAPCHIP_API_KEY: acmeKey,
    TAPCHIP_ADMIN_TOKEN: daemon.adminToken,
  })
})
afterEach(() => here.remove())

interface Tap {
  uid: string
  url: string
  e: string
  c: string
  d: string
  counter: number
}
const simulate = async (uid: string, count = 1): Promise<Tap[]> => {
  const ran = await here.run('taps', 'simulate', '--uid', uid, '--count', String(count), '--json')
  expect([ran.code, ran.stderr]).toEqual([
    0,
    expect.stringMatching(/^(At http:\S+ \(TAPCHIP_URL\), team Acme\n)?$/),
  ])
  return ran.lines() as Tap[]
}

test('a tap is found once, by its URL or by its parameters', async () => {
  const [first, second] = await simulate(uids.jacket, 2)
  const found = await here.run('chips', 'find', first?.url ?? '', '--json')
  expect(found.json()).toMatchObject({
    uid: '1370400024739904',
    isValidTap: true,
    linkedToken: { tokenId: '1' },
  })
  const again = await here.run('chips', 'find', first?.url ?? '')
  expect(again.code).toBe(0)
  expect(again.stdout).toMatch(/Valid tap: +no/)
  const byParameters = await here.run(
    'chips',
    'find',
    '--e',
    second?.e ?? '',
    '--c',
    second?.c ?? '',
    '--d',
    second?.d ?? '',
    '--json',
  )
  expect(byParameters.json()).toMatchObject({ isValidTap: true, otp: { code: expect.any(String) } })
})

test('a tap leads to a ref, the ref to a code, and the code can be deleted', async () => {
  const [tap] = await simulate(uids.jacket)
  const response = await fetch(tap?.url ?? '', { redirect: 'manual' })
  const ref = new URL(response.headers.get('location') ?? '').searchParams.get('svcRef') ?? ''
  const shown = (await here.run('refs', 'show', ref, '--json')).json() as {
    isValidRef: boolean
    linkedToken: { otp: string }
  }
  expect(shown.isValidRef).toBe(true)
  expect((await here.run('refs', 'show', ref, '--json')).json()).toMatchObject({ isValidRef: false })
  const { otp } = shown.linkedToken
  expect((await here.run('otps', 'show', otp, '--json')).json()).toMatchObject({
    otp,
    type: 'PHYGITAL_CLAIM',
    isExpired: false,
  })
  expect((await here.run('otps', 'show', otp)).stdout).toMatch(
    /^Code: +\S{21}\n(?:.*\n)*.*1370400024739904 \(04:DE:5F:1E:AC:C0:40\)\nState: +good\nExpires:/,
  )
  expect((await here.run('otps', 'delete', otp, '--yes', '--json')).json()).toEqual({ success: true })
  const gone = await here.run('otps', 'show', otp)
  expect([gone.code, gone.stderr]).toEqual([
    1,
    expect.stringMatching(/^There is no such code\. Check it, and/),
  ])
})

test('taps are listed with their reason, and followed as they happen', async () => {
  const following = spawnCli(['taps', 'follow', '--count', '2', '--json'], here.env, here.home)
  await following.until((_, stderr) => stderr.includes('Waiting for taps'))
  // Taps from before the daemon has taken the connection are not part of the stream, so there are some to spare.
  const [tap] = await simulate(uids.twin)
  for (let tries = 0; following.child.exitCode === null && tries < 200; tries++) {
    await here.run('chips', 'find', tap?.url ?? '')
  }
  expect(await following.ended).toBe(0)
  expect(following.stdout().trim().split('\n').length).toBe(2)
  // Refused taps are stored a moment later, several at once.
  const refused = async () =>
    (await here.run('taps', 'list', '--outcome', 'refused', '--uid', uids.twin, '--json')).json()
  await expect
    .poll(refused)
    .toContainEqual(expect.objectContaining({ outcome: 'replayed', uid: '1301068039263120' }))
  expect((await here.run('taps', 'list', '--limit', '1')).stdout).toMatch(/^AT\tOUTCOME\tUID\tHEX/)
})

test('a chip that has to be real is not simulated', async () => {
  const physical = await startTestDaemon({ seed })
  const ran = await here.run('taps', 'simulate', '--uid', uids.jacket, '--url', physical.url)
  await physical.stop()
  expect([ran.code, ran.stdout]).toEqual([1, ''])
})
